// SPDX-License-Identifier: BSD-2-Clause
#include "live/select/selection.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "live/select/chooser.h"

#define SENTENCE_CANDIDATES 5
#define CANDIDATE_COLUMNS 40

/* Where the sentence goes. */
struct cause {
	char *text;
	size_t size;
};

static int explain_error(const struct cause *cause, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int explain_error(const struct cause *cause, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(cause->text, cause->size, format, args);
	va_end(args);
	return err;
}

/* ---- names ---- */

/* The sentence has a list of the first candidates. */
static int tell_candidates(const struct cause *cause, const char *name, const struct find_process *list, size_t count)
{
	char command[4 * CANDIDATE_COLUMNS + 1];
	struct out out;
	char *text;

	out_init_mem(&out);
	for (size_t i = 0; i < count && i < SENTENCE_CANDIDATES; i++) {
		human_text(command, CANDIDATE_COLUMNS, list[i].cmdline, strlen(list[i].cmdline));
		out_printf(&out, "%s%d (%s)", i ? ", " : "", (int)list[i].pid, command[0] ? command : list[i].comm);
	}
	if (count > SENTENCE_CANDIDATES)
		out_printf(&out, " and %zu more", count - SENTENCE_CANDIDATES);
	text = out_take(&out);
	explain_error(cause, 0, "'%.64s' is the name of %zu processes: %s; give the pids of those to trace:"
		      " -p PID,PID", name, count, text);
	free(text);
	return -EINVAL;
}

/* Of processes with the same name, those that have libcuda mapped are meant, if there are any. Moves them to the front,
 * and returns their number. */
static size_t prefer_cuda(struct find_process *list, size_t count)
{
	size_t cuda = 0;

	for (size_t i = 0; i < count; i++)
		if (list[i].has_libcuda)
			list[cuda++] = list[i];
	return cuda ? cuda : count;
}

static void keep_chosen(struct selection *selection, const struct find_process *process)
{
	for (size_t i = 0; i < selection->process_count; i++)
		if (selection->processes[i].pid == process->pid)
			return;
	selection->processes = xgrow(selection->processes, selection->process_count, sizeof(*process));
	selection->processes[selection->process_count++] = *process;
}

static int choose_named(struct selection *selection, const char *name, struct find_list *found,
			const struct cause *cause)
{
	size_t count = prefer_cuda(found->list, found->count);
	int status = 0;
	bool *chosen;

	if (!count && strchr(name, ','))
		return explain_error(cause, -ESRCH, "'%.64s' is neither a name nor a list of process ids: give -p once"
				     " for each name", name);
	if (!count)
		return explain_error(cause, -ESRCH, "no process has the name '%.64s'; a pattern such as '*%.64s*' finds"
				     " longer names", name, name);
	if (count > 1 && !chooser_has_terminal())
		return tell_candidates(cause, name, found->list, count);
	chosen = xcalloc(count, sizeof(*chosen));
	chosen[0] = true;
	if (count > 1)
		status = chooser_ask(name, found->list, count, chosen);
	if (status)
		explain_error(cause, status, "no process was chosen");
	for (size_t i = 0; i < count; i++)
		if (chosen[i] && !status)
			keep_chosen(selection, &found->list[i]);
	free(chosen);
	return status;
}

static int find_named(struct selection *selection, const char *name, const struct cause *cause)
{
	struct find_selector selector;
	struct find_list found;
	char why[128];
	int err;

	if (find_selector_read(&selector, "", FIND_NAME, name, why, sizeof(why)))
		return explain_error(cause, -EINVAL, "'%.64s...' is too long for a name", name);
	err = find_processes("", &selector, 1, &found);
	if (err)
		return explain_error(cause, -EACCES, "/proc cannot be read: %s", strerror(-err));
	err = choose_named(selection, name, &found, cause);
	free(found.list);
	return err;
}

/* ---- groups ---- */

/* What is looked for from now on is the container that was found, even if another one with these digits starts. */
static int settle_group(struct find_selector *group, const struct cause *cause)
{
	struct find_list found;
	int err = find_processes("", group, 1, &found);

	free(found.list);
	if (err)
		return explain_error(cause, -EACCES, "/proc cannot be read: %s", strerror(-err));
	if (group->is_ambiguous && group->kind == FIND_POD)
		return explain_error(cause, -EINVAL, "pods of several namespaces have the name '%.64s': give"
				     " NAMESPACE/NAME", group->text);
	if (group->is_ambiguous)
		return explain_error(cause, -EINVAL, "the ids of several containers begin with '%.64s': give more"
				     " digits", group->text);
	if (!found.count)
		return explain_error(cause, -ESRCH, "no process of this machine is in the %s '%.128s'",
				     find_kind_text(group->kind), group->text);
	find_settle(group);
	return 0;
}

static int add_group(struct selection *selection, enum find_kind kind, const char *text, const struct cause *cause)
{
	struct find_selector *group;
	char why[128];

	selection->groups = xgrow(selection->groups, selection->group_count, sizeof(*group));
	group = &selection->groups[selection->group_count];
	if (find_selector_read(group, "", kind, text, why, sizeof(why)))
		return explain_error(cause, -EINVAL, "'%.128s' is not %s", text, why);
	selection->group_count++;
	return settle_group(group, cause);
}

int selection_open(struct selection *selection, const struct selection_texts *texts, size_t count, char *text,
		   size_t size)
{
	const struct cause cause = { text, size };
	int err = 0;

	*selection = (struct selection){ 0 };
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; !err && j < texts[i].count; j++)
			err = texts[i].kind == FIND_NAME ? find_named(selection, texts[i].list[j], &cause) :
				      add_group(selection, texts[i].kind, texts[i].list[j], &cause);
	return err;
}

void selection_close(struct selection *selection)
{
	free(selection->processes);
	free(selection->groups);
	*selection = (struct selection){ 0 };
}

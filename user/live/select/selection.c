// SPDX-License-Identifier: BSD-2-Clause
#include "live/select/selection.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/human.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "live/select/candidates.h"
#include "live/select/chooser.h"

#define CANDIDATES_SHOWN 10
#define CANDIDATES_OFFERED 64    /* pids of a ready option */
#define LINE_COLUMNS 200         /* in a file */
#define NAME_COLUMNS 64
#define SENTENCE_COLUMNS 1000
#define PROGRAM_COLUMNS 13       /* "gpumemtrace: " before each line */

static int explain_error(struct out *cause, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int explain_error(struct out *cause, int err, const char *format, ...)
{
	struct out line;
	va_list args;
	char *text;

	out_init_mem(&line);
	va_start(args, format);
	out_vprintf(&line, format, args);
	va_end(args);
	/* What the user has typed must not begin a line. */
	text = out_take(&line);
	human_print(cause, SENTENCE_COLUMNS, text, strlen(text));
	free(text);
	return err;
}

/* ---- names ---- */

/* The processes of a name. */
struct named {
	const char *name;
	struct find_process *list;
	size_t count;
	size_t without_cuda;     /* others with the name: they are not meant */
};

static void tell_others(struct out *cause, const struct named *named)
{
	if (named->without_cuda)
		out_printf(cause, "%zu more %s the name and %s not loaded libcuda\n", named->without_cuda,
			   human_plural(named->without_cuda, "process has", "processes have"),
			   human_plural(named->without_cuda, "has", "have"));
}

static void offer_option(struct out *cause, const struct named *named)
{
	if (named->count > CANDIDATES_OFFERED) {
		out_text(cause, "give the pids of those to trace: -p PID,PID");
		return;
	}
	out_text(cause, "to trace all of them: gpumemtrace ");
	candidates_print_option(cause, named->list, named->count);
}

/* Lines: the first candidates, and the option that takes all of them. */
static int tell_candidates(struct out *cause, const struct named *named)
{
	size_t shown = named->count < CANDIDATES_SHOWN ? named->count : CANDIDATES_SHOWN;
	unsigned width, height;

	if (out_terminal_size(STDERR_FILENO, &width, &height) || width <= PROGRAM_COLUMNS)
		width = LINE_COLUMNS;
	out_char(cause, '\'');
	human_print(cause, NAME_COLUMNS, named->name, strlen(named->name));
	out_printf(cause, "' is the name of %zu processes:\n", named->count);
	candidates_print(cause, named->list, shown, width - PROGRAM_COLUMNS, false);
	if (named->count > shown)
		out_printf(cause, "and %zu more\n", named->count - shown);
	tell_others(cause, named);
	offer_option(cause, named);
	return -EINVAL;
}

/* Another tracer is not meant, unless nothing else has the name. Returns the number of the others. */
static size_t drop_tracers(struct find_process *list, size_t count)
{
	size_t others = 0;

	for (size_t i = 0; i < count; i++)
		if (!list[i].is_tracer)
			list[others++] = list[i];
	return others ? others : count;
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

static int explain_none(struct out *cause, const char *name)
{
	if (strchr(name, ','))
		return explain_error(cause, -ESRCH, "'%.64s' is neither a name nor a list of process ids: give -p once"
				     " for each name", name);
	return explain_error(cause, -ESRCH, "no process has the name '%.64s'; a pattern such as '*%.64s*' finds longer"
			     " names", name, name);
}

static int choose_named(struct selection *selection, const struct named *named, struct out *cause)
{
	int status = 0;
	bool *chosen;

	if (!named->count)
		return explain_none(cause, named->name);
	if (named->count > 1 && !chooser_has_terminal())
		return tell_candidates(cause, named);
	chosen = xcalloc(named->count, sizeof(*chosen));
	chosen[0] = true;
	if (named->count > 1)
		status = chooser_ask(named->name, named->list, named->count, chosen);
	if (status) {
		out_text(cause, "no process was chosen; ");
		offer_option(cause, named);
	}
	for (size_t i = 0; i < named->count; i++)
		if (chosen[i] && !status)
			keep_chosen(selection, &named->list[i]);
	free(chosen);
	return status;
}

static int find_named(struct selection *selection, const char *name, struct out *cause)
{
	struct find_selector selector;
	struct find_list found;
	struct named named;
	char why[128];
	int err;

	if (find_selector_read(&selector, "", FIND_NAME, name, why, sizeof(why)))
		return explain_error(cause, -EINVAL, "'%.64s...' is too long for a name", name);
	err = find_processes("", &selector, 1, &found);
	if (err)
		return explain_error(cause, -EACCES, "/proc cannot be read: %s", strerror(-err));
	found.count = drop_tracers(found.list, found.count);
	named = (struct named){ .name = name, .list = found.list, .count = prefer_cuda(found.list, found.count) };
	named.without_cuda = found.count - named.count;
	err = choose_named(selection, &named, cause);
	free(found.list);
	return err;
}

/* ---- groups ---- */

/* What is looked for from now on is the container that was found, even if another one with these digits starts. */
static int settle_group(struct find_selector *group, struct out *cause)
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
	if (group->has_more_ids)
		return explain_error(cause, -EINVAL, "more than %d %ss have the name '%.128s': give an id", FIND_IDS,
				     find_kind_text(group->kind), group->text);
	if (!found.count)
		return explain_error(cause, -ESRCH, "no process of this machine is in the %s '%.128s'%s",
				     find_kind_text(group->kind), group->text, group->is_cut ?
				     "; the machine has too many to look at the names of all: give an id" : "");
	find_settle(group);
	return 0;
}

static int add_group(struct selection *selection, enum find_kind kind, const char *text, struct out *cause)
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

int selection_open(struct selection *selection, const struct selection_texts *texts, size_t count, struct out *cause)
{
	int err = 0;

	*selection = (struct selection){ 0 };
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; !err && j < texts[i].count; j++)
			err = texts[i].kind == FIND_NAME ? find_named(selection, texts[i].list[j], cause) :
				      add_group(selection, texts[i].kind, texts[i].list[j], cause);
	return err;
}

void selection_close(struct selection *selection)
{
	free(selection->processes);
	free(selection->groups);
	*selection = (struct selection){ 0 };
}

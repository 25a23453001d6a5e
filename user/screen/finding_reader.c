// SPDX-License-Identifier: BSD-2-Clause
/* What stands out, one finding at a time and in full: the report's words, its ground, and the stack trace behind it. */
#include <stdlib.h>

#include "base/human.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "core/view/finding.h"
#include "screen/screen.h"
#include "screen/state.h"
#include "sink/sink.h"
#include "sink/text/finding_text.h"
#include "sink/text/stack_text.h"
#include "sink/text/text.h"

#define COLUMNS_MOST 100         /* longer lines are hard to read */
#define COMMAND_COLUMNS 60

/* What a process kept while it ran matters after its end, too; what its memory was like does not. */
static bool is_over(const struct picture *p, const struct finding *f)
{
	return f->proc != FINDING_NONE && p->view->procs[f->proc].exited && f->kind > FINDING_OF_STATE;
}

bool finding_is_shown(const struct picture *p, const struct finding *f)
{
	if (p->proc == TABLE_ALL_PROCS && is_over(p, f))
		return false;
	return (p->proc == TABLE_ALL_PROCS || f->proc == FINDING_NONE || f->proc == p->proc) &&
	       (p->gpu == TABLE_ALL_GPUS || f->row == FINDING_NONE || f->gpu == p->gpu);
}

static void put_label(struct out *out, const char *label, unsigned int columns, struct out *line)
{
	const struct sink_opts opts = { 0 };

	text_item(out, &opts, TEXT_PLAIN, &(struct text_place){ label, FINDING_TEXT_LABEL, columns }, line);
}

static void put_holder(struct out *out, const struct view *view, const struct finding *f, unsigned int columns)
{
	const struct view_proc *proc = f->proc != FINDING_NONE ? &view->procs[f->proc] : NULL;
	const struct view_row *row = proc && f->row != FINDING_NONE ? &proc->rows[f->row] : NULL;
	struct out line;

	out_init_mem(&line);
	if (proc) {
		out_printf(&line, "pid %u  ", proc->tgid);
		text_command(&line, COMMAND_COLUMNS, proc);
		out_text(&line, proc->exited ? ", which has ended" : "");
	}
	if (row || f->gpu >= 0)
		out_printf(&line, "%sGPU %s", proc ? "  on " : "", text_gpu(view, f->gpu).s);
	if (row && text_ordinal(view, row).s[0])
		out_printf(&line, " (%s)", text_ordinal(view, row).s);
	put_label(out, "WHO", columns, &line);
}

void finding_ground_put(struct out *out, const char *label, const struct finding *f, unsigned int columns)
{
	static const char *const texts[] = {
		[FINDING_RECORDED] = "the records have the numbers",
		[FINDING_FOLLOWS] = "the numbers follow from the records",
		[FINDING_GUESS] = "a guess from experience, which may be wrong",
	};
	struct out line;

	out_init_mem(&line);
	out_printf(&line, "%s (rule: %s)", texts[finding_ground(f->kind)], finding_name(f->kind));
	put_label(out, label, columns, &line);
}

static void put_line_stack(struct out *out, const struct view *view, const struct finding *f, unsigned int columns)
{
	const struct view_stack *stack = f->line ? &view->stacks[f->line->stack] : NULL;
	struct out line;

	if (!stack || stack->state != VIEW_STACK_NAMED)
		return;
	out_init_mem(&line);
	stack_text_line(&line, view, f->line);
	out_printf(&line, ", %s", f->line->stacks > 1 ? "the greatest of its stack traces:" : "its stack trace:");
	put_label(out, "STACK", columns, &line);
	stack_text_frames(out, view, stack, false, FINDING_TEXT_LABEL + 2);
}

static char *whole_text(const struct picture *p, const struct finding *f, size_t number, size_t count)
{
	unsigned int columns = p->width < COLUMNS_MOST ? p->width : COLUMNS_MOST;
	const struct sink_opts opts = { 0 };
	struct out out;

	out_init_mem(&out);
	out_printf(&out, "%zu of %zu\n\n", number, count);
	finding_text_sentence(&out, p->view, f, "", columns, &opts);
	finding_text_keeper(&out, p->view, f, columns, &opts);
	finding_text_advice(&out, p->view, f, columns, &opts);
	if (f->kind == FINDING_OF_OUT_OF_MEMORY)
		out_printf(&out, "%*sthe key o shows why the newest request failed\n", FINDING_TEXT_LABEL, "");
	put_holder(&out, p->view, f, columns);
	finding_ground_put(&out, "GROUND", f, columns);
	put_line_stack(&out, p->view, f, columns);
	return out_take(&out);
}

void finding_open(struct picture *p)
{
	struct screen *s = p->screen;
	size_t number = s->finding + 1, count = 0;
	const struct finding *found = NULL;
	char *text;

	s->wants_finding = false;
	for (size_t i = 0; i < p->view->finding_count; i++)
		if (finding_is_shown(p, &p->view->findings[i]) && ++count == number)
			found = &p->view->findings[i];
	if (!found && s->finding) {     /* behind the last one: back to the table */
		screen_read(s, NULL, NULL);
		return;
	}
	text = found ? whole_text(p, found, number, count)
		     : xstrdup("Nothing stands out in the processes and GPUs that are shown.\n");
	screen_read(s, "What stands out (f: the next one; q, Esc or Enter: back)", text);
	s->finding = number;
}

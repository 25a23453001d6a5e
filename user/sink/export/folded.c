// SPDX-License-Identifier: BSD-2-Clause
/*
 * Lines of folded stack traces. For flamegraph.pl and speedscope the frames end at the last blank of a line
 * (/^(.*) (\d+(?:\.\d*)?)$/), so that names may contain blanks. flamegraph.pl takes "_[k]" at the end of a name as a
 * colour; names here do not end so.
 */
#include "sink/export/folded.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/human.h"
#include "sink/sink.h"
#include "sink/text/stack_text.h"
#include "sink/text/text.h"

void folded_frame(struct out *line, const char *name)
{
	size_t start = line->size;

	if (line->size)
		out_char(line, ';');
	start = line->size;
	for (const char *at = name ? name : ""; *at;) {
		size_t len = human_utf8(at, 4);

		if (!len || (len == 1 && ((unsigned char)*at < ' ' || *at == 0x7f))) {
			out_char(line, *at == '\n' || *at == '\t' ? ' ' : '?');
			at++;
		} else if (*at == ';') {
			out_char(line, ':');
			at++;
		} else {
			out_bytes(line, at, len);
			at += len;
		}
	}
	if (line->size == start)
		out_text(line, "[unknown]");
}

void folded_end(struct out *out, struct out *line, uint64_t bytes)
{
	if (line->size && bytes) {
		out_bytes(out, line->data, line->size);
		out_printf(out, " %" PRIu64 "\n", bytes);
	}
	line->size = 0;
}

/* ---- a view ---- */

struct folder {
	struct out *out, line;
	const struct view *view;
	enum view_order order;
};

static void fold_frames(struct folder *f, const struct view_stack *stack)
{
	static const char *const nameless[] = {
		[VIEW_STACK_NONE] = "[without a stack]", [VIEW_STACK_NOT_NAMED] = "[not named]",
	};

	if (stack->state != VIEW_STACK_NAMED) {
		folded_frame(&f->line, nameless[stack->state]);
		return;
	}
	for (uint32_t i = stack->frame_count; i-- > 0;) {
		struct out name;
		char *text;

		out_init_mem(&name);
		stack_text_name(&name, &f->view->symbols[stack->frames[i]]);
		text = out_take(&name);
		folded_frame(&f->line, text);
		free(text);
	}
}

static void fold_stacks(struct folder *f, const struct view_proc *proc, const char *where,
			const struct view_stacks *stacks)
{
	const struct view_top *top = &stacks->top[f->order];
	char name[64];

	snprintf(name, sizeof(name), "%s (%u)", proc->comm[0] ? proc->comm : "process", proc->tgid);
	for (size_t i = 0; i < top->count; i++) {
		folded_frame(&f->line, name);
		folded_frame(&f->line, where);
		fold_frames(f, &f->view->stacks[top->rows[i].stack]);
		folded_end(f->out, &f->line, (uint64_t)view_value(&top->rows[i].held, f->order));
	}
	if (f->order != VIEW_BY_LIVE || stacks->unexplained <= 0)
		return;
	folded_frame(&f->line, name);
	folded_frame(&f->line, where);
	folded_frame(&f->line, "[rounding, pool reserve]");
	folded_end(f->out, &f->line, (uint64_t)stacks->unexplained);
}

void folded_print(struct out *out, const struct view *view, enum view_order order)
{
	struct folder f = { .out = out, .view = view, .order = order };

	out_init_mem(&f.line);
	for (size_t p = 0; p < view->proc_count; p++) {
		const struct view_proc *proc = &view->procs[p];
		char where[40];

		for (size_t r = 0; r < proc->row_count; r++) {
			snprintf(where, sizeof(where), "GPU %s", text_gpu(view, proc->rows[r].gpu).s);
			fold_stacks(&f, proc, where, &proc->rows[r].stacks);
		}
		fold_stacks(&f, proc, "host memory", &proc->host_stacks);
	}
	out_close(&f.line);
}

/* ---- the file ---- */

static void ask_all_stacks(struct view_request *request, const struct sink_opts *opts)
{
	request->top = SIZE_MAX;
	request->ages = opts->folded_by == VIEW_BY_OLD;
}

static void write_folded(struct out *out, const struct view *view, const struct sink_opts *opts)
{
	folded_print(out, view, opts->folded_by);
}

const struct sink sink_folded = {
	.name = "folded",
	.help = "write folded stack traces for flame graphs; - is stdout",
	.manual = "At the end, write all stack traces in folded form, which flamegraph.pl, inferno and speedscope read."
		  " Each stack trace is a line: the process, the GPU and the frames from the outermost to the"
		  " innermost, separated by semicolons, and then the bytes. gpumemtrace writes the whole file or no"
		  " file. `-` is standard output; the report then goes to standard error.",
	.ask = ask_all_stacks,
	.write = write_folded,
};

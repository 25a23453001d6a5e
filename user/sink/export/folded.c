// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes folded stack traces, which flame graph tools read (flamegraph.pl, speedscope, inferno). A line is
 * "root;caller;leaf BYTES". A frame is not empty and holds no ';' and no control character, so that tools split the
 * line right. For flamegraph.pl and speedscope the frames end at the last blank of a line (/^(.*) (\d+(?:\.\d*)?)$/),
 * so that names may contain blanks. flamegraph.pl takes "_[k]" at the end of a name as a colour; no name here has this
 * end.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/human.h"
#include "base/out.h"
#include "sink/sink.h"
#include "sink/text/stack_text.h"
#include "sink/text/text.h"

struct folder {
	struct out *out, line;
	const struct view *view;
	enum view_order order;
};

/* Appends a frame to the line, the root first. The name holds no control character. */
static void fold_frame(struct out *line, const char *name)
{
	if (line->size)
		out_char(line, ';');
	for (; *name; name++)
		out_char(line, *name == ';' ? ':' : *name);
}

/* Writes the line, unless its number of bytes is 0, and begins the next line. */
static void end_line(struct folder *f, uint64_t bytes)
{
	if (bytes) {
		out_bytes(f->out, f->line.data, f->line.size);
		out_printf(f->out, " %" PRIu64 "\n", bytes);
	}
	f->line.size = 0;
}

static void fold_stack(struct folder *f, const struct view_stack *stack)
{
	static const char *const nameless[] = {
		[VIEW_STACK_NONE] = "[without a stack]", [VIEW_STACK_NOT_NAMED] = "[not named]",
	};

	if (stack->state != VIEW_STACK_NAMED) {
		fold_frame(&f->line, nameless[stack->state]);
		return;
	}
	for (uint32_t i = stack->frame_count; i-- > 0;) {
		struct out name;
		char *text;

		out_init_mem(&name);
		stack_text_name(&name, &f->view->symbols[stack->frames[i]]);
		text = out_take(&name);
		fold_frame(&f->line, text);
		free(text);
	}
}

static void fold_stacks(struct folder *f, const struct view_proc *proc, const char *where,
			const struct view_stacks *stacks)
{
	const struct view_top *top = &stacks->top[f->order];
	char comm[4 * sizeof(proc->comm)], name[96];

	human_text(comm, sizeof(proc->comm) - 1, proc->comm, sizeof(proc->comm));
	snprintf(name, sizeof(name), "%s (%u)", comm[0] ? comm : "process", proc->tgid);
	for (size_t i = 0; i < top->count; i++) {
		fold_frame(&f->line, name);
		fold_frame(&f->line, where);
		fold_stack(f, &f->view->stacks[top->rows[i].stack]);
		end_line(f, (uint64_t)view_value(&top->rows[i].held, f->order));
	}
	if (f->order != VIEW_BY_LIVE || stacks->unexplained <= 0)
		return;
	fold_frame(&f->line, name);
	fold_frame(&f->line, where);
	fold_frame(&f->line, "[rounding, pool reserve]");
	end_line(f, (uint64_t)stacks->unexplained);
}

/* Writes a line for each stack trace: the process, "GPU 0" or "host memory", the frames, and the number that the
 * order is about. Memory without a stack trace stands in brackets, so that the sum is complete. Stack traces that
 * shrank are left out. */
static void write_folded(struct out *out, const struct view *view, const struct sink_opts *opts)
{
	struct folder f = { .out = out, .view = view, .order = opts->folded_by };

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

static void ask_all_stacks(struct view_request *request, const struct sink_opts *opts)
{
	request->top = SIZE_MAX;
	request->ages = opts->folded_by == VIEW_BY_OLD;
}

const struct sink sink_folded = {
	.name = "folded",
	.suffix = ".folded",
	.help = "write folded stack traces for flame graphs; - is stdout",
	.manual = "At the end, write all stack traces in folded form, which flamegraph.pl, inferno and speedscope read."
		  " Each stack trace is a line: the process, the GPU and the frames from the outermost to the"
		  " innermost, separated by semicolons, and then the bytes. gpumemtrace writes the whole file or no"
		  " file. `-` is standard output; the report then goes to standard error.",
	.ask = ask_all_stacks,
	.write = write_folded,
};

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

/* Where the lines of one process on one GPU, or of its host memory, begin. */
struct place {
	char name[96];
	char where[40];
};

static void begin_line(struct folder *f, const struct place *place)
{
	fold_frame(&f->line, place->name);
	fold_frame(&f->line, place->where);
}

/* A line for each stack. with_segments: false leaves out the stacks that allocated a framework's segments. Returns the
 * bytes that were left out, less those that were written. */
static int64_t fold_stacks(struct folder *f, const struct place *place, const struct view_stacks *stacks,
			   bool with_segments)
{
	const struct view_top *top = &stacks->top[f->order];
	int64_t left = 0;

	for (size_t i = 0; i < top->count; i++) {
		int64_t bytes = view_value(&top->rows[i].held, f->order);

		if (top->rows[i].is_segment && !with_segments) {
			left += bytes;
			continue;
		}
		begin_line(f, place);
		fold_stack(f, &f->view->stacks[top->rows[i].stack]);
		end_line(f, (uint64_t)bytes);
	}
	return left;
}

static void fold_rest(struct folder *f, const struct place *place, const char *name, int64_t bytes)
{
	if (bytes <= 0)
		return;
	begin_line(f, place);
	fold_frame(&f->line, name);
	end_line(f, (uint64_t)bytes);
}

/* The bytes of blocks in this order. */
static int64_t sum_of(const struct folder *f, const struct view_stacks *stacks)
{
	const struct view_top *top = &stacks->top[f->order];
	int64_t sum = 0;

	for (size_t i = 0; i < top->count; i++)
		sum += view_value(&top->rows[i].held, f->order);
	return sum;
}

/* Blocks take the place of the segments that they lie in, so that no byte counts twice; what no block uses is a line of
 * its own. */
static void fold_row(struct folder *f, const struct place *place, const struct view_row *row)
{
	bool has_blocks = view_has_stacks(&row->torch.stacks);
	int64_t segments = fold_stacks(f, place, &row->stacks, !has_blocks);

	if (has_blocks) {
		fold_stacks(f, place, &row->torch.stacks, true);
		fold_rest(f, place, "[cached, in no block]", segments - sum_of(f, &row->torch.stacks));
	}
	if (f->order == VIEW_BY_LIVE)
		fold_rest(f, place, "[rounding, pool reserve]", row->stacks.unexplained);
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
		char comm[4 * sizeof(proc->comm)];
		struct place place;

		human_text(comm, sizeof(proc->comm) - 1, proc->comm, sizeof(proc->comm));
		snprintf(place.name, sizeof(place.name), "%s (%u)", comm[0] ? comm : "process", proc->tgid);
		for (size_t r = 0; r < proc->row_count; r++) {
			snprintf(place.where, sizeof(place.where), "GPU %s", text_gpu(view, proc->rows[r].gpu).s);
			fold_row(&f, &place, &proc->rows[r]);
		}
		snprintf(place.where, sizeof(place.where), "host memory");
		fold_stacks(&f, &place, &proc->host_stacks, true);
	}
	out_close(&f.line);
}

static bool row_is_folded(const struct view_row *row, enum view_order order)
{
	return row->stacks.top[order].count || (order == VIEW_BY_LIVE && row->stacks.unexplained > 0) ||
	       (view_has_stacks(&row->torch.stacks) && row->torch.stacks.top[order].count);
}

static const char *why_folded_is_empty(const struct view *view, const struct sink_opts *opts)
{
	static const char *const reasons[VIEW_ORDER_COUNT] = {
		[VIEW_BY_LIVE] = "no memory is live; --folded-by peak writes what was live at the peak",
		[VIEW_BY_PEAK] = "no traced process has allocated memory",
		[VIEW_BY_GROWN] = "the memory of no stack trace has grown; --folded-by live writes what is live",
		[VIEW_BY_OLD] = "no live memory is that old; --older-than sets the age, and --folded-by live writes all"
				" that is live",
		[VIEW_BY_ALLOCATED] = "no traced process has allocated memory",
	};

	for (size_t p = 0; p < view->proc_count; p++) {
		const struct view_proc *proc = &view->procs[p];

		if (proc->host_stacks.top[opts->folded_by].count)
			return NULL;
		for (size_t r = 0; r < proc->row_count; r++)
			if (row_is_folded(&proc->rows[r], opts->folded_by))
				return NULL;
	}
	return view->proc_count ? reasons[opts->folded_by] : "no process was traced that uses CUDA";
}

static void ask_all_stacks(struct view_request *request, const struct sink_opts *opts)
{
	request->top = SIZE_MAX;
	request->ages = opts->folded_by == VIEW_BY_OLD;
}

const struct sink sink_folded = {
	.name = "folded",
	.suffix = ".folded",
	.help = "write stack traces for flame graphs; - is stdout",
	.manual = "At the end, write all stack traces in folded form (suffix `.folded`), which flamegraph.pl,"
		  " inferno and speedscope read. Each stack trace is a line: the process, the GPU and the frames"
		  " from the outermost to the innermost, separated by semicolons, and then the bytes. If stack"
		  " traces of PyTorch's blocks were taken (`--block-stacks`), the blocks take the place of PyTorch's"
		  " segments, in which they lie: no byte counts twice, and `[cached, in no block]` is the part of"
		  " the segments that no block uses. So the sum stays that of the driver's memory. With `--folded-by"
		  " peak` the blocks are those at the blocks' own peak; with `allocated`, the blocks may add up to"
		  " more than the segments, because segments are used again. If the file is empty, a sentence says"
		  " why. gpumemtrace writes the whole file or no file. `-` is standard output; the report then goes"
		  " to standard error.",
	.ask = ask_all_stacks,
	.why_empty = why_folded_is_empty,
	.write = write_folded,
};

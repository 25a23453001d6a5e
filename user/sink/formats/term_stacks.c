// SPDX-License-Identifier: BSD-2-Clause
/*
 * Draws below the live table the owners of GPU memory over all running processes, and the stack traces that hold the
 * most. AT PEAK is the sum of the memory held at the peak of each process on each GPU.
 *
 *      LIVE   COUNT  AT PEAK      GROWN  OWNER
 *   1.5 GiB      12  1.8 GiB     -3 MiB  PyTorch
 *
 *      LIVE   COUNT  AT PEAK  STACK
 *   1.3 GiB      10  1.3 GiB  PyTorch: train.py:212 forward
 */
#include "sink/formats/term_stacks.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "base/human.h"
#include "base/out.h"
#include "core/view/view.h"
#include "sink/sink.h"
#include "sink/text/stack_text.h"
#include "sink/text/text.h"

#define BLOCK_LEAST 4       /* lines: an empty line, the head and two more; less is not worth the room */

/* An owner, or a stack trace. */
struct sum {
	size_t index;           /* in view.owners, or view.stacks */
	uint64_t live, count, at_peak;
	int64_t grown;
};

static int by_live(const void *a, const void *b)
{
	const struct sum *p = a, *q = b;

	if (p->live != q->live)
		return p->live < q->live ? 1 : -1;
	return p->index < q->index ? -1 : p->index > q->index;
}

static void add_to_sum(struct sum *sum, const struct view_held *held)
{
	sum->live += held->live;
	sum->count += held->live_count;
	sum->at_peak += held->at_peak;
	sum->grown += held->grown;
}

typedef void (*each_fn)(struct sum *sums, const struct view_stacks *stacks);

static void add_owners(struct sum *sums, const struct view_stacks *stacks)
{
	for (size_t i = 0; i < stacks->owner_count; i++)
		add_to_sum(&sums[stacks->owners[i].owner], &stacks->owners[i].held);
}

static void add_top_stacks(struct sum *sums, const struct view_stacks *stacks)
{
	const struct view_top *top = &stacks->top[VIEW_BY_LIVE];

	for (size_t i = 0; i < top->count; i++)
		add_to_sum(&sums[top->rows[i].stack], &top->rows[i].held);
}

/* Adds up over the running processes, the largest sum first; to be freed. NULL: no stack trace was taken. */
static struct sum *sum_up_stacks(const struct view *view, size_t count, each_fn each)
{
	struct sum *sums = xcalloc(count + 1, sizeof(*sums));
	bool any = false;

	for (size_t i = 0; i < count; i++)
		sums[i].index = i;
	for (size_t p = 0; p < view->proc_count; p++) {
		for (size_t r = 0; r < view->procs[p].row_count && !view->procs[p].exited; r++) {
			any |= view_has_stacks(&view->procs[p].rows[r].stacks);
			each(sums, &view->procs[p].rows[r].stacks);
		}
	}
	qsort(sums, count, sizeof(*sums), by_live);
	if (any)
		return sums;
	free(sums);
	return NULL;
}

static size_t count_shown(const struct sum *sums, size_t count, size_t most)
{
	size_t n = 0;

	while (n < count && n < most && sums[n].live)
		n++;
	return n;
}

static void draw_head(struct out *out, const struct sink_opts *opts, const char *text)
{
	text_format(out, opts, TEXT_PLAIN, "%s", "");
	text_format(out, opts, TEXT_BOLD, "%9s%8s%9s%s", "LIVE", "COUNT", "AT PEAK", text);
}

static void draw_numbers(struct out *line, const struct sum *sum)
{
	out_init_mem(line);
	out_printf(line, "%9s%8s%9s", human_bytes(sum->live).s, human_short(sum->count).s, human_bytes(sum->at_peak).s);
}

static void owner_lines(struct out *out, const struct view *view, const struct sink_opts *opts,
			const struct sum *owners, size_t count)
{
	struct out line;

	draw_head(out, opts, "      GROWN  OWNER");
	for (size_t i = 0; i < count; i++) {
		draw_numbers(&line, &owners[i]);
		out_printf(&line, "%11s  %s", human_signed_bytes(owners[i].grown).s, view->owners[owners[i].index]);
		text_line(out, opts, TEXT_PLAIN, &line);
	}
}

static void stack_lines(struct out *out, const struct view *view, const struct sink_opts *opts,
			const struct sum *stacks, size_t count)
{
	struct out line;

	draw_head(out, opts, "  STACK");
	for (size_t i = 0; i < count; i++) {
		const struct view_stack *stack = &view->stacks[stacks[i].index];

		draw_numbers(&line, &stacks[i]);
		out_printf(&line, "  %s: ", view->owners[stack->owner]);
		stack_text_head(&line, view, stack);
		text_line(out, opts, TEXT_PLAIN, &line);
	}
}

void term_stacks(struct out *out, const struct view *view, const struct sink_opts *opts, unsigned lines)
{
	struct sum *owners = lines >= BLOCK_LEAST ? sum_up_stacks(view, view->owner_count, add_owners) : NULL;
	struct sum *stacks;
	size_t count;

	if (!owners)
		return;
	count = count_shown(owners, view->owner_count, lines - 2);
	owner_lines(out, view, opts, owners, count);
	free(owners);
	lines -= (unsigned)count + 2;
	stacks = lines >= BLOCK_LEAST ? sum_up_stacks(view, view->stack_count, add_top_stacks) : NULL;
	if (!stacks)
		return;
	count = count_shown(stacks, view->stack_count, lines - 2);
	if (count)
		stack_lines(out, view, opts, stacks, count);
	free(stacks);
}

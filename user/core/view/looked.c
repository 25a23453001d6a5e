// SPDX-License-Identifier: BSD-2-Clause
#include "core/view/looked.h"

#include <string.h>

#include "core/view/thresholds.h"
#include "core/view/view.h"

bool looked_at_growth(const struct view_stacks *stacks)
{
	const struct view_rise *rise = &stacks->rise;

	return rise->later_ns && rise->later_ns - rise->since_ns >= GROWTH_NS &&
	       rise->until_ns >= rise->later_ns + GROWTH_LATER_NS;
}

static enum looked at_growth(const struct view_row *row)
{
	const struct view_stacks *stacks = view_best_stacks(row);

	if (!view_has_stacks(stacks))
		return LOOKED_NO_STACKS;
	return looked_at_growth(stacks) ? LOOKED_AT : LOOKED_SHORT;
}

bool looked_unused(const struct view_torch *t)
{
	return is_much(view_torch_unused(t), CACHED_BYTES, t->reserved.live, CACHED_SHARE);
}

bool looked_never_used(const struct view_torch *t)
{
	return t->reserved.peak > t->allocated.peak &&
	       is_much(t->reserved.peak - t->allocated.peak, CACHED_BYTES, t->reserved.peak, CACHED_SHARE);
}

/* What tensors have used shows at once that no cache is large. That a cache is large takes time: all tensors of an
 * iteration may be gone at this moment. */
static enum looked at_cache(const struct view_torch *t)
{
	return t->recent_known || !looked_unused(t) ? LOOKED_AT : LOOKED_NEW_BLOCKS;
}

static enum looked at_leaks(const struct view_training *t)
{
	if (!t->is_training)
		return LOOKED_NO_TRAINING;
	return t->iteration > LEAK_ITERATIONS ? LOOKED_AT : LOOKED_SHORT;
}

static void note_answer(enum looked *to, enum looked answer)
{
	if (answer > *to)
		*to = answer;
}

static void look_at_row(const struct view *view, const struct view_proc *proc, const struct view_row *row,
			enum looked *by)
{
	const struct view_torch *t = &row->torch;
	bool has_memory = row->gpu >= 0 && view->gpus[row->gpu].has_memory;

	note_answer(&by[LOOKED_FOR_GROWTH], at_growth(row));
	if (!proc->exited && !view->is_filtered)
		note_answer(&by[LOOKED_FOR_OTHERS], has_memory ? LOOKED_AT : LOOKED_NO_NVML);
	if (!t->seen)
		return;
	note_answer(&by[LOOKED_FOR_LEAK], at_leaks(&t->training));
	note_answer(&by[LOOKED_FOR_LINES], view_has_stacks(&t->stacks) ? LOOKED_AT : LOOKED_NO_BLOCK_STACKS);
	if (proc->exited)
		return;
	note_answer(&by[LOOKED_FOR_PIECES], t->gap_known ? LOOKED_AT : LOOKED_OLD_BLOCKS);
	note_answer(&by[LOOKED_FOR_CACHE], at_cache(t));
}

void looked_at(const struct view *view, enum looked by[LOOKED_FOR_COUNT])
{
	bool has_calls = !view->session.hdr.size || view->session.layers & GMT_LAYER_API;

	memset(by, 0, sizeof(*by) * LOOKED_FOR_COUNT);
	for (size_t p = 0; p < view->proc_count; p++) {
		for (size_t r = 0; r < view->procs[p].row_count; r++) {
			const struct view_row *row = &view->procs[p].rows[r];

			if (!view_holds(&view->procs[p], row) && !row->attributed.peak && !row->physical.peak)
				continue;
			note_answer(&by[LOOKED_FOR_REQUESTS], has_calls ? LOOKED_AT : LOOKED_NO_CALLS);
			look_at_row(view, &view->procs[p], row, by);
		}
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* What the search for findings (finding.h) could look at: where nothing is found, a reader must know what was seen. */
#ifndef GPUMEMTRACE_CORE_VIEW_LOOKED_H
#define GPUMEMTRACE_CORE_VIEW_LOOKED_H

#include <stdbool.h>
#include <stdint.h>

struct view;
struct view_stacks;
struct view_torch;

/* X(NAME): a question to the numbers. LINES is none: whether the lines that hold tensors are known. */
#define LOOKED_FOR(X) X(REQUESTS) X(GROWTH) X(LEAK) X(PIECES) X(CACHE) X(OTHERS) X(LINES)
enum looked_for {
#define X(name) LOOKED_FOR_##name,
	LOOKED_FOR(X)
#undef X
	LOOKED_FOR_COUNT
};

/* The answer, from the best to the worst. NEVER: the question does not arise. */
enum looked {
	LOOKED_NEVER,
	LOOKED_AT,
	LOOKED_NO_CALLS,         /* CUDA calls were not traced */
	LOOKED_SHORT,            /* the time or the iterations were too few to see growth */
	LOOKED_NEW_BLOCKS,       /* the framework's first event is newer than TORCH_RECENT_NS */
	LOOKED_NO_STACKS,        /* no stack traces were taken */
	LOOKED_NO_TRAINING,      /* no backward was seen, so no iterations */
	LOOKED_OLD_BLOCKS,       /* not all blocks and segments are known */
	LOOKED_NO_NVML,          /* NVML said nothing of the GPU's memory */
	LOOKED_NO_BLOCK_STACKS,  /* no stack traces of blocks were taken */
};

/* For each question the worst answer of all processes that hold or held memory. */
void looked_at(const struct view *view, enum looked by[LOOKED_FOR_COUNT]);

/* Whether the stacks show growth in both halves of the time of stacks->rise, if there was any. */
bool looked_at_growth(const struct view_stacks *stacks);

/* Whether much of what a framework has reserved was not needed in the time that view_torch.recent_peak is of. */
bool looked_unused(const struct view_torch *t);
/* Whether much of the most that it had reserved was never needed. Both peaks must have been seen. */
bool looked_never_used(const struct view_torch *t);

#endif

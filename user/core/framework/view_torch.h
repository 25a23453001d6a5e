/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of a view (view.h) about a framework's caching allocator. */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_VIEW_TORCH_H
#define GPUMEMTRACE_CORE_FRAMEWORK_VIEW_TORCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "core/account/view_stacks.h"
#include "core/terms/view_levels.h"

/* ---- the purposes of the framework's memory, and what the program did meanwhile ---- */

/* Allocated bytes in a phase of an iteration, or in a range. A phase has `begin` from its first time and `end` from its
 * last time; a range has both from its newest time. The peak is the highest of all times. */
struct phase_cell {
	uint32_t times;          /* how often the phase or range began */
	uint64_t begin, end, peak;
	uint64_t alloc_bytes;
};

struct phase_iteration {
	uint32_t number;         /* from 1 on; 0: none */
	bool is_over;
	uint64_t end, end_ns;    /* bytes allocated when the iteration was over, and the time */
	struct phase_cell cells[GMT_TRAINING_COUNT];
};

struct view_category {
	uint64_t live, count;    /* blocks */
	uint64_t at_peak;        /* when most was allocated */
	int64_t grown, each;     /* as in struct view_held, for the stacks of the blocks */
	/* The parts that were made after the start-up and have been held for more iterations than usual; the second one
	 * only of an ended process. */
	uint64_t late, late_at_peak;
};

/* For tables: what is known of a category as of an owner or a line. */
static inline struct view_held view_category_held(const struct view_category *category)
{
	return (struct view_held){
		.live = category->live, .live_count = category->count, .at_peak = category->at_peak,
		.grown = category->grown, .each = category->each,
	};
}

static inline bool view_category_is_used(const struct view_category *c)
{
	return c->live || c->at_peak || c->grown || c->each;
}

struct view_range {
	char name[GMT_RANGE_NAME_BYTES];
	struct phase_cell cell;
};

struct view_purpose {
	uint32_t stack_id;
	uint8_t category;        /* enum gmt_category */
	uint64_t live, at_peak;
};

/* What iterations left allocated, and what is still there: maybe a leak. */
struct view_growth {
	uint64_t bytes;          /* that came each time, on average */
	uint32_t count;          /* times; 0: none */
	uint32_t iterations;     /* the newest, among which these times are. `count`: each left more than the iteration
				  * before. More: only some did, but what these left is still there (rises.h) */
	uint64_t time_ns, end_ns; /* that the iterations took, and when the last ended; 0: not known */
};

/* Categories sum exactly to the blocks that were seen allocated; a block's category is a guess (category.h). What a
 * category held earlier are the blocks of then, by what they are for now, or were for when they went. */
struct view_training {
	struct view_category categories[GMT_CATEGORY_COUNT];
	uint64_t before;         /* bytes of blocks from before the attach, whose purpose is not known */
	bool is_training;        /* a backward was seen */
	bool has_ended;          /* the process has */
	uint32_t iteration;      /* the current one */
	uint8_t phase;           /* its current phase: enum gmt_training */
	bool first_is_whole;     /* the first iteration was seen from its beginning */
	struct view_growth growth;
	size_t iteration_count;
	struct phase_iteration *iterations; /* the newest, by number */
	size_t purpose_count;
	struct view_purpose *purposes;      /* of stacks of blocks, the least bytes first: live, of an ended
					     * process at the peak */
	size_t range_count;
	struct view_range *ranges;          /* in order of appearance */
};

/* ---- all of it ---- */

/* A framework's caching allocator on one GPU. No sum includes these bytes: the segments are memory that calls asked
 * for, and is counted there. The names are PyTorch's. */
struct view_torch {
	bool seen;
	enum gmt_fw framework;         /* whose allocator it is */
	enum gmt_torch_backend backend;
	struct view_level allocated;   /* torch.cuda.memory_allocated(): blocks in use, as PyTorch said last */
	struct view_level reserved;    /* torch.cuda.memory_reserved(): blocks in use and cached blocks */
	uint64_t recent_peak;          /* the most that was allocated in the last TORCH_RECENT_NS to twice as much, but
					* after the first event */
	bool recent_known;             /* the first event is at least TORCH_RECENT_NS old */
	uint64_t blocks, block_bytes;  /* live, of those allocated since the attach */
	uint64_t allocs, frees, alloc_bytes, freed_bytes;
	uint64_t sized, sized_bytes;   /* live blocks whose requested size is known */
	uint64_t asked_bytes;          /* the sum of these requested sizes */
	uint64_t segments, segment_bytes; /* driver allocations in which its blocks were seen */
	bool gap_known;                /* all blocks and segments are known */
	uint64_t largest_free_gap;     /* bytes in one piece, inside a segment, that no block uses */
	struct view_stacks stacks;     /* of the blocks, but for blocks from before the attach */
	struct view_training training;
};

/* An iteration that is shorter shows the most that it needs. */
#define TORCH_RECENT_NS 10000000000ull

/* The bytes that the allocator holds and no block uses at this moment. */
static inline uint64_t view_torch_cached(const struct view_torch *t)
{
	return t->reserved.live > t->allocated.live ? t->reserved.live - t->allocated.live : 0;
}

/* The bytes that the allocator holds now and that blocks did not need at any moment of recent_peak's time. */
static inline uint64_t view_torch_unused(const struct view_torch *t)
{
	return t->reserved.live > t->recent_peak ? t->reserved.live - t->recent_peak : 0;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of a view (view.h) about the purposes of PyTorch's memory, and about what the program did meanwhile. */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_VIEW_TRAINING_H
#define GPUMEMTRACE_CORE_FRAMEWORK_VIEW_TRAINING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

/* Allocated bytes. A phase's cell in an iteration: `begin` is of the phase's first time, `end` of its last. A range's
 * cell: both are of the range's newest time. The peak is of all times. */
struct phase_cell {
	uint32_t times;          /* that it began; 0: never */
	uint64_t begin, end, peak;
	uint64_t alloc_bytes;
};

struct phase_iteration {
	uint32_t number;         /* from 1 on; 0: none */
	bool is_over;
	uint64_t end;            /* bytes allocated when it was over */
	struct phase_cell cells[GMT_TRAINING_COUNT];
};

struct view_category {
	uint64_t live, count;    /* blocks */
	uint64_t at_peak;        /* when most was allocated */
};

struct view_range {
	char name[GMT_RANGE_NAME_BYTES];
	struct phase_cell cell;
};

struct view_purpose {
	uint32_t stack_id;
	uint8_t category;        /* enum gmt_category */
	uint64_t live;
};

/* Categories sum exactly to the blocks that were seen allocated; a block's category is a guess (category.h). */
struct view_training {
	struct view_category categories[GMT_CATEGORY_COUNT];
	uint64_t before;         /* bytes of blocks from before the attach, whose purpose is not known */
	bool is_training;        /* a backward was seen */
	uint32_t iteration;      /* the current one */
	uint8_t phase;           /* its current phase: enum gmt_training */
	bool first_is_whole;     /* the first iteration was seen from its beginning */
	uint64_t growth;         /* bytes that each of the newest growth_count iterations left behind: maybe a leak */
	uint32_t growth_count;   /* 0: the newest iteration left nothing */
	size_t iteration_count;
	struct phase_iteration *iterations; /* the newest, by number */
	size_t purpose_count;
	struct view_purpose *purposes;      /* of stacks of blocks, the least live bytes first */
	size_t range_count;
	struct view_range *ranges;          /* in order of appearance */
};

#endif

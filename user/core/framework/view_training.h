/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of a view (view.h) that says what PyTorch's memory is for, and what the program did with it. */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_VIEW_TRAINING_H
#define GPUMEMTRACE_CORE_FRAMEWORK_VIEW_TRAINING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "core/framework/category.h"
#include "core/framework/phase_line.h"

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

/* Categories sum to the blocks that were seen allocated, exactly; each block's is a guess (category.h). */
struct view_training {
	struct view_category categories[GMT_CATEGORY_COUNT];
	uint64_t before;         /* bytes of blocks from before the attach: what for is not known */
	bool is_training;        /* a backward was seen */
	uint32_t iteration;      /* the current one, and what goes on in it: enum gmt_training */
	uint8_t phase;
	bool first_is_whole;     /* the first iteration was seen from its beginning */
	uint64_t growth;         /* bytes that each of the newest `growth_count` iterations left behind: a leak, */
	uint32_t growth_count;   /* ... maybe; 0: they did not */
	size_t iteration_count;
	struct phase_iteration *iterations; /* the newest, by number */
	size_t purpose_count;
	struct view_purpose *purposes;      /* of stacks of blocks, the least live bytes first */
	size_t range_count;
	struct view_range *ranges;          /* in order of appearance */
};

#endif

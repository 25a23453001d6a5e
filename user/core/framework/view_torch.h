/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of a view (view.h) that says what a framework's caching allocator holds. */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_VIEW_TORCH_H
#define GPUMEMTRACE_CORE_FRAMEWORK_VIEW_TORCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/account/view_levels.h"
#include "core/account/view_stacks.h"
#include "core/framework/view_training.h"

/* PyTorch's caching allocator on one GPU. Not part of any sum: its segments are what calls asked for. */
struct view_torch {
	bool seen;
	enum gmt_torch_backend backend;
	struct view_level allocated;   /* torch.cuda.memory_allocated(): blocks in use, as PyTorch said last */
	struct view_level reserved;    /* torch.cuda.memory_reserved(): blocks in use and cached ones */
	uint64_t blocks, block_bytes;  /* live, of those allocated since the attach */
	uint64_t allocs, frees, alloc_bytes, freed_bytes;
	uint64_t sized, sized_bytes;   /* of these, those of which it is known what was asked for */
	uint64_t asked_bytes;          /* that */
	uint64_t segments, segment_bytes; /* driver allocations in which its blocks were seen */
	bool gap_known;                /* all blocks and segments are known */
	uint64_t largest_free_gap;     /* bytes in one piece, inside a segment, that no block uses */
	struct view_stacks stacks;     /* of the blocks; of those from before the attach nothing is known */
	struct view_training training;
};

#endif

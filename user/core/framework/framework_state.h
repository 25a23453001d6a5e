/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A framework's caching allocator in one process, seen through its reports (gmt_fw_mem): the blocks that tensors live
 * in, beside the driver's allocations that they are cut from (segments).
 *
 * Totals are the framework's own words in each event, so they are exact from the first one on, however late
 * the attach. A segment is a driver allocation in which a block has been seen: a new one is found by
 * the block that it was made for, which begins where it does. It goes when the driver takes it back.
 *
 * The one invariant: every block lies in segments, or is marked as one that has lost them (BLOCK_LOST). A segment that
 * was there before tracing began is made up for the blocks that are met in it (GMT_HISTORY_GUESSED): in the sums of a
 * device it has no part.
 */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_FRAMEWORK_STATE_H
#define GPUMEMTRACE_CORE_FRAMEWORK_FRAMEWORK_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "base/hash.h"
#include "base/rangemap.h"
#include "core/account/stacks.h"
#include "core/framework/phases.h"
#include "core/framework/view_torch.h"

struct deltas;
struct process;

/* Of a block's range.aux, the low bits; the others have its birth (birth.h). */
#define BLOCK_LOST 1u
#define BLOCK_OWN_BITS 1

/* Free pieces inside the segments. */
struct framework_gaps {
	bool known;              /* all blocks and all segments are */
	uint64_t largest;
};

/* Live blocks by who asked for them and what they are for, as far as that can be seen without names. */
struct framework_kind {
	uint32_t stack_id;
	uint8_t category;        /* enum gmt_category */
	uint64_t live, count, at_peak;
};

struct framework_kinds {
	struct framework_kind *list;
	size_t count;
};

/* One device, as the process numbers it. */
struct framework_device {
	bool seen;
	bool unchecked;          /* not all its segments are known, or some were taken away below it */
	uint32_t tid;            /* of the newest event, and its block */
	uint64_t ptr;
	int64_t delta;
	unsigned int row;        /* of the process's account; 0: not known yet */
	struct view_level allocated, reserved;
	uint64_t before;         /* of allocated, from before the first event */
	uint64_t blocks, block_bytes;             /* live, of those seen allocated */
	uint64_t segments, segment_bytes, mapped_bytes; /* mapped: of these by cuMemMap */
	uint64_t allocs, frees, alloc_bytes, freed_bytes;
	int64_t off;             /* what the framework says it holds, less its segments, when that was compared last */
	struct framework_gaps at_end;
	struct stacks stacks;    /* blocks, by who asked for them */
	bool is_first;           /* seen from its first block on */
	uint64_t gone_since_peak[GMT_CATEGORY_COUNT]; /* bytes of the peak */
	struct framework_kinds kinds_at_end;
	uint64_t sized, sized_bytes, asked_bytes; /* live blocks of which it is known what was asked for */
};

/* Segments that releases have taken: put back if those fail. */
#define FRAMEWORK_TAKEN 8

struct framework {
	const struct process *p;
	const struct deltas *out;
	struct framework_device *devices;  /* by ordinal */
	unsigned int count;
	struct rangemap blocks;    /* offset: when it was made; value and aux: birth.h; gpu: ordinal */
	struct rangemap segments;  /* as in struct delta_segment */
	struct hash sizes;         /* struct framework_size, by the block's address */
	struct range taken[FRAMEWORK_TAKEN]; /* length 0: none */
	unsigned int next_taken;
	struct phases *phases;     /* NULL: nothing is known of any */
	uint64_t report_ns;        /* of the newest report that it is out of memory, and what it says */
	uint64_t report_bytes;
	uint32_t report_tid;
	bool ended;
	bool is_loaded;            /* its library for CUDA is mapped */
	uint32_t flags;            /* enum gmt_framework_flag */
	uint64_t missed, reserved_off; /* GMT_ANOMALY_TORCH_MISSED, _RESERVED */
};

#endif

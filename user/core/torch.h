/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PyTorch's caching allocator, seen through its reports (gmt_fw_mem): the blocks that tensors live in,
 * beside the driver's allocations that they are cut from (segments).
 *
 * Totals are PyTorch's own words in each event, so they are exact from the first one on, however late
 * the attach. A segment is a driver allocation in which a block has been seen: a new one is found by
 * the block that it was made for, which begins where it does. It goes when the driver takes it back.
 */
#ifndef GPUMEMTRACE_CORE_TORCH_H
#define GPUMEMTRACE_CORE_TORCH_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "core/rangemap.h"
#include "core/stacks.h"
#include "core/view.h"

struct process;
struct event;

/* Free pieces inside the segments. */
struct torch_gaps {
	bool known;              /* all blocks and all segments are */
	uint64_t largest;
};

/* One device, as the process numbers it. */
struct torch_device {
	bool seen;
	bool unchecked;          /* its segments cannot be told, or were taken away below it */
	uint32_t tid;            /* of the newest event, and its block */
	uint64_t ptr;
	int64_t delta;
	unsigned int row;        /* of the process's account; 0: not known yet */
	struct view_level allocated, reserved;
	uint64_t before;         /* of allocated, from before the first event */
	uint64_t blocks, block_bytes;             /* live, of those seen allocated */
	uint64_t segments, segment_bytes, mapped_bytes; /* mapped: of these by cuMemMap */
	uint64_t allocs, frees, alloc_bytes, freed_bytes;
	int64_t off;             /* what PyTorch says it holds, less its segments, when that was compared last */
	struct torch_gaps at_end;
	struct stacks stacks;    /* blocks, by who asked for them */
};

/* The segment that a release in flight has taken: put back if that fails. */
struct torch_taken {
	uint32_t tid, seq;
	struct range segment;
};

struct torch {
	struct torch_device *devices;  /* by ordinal */
	unsigned int count;
	struct rangemap blocks;    /* offset: when allocated; value: stack id; gpu: ordinal */
	struct rangemap segments;  /* value: whether cuMemMap made it; gpu: ordinal */
	struct torch_taken taken;
	bool ended;
};

/* One event. -EINVAL: malformed. */
int torch_memory(struct process *p, const struct gmt_fw_mem *rec);

/* A call was applied: it may have taken segments. */
void torch_follow(struct event *e);

/* The process ends: sums stay. Another program runs in it: nothing lives any longer. */
void torch_end(struct torch *t);
void torch_drop(struct torch *t);
void torch_free(struct torch *t);   /* NULL is fine, here and above */

/* stacks_mark() of all; t may be NULL. */
void torch_mark(struct torch *t, unsigned int mark);

/* The blocks by stack of the device in a row of the account; NULL: there is none. */
const struct stacks *torch_stacks(const struct torch *t, unsigned int row);

uint64_t torch_bytes(const struct torch *t);

/* The free pieces inside a device's segments. */
struct torch_gaps torch_gaps(const struct torch *t, unsigned int ordinal);

/* What is shown in a row of the account; all zero where there is no PyTorch. */
void torch_view(const struct torch *t, unsigned int row, struct view_torch *out);

#endif

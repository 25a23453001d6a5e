/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PyTorch's caching allocator, seen through its reports (gmt_fw_mem): the blocks that tensors live in,
 * beside the driver's allocations that they are cut from (segments).
 *
 * Totals are PyTorch's own words in each event, so they are exact from the first one on, however late
 * the attach. A segment is a driver allocation in which a block has been seen: a new one is found by
 * the block that it was made for, which begins where it does. It goes when the driver takes it back.
 */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_TORCH_H
#define GPUMEMTRACE_CORE_FRAMEWORK_TORCH_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "base/hash.h"
#include "core/account/frames.h"
#include "core/framework/phases.h"
#include "base/rangemap.h"
#include "core/account/stacks.h"
#include "core/view/view.h"

struct process;
struct event;

/* Free pieces inside the segments. */
struct torch_gaps {
	bool known;              /* all blocks and all segments are */
	uint64_t largest;
};

/* Live blocks by who asked for them and what they are for, as far as that can be told without names. */
struct torch_kind {
	uint32_t stack_id;
	uint8_t category;        /* enum gmt_category */
	uint64_t live, count, at_peak;
};

struct torch_kinds {
	struct torch_kind *list;
	size_t count;
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
	bool is_first;           /* seen from its first block on */
	uint64_t gone_since_peak[GMT_CATEGORY_COUNT]; /* bytes of the peak */
	struct torch_kinds kinds_at_end;
	uint64_t sized, sized_bytes, asked_bytes; /* live blocks of which it is known what was asked for */
};

/* The segment that a release in flight has taken: put back if that fails. */
struct torch_taken {
	uint32_t tid, seq;
	struct range segment;
};

struct torch {
	struct torch_device *devices;  /* by ordinal */
	unsigned int count;
	struct rangemap blocks;    /* offset, value, aux: torch_set_birth(); gpu: ordinal */
	struct rangemap segments;  /* value: whether cuMemMap made it; gpu: ordinal */
	struct hash sizes;         /* struct torch_size, by the block's address */
	struct torch_taken taken;
	struct phases *phases;
	bool ended;
};

/* One event. -EINVAL: malformed. */
int torch_memory(struct process *p, const struct gmt_fw_mem *rec);
int torch_range(struct process *p, const struct gmt_fw_range *rec);

/* A call was applied: it may have taken segments. */
void torch_follow(struct event *e);

/* The process ends: sums stay. Another program runs in it: nothing lives any longer. */
void torch_end(struct torch *t);
void torch_drop(struct torch *t);
void torch_free(struct torch *t);   /* NULL is fine, here and above */

/* stacks_mark() of all; t may be NULL. */
void torch_mark(struct torch *t, unsigned int mark);
/* All peaks begin anew at what is live, as after torch.cuda.reset_peak_memory_stats(); t may be NULL. */
void torch_restart(struct torch *t, uint64_t ts_ns);

/* The blocks by stack of the device in a row of the account; NULL: there is none. */
const struct stacks *torch_stacks(const struct torch *t, unsigned int row);

uint64_t torch_bytes(const struct torch *t);

/* The free pieces inside a device's segments. */
struct torch_gaps torch_gaps(const struct torch *t, unsigned int ordinal);

/* Phases and categories of a row; torch_training_free() releases it. */
void torch_training(const struct torch *t, unsigned int row, const struct frames *frames, struct view_training *out);
void torch_training_free(struct view_training *training);

/* For torch.c: when a block was made, and as what; it goes; all that live. */
void torch_set_birth(struct range *block, uint32_t stack_id, uint64_t ts_ns, struct training_moment birth);
void torch_block_freed(struct torch *t, const struct range *block);
void torch_kinds_make(const struct torch *t, unsigned int ordinal, struct torch_kinds *out);
void torch_kinds_free(struct torch_kinds *kinds);

/* What is shown in a row of the account; all zero where there is no PyTorch. */
void torch_view(const struct torch *t, unsigned int row, struct view_torch *out);

#endif

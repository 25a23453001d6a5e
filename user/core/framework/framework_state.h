/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A framework's caching allocator in one process, as its reports (gmt_fw_mem) show it: the blocks that tensors live
 * in, and the driver's allocations that blocks are cut from (segments).
 *
 * Each event has the framework's own totals, so totals are exact from the first event on, however late the attach. A
 * segment is a driver allocation in which a block has been seen: the first block of a new segment begins where the
 * segment does. A segment goes when the driver takes it back.
 *
 * The one invariant: every block lies in segments, or is marked as one that has lost them (BLOCK_LOST). A segment from
 * before tracing began is made up for the blocks that are met in it (GMT_HISTORY_GUESSED): no sum of a device counts
 * such a segment.
 */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_FRAMEWORK_STATE_H
#define GPUMEMTRACE_CORE_FRAMEWORK_FRAMEWORK_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "base/hash.h"
#include "base/rangemap.h"
#include "core/account/stacks.h"
#include "core/framework/iteration_marks.h"
#include "core/framework/phases.h"
#include "core/framework/recent.h"
#include "core/framework/view_torch.h"
#include "core/framework/waiting.h"

struct deltas;
struct frames;
struct process;

/* A flag in a block's range.aux: the memory below the block is gone. */
#define BLOCK_LOST 1u
_Static_assert(BLOCK_LOST < 1u << CATEGORY_OTHER_BITS, "a birth leaves the bit alone");

/* Free pieces inside the segments. */
struct framework_gaps {
	bool known;              /* all blocks and all segments are */
	uint64_t largest;
};

/* Blocks of one stack and one purpose, as far as that is known without names. */
struct framework_kind {
	uint32_t stack_id;
	uint8_t category;        /* enum gmt_category */
	uint64_t live, count, at_peak;
	uint64_t late, late_at_peak; /* the parts that category_is_late() */
	uint64_t at_mark[STACKS_MARKS]; /* the parts that were there at the marks (stacks.h) */
	/* Of blocks that are gone: */
	uint64_t peak;           /* at_peak is of this peak: framework_gone.peak then */
	uint64_t changed;        /* at_mark is of the marks before this change (struct stacks.changes) */
};

struct framework_kinds {
	struct framework_kind *list;
	size_t count;
};

/* The blocks of the newest peak, and of the marks, that are gone. A program makes peak after peak while its memory
 * grows: what is known of an older peak, or of an older mark in the same place, is not cleared, but overwritten. */
struct framework_gone {
	struct framework_kinds kinds; /* live and count are 0 */
	struct hash by_kind;     /* uint32_t: 1 + index in kinds.list, by stack and category */
	uint64_t peak;           /* number of the newest peak */
};

/* One device, as the process numbers it. */
struct framework_device {
	bool seen;
	bool unchecked;          /* some segments are not known, or were taken away below blocks */
	uint32_t tid;            /* of the newest event, like the next two */
	uint64_t ptr;
	int64_t delta;
	unsigned int row;        /* of the process's account; 0: not known yet */
	struct view_level allocated, reserved;
	struct recent recent;    /* of `allocated`, from the first event on */
	uint64_t before;         /* the part of `allocated` from before the first event */
	uint64_t blocks, block_bytes;             /* live blocks that were seen allocated */
	uint64_t segments, segment_bytes, mapped_bytes; /* mapped: of these by cuMemMap */
	uint64_t allocs, frees, alloc_bytes, freed_bytes;
	int64_t off;             /* the framework's reserved bytes less its segments, at the last comparison */
	struct framework_gaps at_end;
	struct stacks stacks;    /* of blocks */
	struct iteration_marks iterations;
	uint64_t newest_ns;      /* of the newest block */
	uint64_t mark_ns[STACKS_MARKS]; /* of the newest block before the mark */
	uint64_t newest_mark_ns; /* the greatest of them */
	bool is_first;           /* the device was seen from its first block on */
	struct framework_gone gone;
	struct framework_kinds kinds_at_end;
	bool has_failed;         /* the framework has reported an error, and has made no block since */
	struct training_moment failed; /* what the device was doing then */
	uint64_t sized, sized_bytes, asked_bytes; /* live blocks whose requested size is known */
};

/* So many released segments are kept, because a failed release puts its segment back. */
#define FRAMEWORK_TAKEN 8

struct framework {
	const struct process *p;
	const struct deltas *out;
	struct framework_device *devices;  /* by ordinal */
	unsigned int count;
	struct rangemap blocks;    /* offset: when it was made; value: its stack id and birth; aux: its flags and birth
				    * (category.h); gpu: ordinal */
	struct rangemap segments;  /* as in struct delta_segment */
	struct hash segment_stacks; /* uint8_t: the stacks that allocated segments, also ended ones; by stack id */
	struct hash waiting;       /* of stacks of autograd's threads (waiting.h) */
	uint64_t waiting_dropped;  /* allocations for which nobody is kept there: there were too many stacks */
	struct hash sizes;         /* struct framework_size, by the block's address */
	struct range taken[FRAMEWORK_TAKEN]; /* length 0: none */
	unsigned int next_taken;
	struct phases phases;
	bool ended;
	enum gmt_fw id;            /* the framework whose blocks these are: the first that reported */
	bool is_loaded[GMT_FW_COUNT]; /* a framework's library for CUDA is mapped */
	uint32_t flags[GMT_FW_COUNT]; /* enum gmt_framework_flag */
	uint64_t missed, reserved_off; /* GMT_ANOMALY_TORCH_MISSED, _RESERVED */
};

/* ---- the sizes that were asked for: sizes.c ---- */

struct framework_size {
	uint64_t bytes;          /* that the program asked for */
	uint64_t stream;         /* PyTorch's number; 0: the default stream */
};

/* Takes in one event, which comes after its block's event. Returns 0; -EINVAL: malformed. */
int sizes_add(struct framework *f, const struct gmt_fw_size *rec);
/* Drops the size of a block that goes. */
void sizes_forget(struct framework *f, const struct range *block);
/* The sizes of the live block at an address; NULL: not known. */
const struct framework_size *sizes_of(const struct framework *f, uint64_t address);

/* ---- the purposes of blocks: categories.c ---- */

/* The purpose of a block that goes now, or is alive: enum gmt_category + 1; 0: not known. */
unsigned int framework_category(const struct framework *f, const struct range *block, bool is_alive);
/* The same for a block that goes; its bytes of the peak are counted as gone. */
unsigned int framework_count_gone(struct framework *f, const struct range *block);
/* From when growth counts (enum stacks_moment), and the iterations over which it counts. */
struct framework_moments {
	unsigned int since;
	struct iteration_span iterations;
};
/* Adds a device's categories to what is shown of a row, and the first device's phases. */
void framework_add_training(const struct framework *f, unsigned int ordinal, const struct frames *frames,
			    const struct framework_moments *at, struct view_training *out);
/* Drops what is known of older peaks and marks. Nothing is counted afterwards. */
void framework_gone_end(struct framework_device *device);
/* framework_kinds_free() releases the list. */
void framework_kinds_make(const struct framework *f, unsigned int ordinal, struct framework_kinds *out);
void framework_kinds_free(struct framework_kinds *kinds);

#endif

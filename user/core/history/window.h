/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device memory of a process at one moment: the segments, and a framework's blocks in them.
 *
 * The one invariant: every block lies in one segment, or in pieces.
 */
#ifndef GPUMEMTRACE_CORE_HISTORY_WINDOW_H
#define GPUMEMTRACE_CORE_HISTORY_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "base/hash.h"
#include "base/rangemap.h"

struct framework;
struct process;

/* range.aux has the flags (enum gmt_history_flag), and above the flags a block's category (enum gmt_category + 1; 0:
 * not known). */
#define WINDOW_FLAG_BITS 3
#define WINDOW_FLAGS ((1u << WINDOW_FLAG_BITS) - 1)

/* Memory that a framework holds on a device since before tracing began, and that no event has shown. */
struct window_unseen {
	uint64_t allocated, reserved; /* bytes */
};

/* The requested bytes of a block that was made at `born_ns`. */
struct window_asked {
	uint64_t born_ns;
	uint64_t bytes;
};

/* In ranges, offset is the time of the allocation (0: not seen), value the stack id, gpu the device (-1: not known). */
struct window {
	struct rangemap segments, blocks;
	struct hash asked;       /* struct window_asked: requested bytes, by the block's address */
	struct window_unseen *unseen; /* by device */
	unsigned int unseen_count;
};

void window_init(struct window *w);
void window_free(struct window *w);
void window_copy(struct window *to, const struct window *from);
/* Copies the segments and blocks of one device. */
void window_copy_device(struct window *to, const struct window *from, int device);

/* Fills in the live memory. f: NULL where there is no framework. */
void window_now(struct window *w, const struct process *p, const struct framework *f);

/* Undoes an event, of this kind, of the segment or block. */
void window_undo(struct window *w, enum gmt_history_kind kind, const struct range *r);

/* Whether two segments, which are neighbours in the window, are one to the framework: the pieces of an expandable
 * segment are, and guessed pieces may be. */
bool window_is_joined(const struct range *segment, const struct range *next);

/* Bytes that a program asked the framework for when it got the live block; 0: not known. */
uint64_t window_asked(const struct window *w, const struct range *block);
void window_set_asked(struct window *w, const struct range *block, uint64_t bytes);

static inline uint32_t window_aux(uint32_t flags, unsigned int category)
{
	return (flags & WINDOW_FLAGS) | category << WINDOW_FLAG_BITS;
}

static inline unsigned int window_category(const struct range *block)
{
	return block->aux >> WINDOW_FLAG_BITS;
}

#endif

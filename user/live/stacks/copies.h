/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies of stacks' memory, which BPF sends in pieces before the stack, among the records that wait for tables. */
#ifndef GPUMEMTRACE_LIVE_STACKS_COPIES_H
#define GPUMEMTRACE_LIVE_STACKS_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/stackmap.h>
#include <gpumemtrace/wire.h>

struct records;

#define COPIES_MOST (64u << 20)          /* bytes of copies that wait for tables */
/* Threads send pieces at the same time. Their stacks have neighbouring ids, fewer than a machine has CPUs. */
#define COPIES_COUNTED 4096

/* The copies of stacks whose tables do not exist yet. */
struct copies_room {
	size_t bytes;            /* in use */
	uint64_t cut;            /* stacks without a copy, or a part of it: they stay as they are, cut off */
	uint64_t counted[COPIES_COUNTED]; /* the newest of them: stack_id + 1 at stack_id % COPIES_COUNTED */
};

/* The bytes of a record up to its last word: BPF sends a copy with unused room, often the larger part. The caller has
 * checked that the copy's words are in the record. */
size_t copies_used(const struct gmt_hdr *record);
/* Counts the stack of a copy that is not kept, once for all of its pieces. */
void copies_lose(struct copies_room *room, const struct gmt_stack_copy *copy);
/* Whether there is room for the copy. Takes the room, or counts the stack. */
bool copies_admit(struct copies_room *room, const struct gmt_stack_copy *copy);

/* Finds the pieces of a stack's copy among the records. Returns their number; each piece is taken once. */
size_t copies_take(struct records *waiting, uint32_t stack_id,
		   const struct gmt_stack_copy *pieces[GMT_STACK_COPY_PIECES]);

/* Adds to `to` the copies that were not taken and are less than a second old: their stacks are still in the ring, or
 * were lost there. */
void copies_keep_early(struct records *to, const struct records *waiting);

/* The bytes of all copies among the records, taken or not. */
size_t copies_bytes(const struct records *records);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies of stacks' memory, which BPF sends in pieces before the stack, among the records that wait for tables. */
#ifndef GPUMEMTRACE_LIVE_STACKS_COPIES_H
#define GPUMEMTRACE_LIVE_STACKS_COPIES_H

#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/stackmap.h>
#include <gpumemtrace/wire.h>

struct records;

/* Finds the pieces of a stack's copy among the records. Returns their number; each piece is taken once. */
size_t copies_take(struct records *waiting, uint32_t stack_id,
		   const struct gmt_stack_copy *pieces[GMT_STACK_COPY_PIECES]);

/* Adds to `to` the copies that were not taken and are less than a second old: their stacks are still in the ring, or
 * were lost there. */
void copies_keep_early(struct records *to, const struct records *waiting);

/* The bytes of all copies among the records, taken or not. */
size_t copies_bytes(const struct records *records);

#endif

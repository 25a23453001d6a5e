/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device memory at addresses as segments (delta.h): the driver's allocations and mappings, whether a framework has
 * blocks in them or not. Those of a framework are kept, the others pass through.
 */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_SEGMENTS_H
#define GPUMEMTRACE_CORE_FRAMEWORK_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "core/ledger/delta.h"

struct framework;
struct rangemap;

/* The flags in range.aux of a segment that a framework may join with its neighbours. */
#define SEGMENT_PIECE (GMT_HISTORY_MAPPED | GMT_HISTORY_GUESSED)

/* A delta of memory or of a place. f: NULL where the process has no framework. */
void segments_see(struct framework *f, const struct deltas *out, const struct delta *delta);

/* There are segments below the block: those that the driver gave, others are made up. What is there and cannot hold
 * the block has ended unseen. False: some were made up. */
bool segments_cover(struct framework *f, const struct range *block, uint64_t ts_ns);

/* Whether segments of a framework lie below all of the block: one of them, or pieces. */
bool segments_hold(const struct rangemap *segments, const struct range *block);

/* Gives out a delta of a block. tid: of the thread whose event it was; 0: none. */
void segments_give_block(const struct framework *f, enum delta_kind kind, const struct range *block,
			 unsigned int category, uint32_t tid, uint64_t ts_ns);

/* The live device memory of a process that no framework has claimed, and that is at an address. */
typedef void (*segments_fn)(void *arg, const struct range *segment);
void segments_each_plain(const struct framework *f, const struct process *p, segments_fn fn, void *arg);

#endif

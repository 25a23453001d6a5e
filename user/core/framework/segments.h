/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device memory as segments (delta.h): the driver's allocations and mappings at addresses, with a framework's blocks in
 * them or without. A framework's segments are kept; other segments are only given out as deltas.
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

/* Takes in a delta of memory or of a place. f: NULL where the process has no framework. */
void segments_see(struct framework *f, const struct deltas *out, const struct delta *delta);

/* Puts segments below the block, from the driver's allocations or else made up. An older segment at this place that
 * cannot hold the block has ended unseen. waiting_id: the stack that waited for the thread that allocated the block and
 * so the segment (waiting.h). False: some segments were made up. */
bool segments_cover(struct framework *f, const struct range *block, uint32_t waiting_id, uint64_t ts_ns);

/* Whether one segment of a framework, or several pieces, lie below the whole block. */
bool segments_hold(const struct rangemap *segments, const struct range *block);

/* Gives out a delta of a block. tid: the thread that caused the delta; 0: none. */
void segments_give_block(const struct framework *f, enum delta_kind kind, const struct range *block,
			 unsigned int category, uint32_t tid, uint64_t ts_ns);

/* The device that has the memory at an address, and the device's row of the account (0: not known). -1: no memory of a
 * GPU is known there. */
int segments_device(const struct framework *f, uint64_t address, unsigned int *row);

/* Calls `fn` for the process's live device memory at addresses that no framework has claimed. */
typedef void (*segments_fn)(void *arg, const struct range *segment);
void segments_each_plain(const struct framework *f, const struct process *p, segments_fn fn, void *arg);

#endif

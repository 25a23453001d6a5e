/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device memory of processes at instants that people ask about: where the segments and blocks lay. An observer of
 * deltas (core/ledger/delta.h).
 *
 * A new instant only notes its place in a log of events. Once the log has as many events as there is memory, the
 * instant's window (window.h) is made: the present with the events since then undone. So a peak that moves costs
 * nothing, and an event costs the same however often memory peaks.
 */
#ifndef GPUMEMTRACE_CORE_HISTORY_INSTANTS_H
#define GPUMEMTRACE_CORE_HISTORY_INSTANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/history/history.h"
#include "core/history/view_instants.h"
#include "core/history/window.h"
#include "core/ledger/delta.h"

struct frameworks;
struct process;

#define INSTANT_NEWEST 8             /* requests of a process that failed, and so many marks */
#define INSTANT_RANGES (1u << 15)    /* segments and blocks of an instant */
#define INSTANTS_RANGES (1u << 18)   /* of all instants together: 12 MiB */
#define INSTANT_ALL_DEVICES (-2)

/* What an instant's window lacks, because there was no room: the smallest segments. */
struct instant_left_out {
	uint64_t segments, bytes, held; /* held: bytes of blocks */
	uint64_t blocks;
};

struct instant {
	enum instant_why why;
	int device;              /* PEAK of blocks: by CUDA's number; else INSTANT_ALL_DEVICES */
	uint32_t number;         /* REQUEST: gmt_oom.number */
	uint64_t ts_ns;
	uint64_t bytes;          /* PEAK: of all blocks, or segments; REQUEST: asked for */
	uint64_t at;             /* number of the next event in the log */
	bool is_made;            /* the window is there */
	struct window window;
	struct instant_left_out left_out;
};

struct instants_process {
	const struct process *of;
	struct instant *list;    /* in the order of their beginnings */
	size_t count;
	struct history_event *log;
	size_t log_count, log_room;
	uint64_t log_first;      /* number of log[0] */
	uint64_t segments;       /* bytes */
	uint64_t *blocks;        /* bytes, by device; they have peaks, or else the segments */
	size_t device_count;
	uint32_t dropped;        /* instants that are no longer there */
};

struct instants {
	const struct frameworks *frameworks;
	struct instants_process **list; /* by process.index; NULL: nothing is known of it */
	size_t count;
	uint32_t room;           /* ranges that may still be kept */
};

struct instants *instants_new(const struct frameworks *frameworks);
void instants_free(struct instants *all);   /* NULL is fine */

/* The windows that are due, at a delta at which all that a record has changed is in the log, or nothing yet. Before any
 * other observer. */
#define INSTANTS_DUE_DELTAS                                                                                      \
	(DELTA_BIT(DELTA_CALL) | DELTA_BIT(DELTA_FRAMEWORK) | DELTA_BIT(DELTA_EXEC) | DELTA_BIT(DELTA_EXIT))
void instants_see_due(void *instants, const struct delta *delta);
#define INSTANTS_DELTAS                                                                                          \
	(DELTA_BIT(DELTA_BLOCK_ALLOC) | DELTA_BIT(DELTA_BLOCK_FREE) | DELTA_BIT(DELTA_BLOCK_LOST) |              \
	 DELTA_BIT(DELTA_BLOCK_BACK) | DELTA_BIT(DELTA_SEGMENT_ALLOC) | DELTA_BIT(DELTA_SEGMENT_FREE) |          \
	 DELTA_BIT(DELTA_SEGMENT_BACK) | DELTA_BIT(DELTA_WINDOW) | DELTA_BIT(DELTA_REQUEST_FAILED) |             \
	 DELTA_BIT(DELTA_REQUEST_MET) | DELTA_BIT(DELTA_FORGET) | DELTA_BIT(DELTA_SHED))
void instants_see(void *instants, const struct delta *delta);

/* Makes the windows of all instants of the process that still lack theirs. NULL: the process has no instants. Good
 * until the next delta. */
const struct instants_process *instants_made(struct instants *all, const struct process *p);

/* Takes the smallest segments out of the window until `room` ranges are left. */
void instant_cut(struct window *w, uint32_t room, struct instant_left_out *left_out);

#endif

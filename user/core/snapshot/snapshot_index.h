/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the snapshots of all processes have in common, found in one pass over a history: which events and marks are of
 * which process, and which event allocated the memory of an event. So all snapshots together take one pass, too.
 */
#ifndef GPUMEMTRACE_CORE_SNAPSHOT_SNAPSHOT_INDEX_H
#define GPUMEMTRACE_CORE_SNAPSHOT_SNAPSHOT_INDEX_H

#include <stdint.h>

#include "core/history/births.h"

struct history;

#define SNAPSHOT_NONE UINT64_MAX

/* Numbers of events and marks; SNAPSHOT_NONE: there is none. */
struct snapshot_index {
	const struct history *h;
	struct births births;
	uint64_t *newest_event;  /* by process */
	uint64_t *event_before;  /* by event, from h->first on: the event before it of the same process */
	uint64_t *oldest_mark;   /* by process */
	uint64_t *mark_after;    /* by mark, from the oldest one that is kept: the next mark of the same process */
};

/* The history may not change until the index is released. */
void snapshot_index_init(struct snapshot_index *x, const struct history *h);
void snapshot_index_fini(struct snapshot_index *x);

#endif

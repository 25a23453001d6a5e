/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When a framework's device was in which phase of a training (phases.h), in bounded memory.
 *
 * A span is a time in one phase. Where there are too many spans, those that begin in the same slot of time become one,
 * which has the time in each phase; slots become twice as long each time. So the past stays, coarser, and each share of
 * it is exact.
 */
#ifndef GPUMEMTRACE_CORE_TIMELINE_PHASE_SPANS_H
#define GPUMEMTRACE_CORE_TIMELINE_PHASE_SPANS_H

#include <stdint.h>

#include "core/timeline/view_timeline.h"

#define PHASE_SPANS_MIN 64
#define PHASE_SPANS_MAX 8192
#define PHASE_SPANS_NONE GMT_TRAINING_COUNT

struct phase_spans {
	struct phase_span *list;  /* the newest may go on */
	uint32_t count, most;
	uint32_t shift;           /* a slot takes 1 << shift nanoseconds */
	uint64_t merged;          /* spans that have become part of another */
	uint8_t phase;            /* that the newest span is in now; PHASE_SPANS_NONE: none */
	uint64_t since_ns;        /* of that phase */
	uint64_t seen_ns;         /* when the device was seen last */
};

/* With room for so many spans, within the bounds above. */
void phase_spans_init(struct phase_spans *s, uint64_t most);
void phase_spans_fini(struct phase_spans *s);
/* Another bound from now on, within those above. Gives back what has no room any longer. */
void phase_spans_limit(struct phase_spans *s, uint64_t most);

/* The device is in this phase (enum gmt_training, or PHASE_SPANS_NONE) from here on. Time does not go back. */
void phase_spans_note(struct phase_spans *s, uint8_t phase, uint64_t ts_ns);

/* For a view: a phase that goes on ends where the device was seen last. */
struct view_phases phase_spans_view(const struct phase_spans *s);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory over time, by who holds it, in bounded memory: one sum, as the memory of a process on one GPU.
 *
 * A key is a stack and what its memory is (a class, a category). A frame is a moment at which the bytes of all keys are
 * known exactly. A frame has a point for each key that changed after the frame before: the bytes at the frame, and the
 * least and the most bytes between the two frames. So between two frames a key has a stated bound of error, and a key
 * without a point has none.
 *
 * Frames end slots of time. When there are too many points, slots become twice as long, and frames are merged with the
 * next one. The frames of moments that people look for stay: marks, failed requests, ends of iterations. If there are
 * too many of these, the oldest failed requests and marks, and every second end of an iteration, become frames of
 * time; the series counts them. The peak since the newest mark needs no frame: what each key held then is known, and
 * where the series is shown, series_put_peak() makes the frame.
 */
#ifndef GPUMEMTRACE_CORE_TIMELINE_SERIES_H
#define GPUMEMTRACE_CORE_TIMELINE_SERIES_H

#include <stdint.h>

#include "core/timeline/series_state.h"

/*
 * With room for so many points. The bound is for points, and for one key for each SERIES_POINTS_EACH_KEY points; at
 * least SERIES_KEYS_MIN keys. Where there are more keys already, these keep their room.
 */
#define SERIES_POINTS_EACH_KEY 16
#define SERIES_POINTS_EACH_FRAME 4   /* there are no more frames than room for these points */
void series_init(struct series *s, uint64_t points_most);
/* Of a series without a change yet: it will have so long a span at the most. A short span has shorter slots. */
void series_expect(struct series *s, uint64_t span_ns);
void series_fini(struct series *s);
/* The least points of a series, also where it gets no room. */
#define SERIES_POINTS_MIN (SERIES_POINTS_EACH_KEY * (SERIES_KEYS_MIN + 1))
/* Another bound from now on. What has no room any longer is merged, and its memory is given back. */
void series_limit(struct series *s, uint64_t points_most);

void series_add(struct series *s, uint32_t stack_id, uint32_t what, uint64_t bytes, uint64_t ts_ns);
void series_remove(struct series *s, uint32_t stack_id, uint32_t what, uint64_t bytes, uint64_t ts_ns);
/* The key holds so many bytes now: for what is no sum of allocations. */
void series_set(struct series *s, uint32_t stack_id, uint32_t what, uint64_t bytes, uint64_t ts_ns);
/* Nothing lives any longer. */
void series_drop(struct series *s, uint64_t ts_ns);

/* The moment has a frame. `number`: of the iteration; else 0. */
void series_moment(struct series *s, enum series_why why, uint32_t number, uint64_t ts_ns);
/* Somebody has set a mark: the moment has a frame, and the peak counts from here. The peak before keeps a frame. */
void series_restart(struct series *s, uint64_t ts_ns);
/* Ends the newest slot, so that the frames tell everything. */
void series_close(struct series *s);

/* Fills in what each key held at the newest frame up to a time (0: before all frames): key_count numbers. The sum. */
uint64_t series_at(const struct series *s, uint64_t ts_ns, uint64_t *live);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts of a series' sum that are known late, as what a block was for is known when the block goes: for each frame,
 * what each part was then. A part is written into the frames of the past, so each frame has the differences from the
 * frame before.
 */
#ifndef GPUMEMTRACE_CORE_TIMELINE_SERIES_PARTS_H
#define GPUMEMTRACE_CORE_TIMELINE_SERIES_PARTS_H

#include "core/timeline/series_state.h"

#define SERIES_NOW UINT64_MAX

/* So many bytes belong to the part from the first frame at or after from_ns on, and no longer from the first frame at
 * or after until_ns on (SERIES_NOW: from the next frame on). */
void series_part(struct series *s, unsigned int part, uint64_t bytes, uint64_t from_ns, uint64_t until_ns);

/* For series.c and series_merge.c: a frame was added at the end; frame `from` becomes part of frame `to`, or takes its
 * place. */
void series_parts_add(struct series *s);
void series_parts_join(struct series *s, uint32_t to, uint32_t from);
void series_parts_move(struct series *s, uint32_t to, uint32_t from);
/* For series.c: gives back the room of frames that were merged. */
void series_parts_shrink(struct series *s);
/* For series_peak.c: a frame of the peak was put in at `place`. */
void series_parts_insert(struct series *s, uint32_t place);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Merges frames of a series (series.h) until the series keeps its bounds. */
#ifndef GPUMEMTRACE_CORE_TIMELINE_SERIES_MERGE_H
#define GPUMEMTRACE_CORE_TIMELINE_SERIES_MERGE_H

#include "core/timeline/series_state.h"

#define SERIES_FRAMES_MAX 8192
#define SERIES_ITERATIONS_MAX 2048   /* frames; likewise: */
#define SERIES_MARKS_MAX 256
#define SERIES_REQUESTS_MAX 256
#define SERIES_BASELINES_MAX 256
#define SERIES_PEAKS_MAX 256

/* After a new frame of this kind, or a new bound. A bound that was passed has half of its room free afterwards. */
void series_fit(struct series *s, enum series_why why);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Gives the peak of a series (series.h) a frame of its own, so that the highest frame is the peak. */
#ifndef GPUMEMTRACE_CORE_TIMELINE_SERIES_PEAK_H
#define GPUMEMTRACE_CORE_TIMELINE_SERIES_PEAK_H

#include "core/timeline/series_state.h"

/* After series_close(). Frames and points grow by xgrow(). Nothing is added where a frame is the peak already. */
void series_put_peak(struct series *s);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* A series (series.h) of one key of another series: for keys whose sum has no meaning. */
#ifndef GPUMEMTRACE_CORE_TIMELINE_SERIES_OF_KEY_H
#define GPUMEMTRACE_CORE_TIMELINE_SERIES_OF_KEY_H

#include "core/timeline/series_state.h"

/* The frames of moments, and those at which the key of `what` (stack_id 0) changed; without the key, none. The key held
 * the most at peak_ts_ns; peak 0: as far as the frames say. series_fini() releases the series. */
struct series series_of_key(const struct series *from, uint32_t what, uint64_t peak, uint64_t peak_ts_ns);

#endif

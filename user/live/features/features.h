/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks kernel, privileges, driver and libraries, and states each result as a fact with a remedy. `gpumemtrace doctor`
 * prints the facts. The sentence that is printed when tracing cannot start comes from them, too.
 */
#ifndef GPUMEMTRACE_LIVE_FEATURES_FEATURES_H
#define GPUMEMTRACE_LIVE_FEATURES_FEATURES_H

#include <gpumemtrace/wire.h>

#include "live/features/features_checks.h"

#define FEATURES_MAX 24

/* Runs every check, in the order to show the facts. Returns the number of facts. May take a second: it opens NVML and
 * a libcuda. */
size_t features_probe(const struct features_where *where, struct feature out[FEATURES_MAX]);

/* Finds the first fact that prevents tracing; false if there is none. Takes a few milliseconds: driver and libraries
 * are not checked. */
bool features_blocker(const struct features_where *where, struct feature *out);

#define FEATURES_LIMITS_MAX 4

/* What a session lacks that has these capabilities, and no more: sentences for the output. Returns the number. Pure. */
size_t features_limits(uint64_t effective, struct gmt_limit limits[FEATURES_LIMITS_MAX]);

#endif

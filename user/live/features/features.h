/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of kernel, privileges, driver and libraries is there, as facts with a remedy each: for
 * `gpumemtrace doctor`, and for the sentence that is printed when tracing cannot start.
 */
#ifndef GPUMEMTRACE_LIVE_FEATURES_FEATURES_H
#define GPUMEMTRACE_LIVE_FEATURES_FEATURES_H

#include "live/features/features_checks.h"

#define FEATURES_MAX 24

/* Everything, in the order to show it. How many of out[] were filled. May take a second: it opens NVML
 * and a libcuda. */
size_t features_probe(const struct features_where *where, struct feature out[FEATURES_MAX]);

/* The first thing without which tracing cannot work; false if there is none. A few milliseconds: asks
 * only what can be missing, not the driver and libraries. */
bool features_blocker(const struct features_where *where, struct feature *out);

#endif

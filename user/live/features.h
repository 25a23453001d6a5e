/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of kernel, privileges, driver and libraries is there, as facts with a remedy each: for
 * `gpumemtrace doctor`, and for the sentence that is printed when tracing cannot start. Changes
 * nothing on the machine and prints nothing.
 */
#ifndef GPUMEMTRACE_LIVE_FEATURES_H
#define GPUMEMTRACE_LIVE_FEATURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/feature.h"

struct features_where {
	const char *root;        /* driver root, "" the real system */
	const char *nvml;        /* library to open, NULL the usual places */
};

#define FEATURES_MAX 24

/* Everything, in the order to show it. How many of out[] were filled. May take a second: it opens NVML
 * and a libcuda. */
size_t features_probe(const struct features_where *where, struct feature out[FEATURES_MAX]);

/* The first thing without which tracing cannot work; false if there is none. A few milliseconds: asks
 * only what can be missing, not the driver and libraries. */
bool features_blocker(struct feature *out);

/* What the checks conclude from text and numbers: pure, for tests. Each fills state, detail, remedy. */
void features_judge_kernel(struct feature *feature, const char *release);
void features_judge_capabilities(struct feature *feature, uint64_t effective, bool initial_user_ns);
void features_judge_lockdown(struct feature *feature, const char *text);
void features_judge_bpf(struct feature *feature, int err);

#endif

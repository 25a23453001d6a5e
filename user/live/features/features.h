/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of kernel, privileges, driver and libraries is there, as facts with a remedy each: for
 * `gpumemtrace doctor`, and for the sentence that is printed when tracing cannot start. Changes
 * nothing on the machine and prints nothing.
 */
#ifndef GPUMEMTRACE_LIVE_FEATURES_FEATURES_H
#define GPUMEMTRACE_LIVE_FEATURES_FEATURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/terms/feature.h"

struct trial;

struct features_where {
	const char *root;        /* driver root, "" the real system */
	const char *nvml;        /* library to open, NULL the usual places */
	const char *system;      /* before /proc and /sys, "" the real system: for tests */
	const char *return_probes; /* what trial_assume() is told, NULL: return probes are tried */
	bool no_uprobe_multi;    /* as of attach.h; likewise: */
	const char *btf, *refused;
};

/* What answers the system calls. */
enum features_kernel { FEATURES_LINUX, FEATURES_WSL, FEATURES_GVISOR };

#define FEATURES_MAX 24

/* Everything, in the order to show it. How many of out[] were filled. May take a second: it opens NVML
 * and a libcuda. */
size_t features_probe(const struct features_where *where, struct feature out[FEATURES_MAX]);

/* The first thing without which tracing cannot work; false if there is none. A few milliseconds: asks
 * only what can be missing, not the driver and libraries. */
bool features_blocker(const struct features_where *where, struct feature *out);

/*
 * What the checks conclude from text and numbers: pure, for tests. Each fills state, detail, remedy. Text that could
 * not be read is NULL, an errno 0 where nothing failed. memlock: the limit in bytes; compiled: whether the kernel made
 * machine code of a program, -1 unknown; reads_kernel: of the helper that is missing.
 */
void features_judge_kernel(struct feature *feature, const char *release, enum features_kernel kernel);
enum features_kernel features_kernel_of(const char *proc_version, bool has_marker);
void features_judge_capabilities(struct feature *feature, uint64_t effective, bool initial_user_ns, bool root);
void features_judge_btf(struct feature *feature, int err, enum features_kernel kernel);
void features_judge_uprobes(struct feature *feature, const char *type, bool multi);
void features_judge_lockdown(struct feature *feature, const char *text);
void features_judge_bpf(struct feature *feature, int err, uint64_t memlock);
void features_judge_jit(struct feature *feature, const char *text, int compiled);
void features_judge_helper(struct feature *feature, const char *missing, bool reads_kernel);
void features_judge_return_probes(struct feature *feature, const struct trial *trial);

#endif

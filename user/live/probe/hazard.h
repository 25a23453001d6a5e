/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that a return probe would kill (trial.h): no return probe goes to a file that such a process maps, as
 * probes belong to files, not to targets. If the trial found no danger, these functions answer at once.
 */
#ifndef GPUMEMTRACE_LIVE_PROBE_HAZARD_H
#define GPUMEMTRACE_LIVE_PROBE_HAZARD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct library;
struct procfs_status;
struct trial;

enum hazard_verdict {
	HAZARD_FREE,
	HAZARD_SECCOMP,           /* under a filter, or in strict mode */
	HAZARD_SHADOW_STACK,
	HAZARD_HIDDEN,            /* may not be inspected, or has too many threads */
};

/* Whether any process can be hurt at all. */
bool hazard_is_needed(const struct trial *trial);

/* What a return probe would do to a thread. Pure. */
enum hazard_verdict hazard_judge(const struct trial *trial, const struct procfs_status *thread);

/* 0: none of the processes that map the file would be hurt. -ECANCELED: one would or might be; the cause says which,
 * why, and the remedy. Reads the mappings of every process: some milliseconds for a hundred. */
int hazard_library(const struct trial *trial, const struct library *library, char *cause, size_t cause_size);

/* The same for one process. */
int hazard_process(const struct trial *trial, const struct library *library, pid_t pid, char *cause,
		  size_t cause_size);

#endif

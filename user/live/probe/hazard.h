/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the processes that a return probe would kill (trial.h). A file that such a process maps gets no return probe,
 * because probes belong to files, not to targets. If the trial found no danger, these functions answer at once.
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

/* 0: a return probe hurts no process that maps the file. -ECANCELED: it hurts or might hurt a process; the cause
 * names the process, the reason and the remedy. Reading the mappings of a hundred processes takes some milliseconds. */
int hazard_library(const struct trial *trial, const struct library *library, char *cause, size_t cause_size);

/* The same for one process. */
int hazard_process(const struct trial *trial, const struct library *library, pid_t pid, char *cause,
		  size_t cause_size);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the processes that the options name targets of a session. */
#ifndef GPUMEMTRACE_TARGETS_H
#define GPUMEMTRACE_TARGETS_H

struct session;

/* Probes the libraries of these processes, starts the command, makes the processes targets, takes NVML's baseline.
 * Returns 0, or the exit status after a sentence on standard error. */
int targets_add(struct session *session);

#endif

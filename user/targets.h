/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the processes that the options name targets of a session. */
#ifndef GPUMEMTRACE_TARGETS_H
#define GPUMEMTRACE_TARGETS_H

struct session;

/* Probes their libraries, starts the command, makes them targets, takes NVML's baseline. 0, or the exit status after a
 * sentence on standard error. */
int targets_add(struct session *session);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes that a session's options name, taken into the traced ones. */
#ifndef GPUMEMTRACE_TARGETS_H
#define GPUMEMTRACE_TARGETS_H

struct session;

/* Probes their libraries, starts the command, makes them targets, takes NVML's baseline. 0, or the exit
 * status after the sentence was said. */
int targets_add(struct session *session);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the processes that the options name targets of a session. */
#ifndef GPUMEMTRACE_TARGETS_H
#define GPUMEMTRACE_TARGETS_H

#include <stdbool.h>
#include <sys/types.h>

struct options;
struct selection;
struct session;

/* Finds the processes that the options name other than by pid. Returns 0, or the exit status after a sentence on
 * standard error. Close the selection in both cases. */
int targets_select(struct selection *selection, const struct options *options);

/* Probes the libraries of these processes, starts the command, makes the processes targets, takes NVML's baseline.
 * Returns 0, or the exit status after a sentence on standard error. */
int targets_add(struct session *session);

/*
 * Processes that join the selected groups (a container, a unit, a job) while tracing runs. The children of traced
 * processes are traced anyway; others come from outside: by "docker exec", or by a daemon that starts a step. A look at
 * all processes finds them, and so does the event of a process that maps libcuda.
 */
#define TARGETS_LOOK_NS 100000000ull /* at least, between two looks, which take a twentieth of the time at most */

/* Looks at all processes, if the time has come or `at_once`, and makes those of the groups targets. */
void targets_look(struct session *session, bool at_once);
/* Makes the process a target if it belongs to a group. Returns whether it does. */
bool targets_join(struct session *session, pid_t pid);

#endif

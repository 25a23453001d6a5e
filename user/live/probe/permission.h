/* SPDX-License-Identifier: BSD-2-Clause */
/* Tries whether this thread may do what tracing does, with the capabilities that it has now. */
#ifndef GPUMEMTRACE_LIVE_PROBE_PERMISSION_H
#define GPUMEMTRACE_LIVE_PROBE_PERMISSION_H

#include <stdbool.h>

/* Whether the kernel refuses something for lack of privileges: to load a program, to watch mappings, to place uprobes,
 * to open a mapped file. Kernels and distributions differ in what they ask for, so each is tried. */
bool permission_is_refused(bool multi);

/* Whether the kernel lets this thread place uprobes. Without `multi` (uprobe.h) each is a perf event, for which Linux
 * 6.18 asks for CAP_SYS_ADMIN (perf_uprobe_event_init(), kernel/events/core.c). */
bool permission_has_uprobes(bool multi);

#endif

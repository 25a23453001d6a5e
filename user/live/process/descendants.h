/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes that descend from a process: its children, their children, and so on, as /proc shows their parents. A
 * process whose parent has ended descends from nobody: the kernel gives it another parent. */
#ifndef GPUMEMTRACE_LIVE_PROCESS_DESCENDANTS_H
#define GPUMEMTRACE_LIVE_PROCESS_DESCENDANTS_H

#include <sys/types.h>

#define DESCENDANTS_MOST 65536   /* processes that are looked at */

/* Calls back for each process that descends from `pid` when /proc is read, parents first, with the parent. Leaves out
 * the caller and what descends from the caller. 0, or -errno: /proc cannot be read; -E2BIG: there are more
 * processes. */
int descendants_each(pid_t pid, void (*fn)(pid_t pid, pid_t parent, void *arg), void *arg);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernel tracepoints by name, without tracefs being mounted anywhere. */
#ifndef GPUMEMTRACE_LIVE_PROBE_TRACEPOINT_H
#define GPUMEMTRACE_LIVE_PROBE_TRACEPOINT_H

/*
 * Opens a perf event on tracepoint "category/name" for a BPF program. The number of the tracepoint is
 * read from a tracefs of our own that is attached to no directory (fsmount(2), Linux 5.2): nothing of
 * the system changes. A file descriptor; -errno: -ENOSYS and -EPERM no such mount, -ENOENT no such
 * tracepoint.
 */
int tracepoint_open(const char *category, const char *name);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens kernel tracepoints by name, without a mounted tracefs. */
#ifndef GPUMEMTRACE_LIVE_PROBE_TRACEPOINT_H
#define GPUMEMTRACE_LIVE_PROBE_TRACEPOINT_H

/*
 * Opens a perf event on tracepoint "category/name" for a BPF program. The number of the tracepoint comes from a tracefs
 * that is mounted on no directory (fsmount(2), Linux 5.2), so nothing of the system changes. A file descriptor; -ENOSYS
 * or -EPERM: the mount is not possible; -ENOENT: no such tracepoint; else -errno.
 */
int tracepoint_open(const char *category, const char *name);

#endif

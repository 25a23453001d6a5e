/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens kernel tracepoints by name, without a mounted tracefs. */
#ifndef GPUMEMTRACE_LIVE_PROBE_TRACEPOINT_H
#define GPUMEMTRACE_LIVE_PROBE_TRACEPOINT_H

/*
 * The number of tracepoint "category/name". It comes from a tracefs that is mounted on no directory (fsmount(2), Linux
 * 5.2), so nothing of the system changes; this takes CAP_SYS_ADMIN. -ENOSYS or -EPERM: the mount is not possible;
 * -ENOENT: no such tracepoint; else -errno.
 */
int tracepoint_find(const char *category, const char *name);

/* Opens a perf event on the tracepoint of that number, for a BPF program. A file descriptor or -errno. */
int tracepoint_open(int id);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hears of every file that any process maps as code, at the moment it does: the kernel's perf side
 * band (PERF_RECORD_MMAP2 of a software event that never counts), one ring for each cpu. Needs neither
 * tracefs nor kprobes. It cannot be filtered in the kernel: every executable mapping of the machine
 * passes through the rings, and the callback has to say no cheaply.
 *
 * Uprobes work per file: a process that maps a file that is probed already is traced without this.
 */
#ifndef GPUMEMTRACE_LIVE_PROBE_MMAP_WATCH_H
#define GPUMEMTRACE_LIVE_PROBE_MMAP_WATCH_H

#include <stddef.h>
#include <stdint.h>

struct watch;

struct watch_mapping {
	uint32_t pid, tid;       /* in the collector's pid namespace */
	uint32_t dev_major, dev_minor;
	uint64_t ino;
	uint64_t start, length;
	const char *path;        /* as the process sees it */
};

typedef void (*watch_cb)(const struct watch_mapping *mapping, void *arg);

/* 0 or -errno: -EACCES without CAP_PERFMON (rescan with target_scan() instead then). */
int watch_open(struct watch **watch);
void watch_close(struct watch *watch);

/* One descriptor that is readable when there is something to read: for poll or epoll. */
int watch_fd(const struct watch *watch);

/* Reads all there is, calling back for each executable mapping of a file. Records the kernel had
 * to drop are added to *lost (a rescan is due then). 0 or -errno. */
int watch_read(struct watch *watch, watch_cb cb, void *arg, uint64_t *lost);

/* One record's bytes: for tests. */
void watch_decode(const void *record, size_t size, watch_cb cb, void *arg, uint64_t *lost);

#endif

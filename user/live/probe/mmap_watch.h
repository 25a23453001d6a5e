/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reports every file that any process maps as code, at the moment of the mapping. The reports are the kernel's perf
 * side band (PERF_RECORD_MMAP2 of a software event that never counts), one ring for each CPU, which needs neither
 * tracefs nor kprobes. The kernel cannot filter them: every executable mapping of the machine passes through the
 * rings, and the callback has to say no cheaply.
 *
 * Uprobes belong to files: a process that maps a file with probes is traced without such a report.
 */
#ifndef GPUMEMTRACE_LIVE_PROBE_MMAP_WATCH_H
#define GPUMEMTRACE_LIVE_PROBE_MMAP_WATCH_H

#include <stddef.h>
#include <stdint.h>

struct watch;

struct watch_mapping {
	uint32_t pid;            /* in the collector's pid namespace */
	uint64_t ino;
	const char *path;        /* as the process sees it */
};

typedef void (*watch_cb)(const struct watch_mapping *mapping, void *arg);

/* 0 or -errno: -EPERM or -EACCES without CAP_BPF or CAP_PERFMON. */
int watch_open(struct watch **watch);
void watch_close(struct watch *watch);

/* The memory that the rings of so many CPUs take. */
uint64_t watch_bytes(uint64_t page_bytes, uint32_t cpus);

/* A descriptor for poll or epoll: readable when there is something to read. */
int watch_fd(const struct watch *watch);

/* Reads all records and calls back for each executable mapping of a file. Adds the number of records that the kernel
 * had to drop to *lost: a rescan is due then. Before Linux 6.0 it tells of them with the next record. 0 or -errno. */
int watch_read(struct watch *watch, watch_cb cb, void *arg, uint64_t *lost);

/* Decodes the bytes of one record. Pure, for tests. */
void watch_decode(const void *record, size_t size, watch_cb cb, void *arg, uint64_t *lost);

#endif

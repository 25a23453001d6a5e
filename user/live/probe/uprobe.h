/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attaches uprobes to many offsets of one file: one uprobe_multi link (Linux 6.6), or one perf event for each offset on
 * older kernels. The probes are system-wide: the BPF programs distinguish targets from other processes.
 */
#ifndef GPUMEMTRACE_LIVE_PROBE_UPROBE_H
#define GPUMEMTRACE_LIVE_PROBE_UPROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct uprobe_set;

/* Whether the kernel has uprobe_multi links. */
bool uprobe_has_multi(void);

/* The attach type BPF programs must be loaded with where uprobe_has_multi(). */
#define UPROBE_MULTI_ATTACH_TYPE 48 /* BPF_TRACE_UPROBE_MULTI, include/uapi/linux/bpf.h of Linux 6.6 */

/* Where probes go: `count` file offsets. cookies[i] belongs to offsets[i], and so does counters[i], the file offset of
 * a two-byte counter that the kernel raises while the probe is there (0: none; `counters` NULL: none at all). */
struct uprobe_places {
	const char *path;
	const uint64_t *offsets, *counters, *cookies;
	size_t count;
	bool at_return;
	pid_t pid;               /* the only process that runs into the probes; 0: every process */
};

/* Attaches the loaded program `prog_fd`. `multi`: how the program was loaded. 0 and *out, to be given to
 * uprobe_detach(); -errno, nothing attached: -ENOENT no such file, -EINVAL an offset the kernel refuses, -EMFILE,
 * -EPERM. */
int uprobe_attach(struct uprobe_set **out, int prog_fd, const struct uprobe_places *places, bool multi);
void uprobe_detach(struct uprobe_set *set);

/* Removes one of the set's probes, or all of them if they are one link. Returns the number of probes that are left. A
 * single probe takes tens of milliseconds: the kernel waits until no CPU is inside the probe. */
size_t uprobe_detach_next(struct uprobe_set *set);
size_t uprobe_left(const struct uprobe_set *set);
size_t uprobe_descriptors(const struct uprobe_set *set); /* that the set holds open */

#endif

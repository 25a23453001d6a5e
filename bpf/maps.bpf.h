/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The maps that all programs share, and every constant that the collector sets. BPF keeps calls in flight,
 * configuration and loss counters; it never keeps memory totals. */
#ifndef GMT_MAPS_BPF_H
#define GMT_MAPS_BPF_H

/* Set by the collector before loading. A section of its own, so that it is found by name. */
const volatile struct gmt_rodata gmt SEC(".rodata.gmt");

volatile struct gmt_runtime runtime SEC(".data.gmt") = {};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20); /* bytes; the collector sets the real size */
} ring SEC(".maps");

/* Traced processes by tgid (initial pid namespace). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u32);
} targets SEC(".maps");

/* Some of the targets, by tgid % TARGETS_NEAR: a target that is here needs no look-up in the hash. */
#define TARGETS_NEAR 64
volatile __u32 targets_near[TARGETS_NEAR] SEC(".data.targets") = {};

/* One array for all CPUs, with atomic additions: a program that is preempted while it counts must not undo the counts
 * of another one. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, GMT_LOSS_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} loss SEC(".maps");

#endif

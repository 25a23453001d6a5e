/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The maps that all programs share, and every constant that the collector sets. BPF keeps calls in flight,
 * configuration and loss counters; it never keeps memory totals. */
#ifndef GMT_MAPS_BPF_H
#define GMT_MAPS_BPF_H

/* The collector sets this before loading, and finds it by the name of its section. */
const volatile struct gmt_rodata gmt SEC(".rodata.gmt");

/* A map: its type, the most entries, the types of keys and values, and BPF_F_* flags. */
#define MAP(name, kind, entries, key_type, value_type, flags) \
	struct {                                              \
		__uint(type, BPF_MAP_TYPE_##kind);            \
		__uint(max_entries, entries);                 \
		__uint(map_flags, flags);                     \
		__type(key, key_type);                        \
		__type(value, value_type);                    \
	} name SEC(".maps")

/* The type of a map, for maps inside of maps. It has sizes in the place of types, for the collector makes these maps
 * without types, and Linux 6.1 refuses a map that differs in that: bpf_map_meta_equal() compares timer_off, which is
 * -EINVAL without types and -ENOENT with types. */
#define INNER_MAP(tag, kind, entries, key_type, value_type, flags) \
	struct tag {                                               \
		__uint(type, BPF_MAP_TYPE_##kind);                 \
		__uint(max_entries, entries);                      \
		__uint(map_flags, flags);                          \
		__uint(key_size, sizeof(key_type));                \
		__uint(value_size, sizeof(value_type));            \
	}

volatile struct gmt_runtime runtime SEC(".data.gmt") = {};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20); /* bytes; the collector sets the real size */
} ring SEC(".maps");

/* Traced processes by tgid (initial pid namespace). */
MAP(targets, HASH, GMT_TARGETS, __u32, struct gmt_target, BPF_F_NO_PREALLOC);

volatile __u32 targets_near[GMT_TARGETS_NEAR] SEC(".data.targets") = {};

/* One array for all CPUs. Additions are atomic, because a program that is preempted while it counts must not undo the
 * counts of another program. */
MAP(loss, ARRAY, GMT_LOSS_COUNT, __u32, __u64, BPF_F_MMAPABLE);

#endif

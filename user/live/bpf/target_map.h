/* SPDX-License-Identifier: BSD-2-Clause */
/* The targets, as the BPF programs know them: two maps. Pids are those of the initial namespace. */
#ifndef GPUMEMTRACE_LIVE_BPF_TARGET_MAP_H
#define GPUMEMTRACE_LIVE_BPF_TARGET_MAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct bpf_object;

struct target_map {
	int fd;
	uint32_t *near;          /* BPF's memory: some of the targets */
};

/* 0; -ENOMEM: the memory limit is too low. Close the map in both cases. */
int target_map_open(struct target_map *map, const struct bpf_object *object);
void target_map_close(struct target_map *map);

/* Makes a process a target, until it exits. `user`: see users_take_process(). -EEXIST: it is one already. */
int target_map_add(const struct target_map *map, pid_t tgid, uint32_t user);
/* Whether a target was removed. */
bool target_map_remove(const struct target_map *map, pid_t tgid);
bool target_map_has(const struct target_map *map, pid_t tgid);
/* Calls back for each target: at most GMT_TARGETS. */
void target_map_each(const struct target_map *map, void (*fn)(void *arg, pid_t tgid), void *arg);

#endif

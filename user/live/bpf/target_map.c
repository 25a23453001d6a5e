// SPDX-License-Identifier: BSD-2-Clause
#include "live/bpf/target_map.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include <gpumemtrace/config.h>

#include "live/bpf/array_map.h"

#define NEAR_BYTES (GMT_TARGETS_NEAR * sizeof(uint32_t))

int target_map_open(struct target_map *map, const struct bpf_object *object)
{
	map->fd = bpf_object__find_map_fd_by_name(object, "targets");
	map->near = mapped_open(bpf_object__find_map_fd_by_name(object, ".data.targets"), NEAR_BYTES, true);
	return map->near ? 0 : -ENOMEM;
}

void target_map_close(struct target_map *map)
{
	mapped_close(map->near, NEAR_BYTES);
}

int target_map_add(const struct target_map *map, pid_t tgid, uint32_t user)
{
	const struct gmt_target target = { .user = user };
	uint32_t key = (uint32_t)tgid;

	return bpf_map_update_elem(map->fd, &key, &target, BPF_NOEXIST);
}

/* The order of the BPF programs: a target is near only while the hash has it. */
bool target_map_remove(const struct target_map *map, pid_t tgid)
{
	uint32_t key = (uint32_t)tgid, expected = key;
	bool was_target = !bpf_map_delete_elem(map->fd, &key);

	__atomic_compare_exchange_n(&map->near[key % GMT_TARGETS_NEAR], &expected, 0, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	return was_target;
}

bool target_map_has(const struct target_map *map, pid_t tgid)
{
	uint32_t key = (uint32_t)tgid;
	struct gmt_target value;

	return !bpf_map_lookup_elem(map->fd, &key, &value);
}

/* The kernel begins again with the first key if the key is gone: a bound ends that. */
void target_map_each(const struct target_map *map, void (*fn)(void *arg, pid_t tgid), void *arg)
{
	uint32_t key = 0, *before = NULL;

	for (size_t i = 0; i < GMT_TARGETS && !bpf_map_get_next_key(map->fd, before, &key); i++) {
		fn(arg, (pid_t)key);
		before = &key;
	}
}

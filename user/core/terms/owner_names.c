// SPDX-License-Identifier: BSD-2-Clause
#include "core/terms/owner_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

void owner_names_init(struct owner_names *names)
{
	*names = (struct owner_names){ 0 };
	hash_init(&names->by_name, sizeof(uint32_t));
}

void owner_names_clear(struct owner_names *names)
{
	for (uint32_t i = 0; i < names->count; i++)
		free(names->list[i].name);
	names->count = 0;
	names->dropped = 0;
	hash_clear(&names->by_name);
}

void owner_names_fini(struct owner_names *names)
{
	owner_names_clear(names);
	hash_fini(&names->by_name);
	free(names->list);
	*names = (struct owner_names){ 0 };
}

uint32_t owner_names_put(struct owner_names *names, const char *name, uint16_t allocator)
{
	uint64_t hash = hash_of_bytes(hash_seed(&names->by_name), &allocator, sizeof(allocator));
	const uint32_t *known;
	bool is_new;

	hash = hash_of_bytes(hash, name, strlen(name));
	known = hash_get(&names->by_name, hash);
	if (known)
		return *known;
	if (names->count == OWNER_NAMES_MAX) {
		names->dropped++;
		return OWNER_NAMES_FULL;
	}
	names->list = xgrow(names->list, names->count, sizeof(*names->list));
	names->list[names->count] = (struct owner_name){ xstrdup(name), allocator };
	*(uint32_t *)hash_put(&names->by_name, hash, &is_new) = names->count;
	return names->count++;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* The allocations and blocks that are alive, found by what a delta says of them, or all of a process one by one. */
#ifndef GPUMEMTRACE_CORE_LIVES_LIVE_TABLE_H
#define GPUMEMTRACE_CORE_LIVES_LIVE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/slab.h"
#include "core/terms/lives_told.h"

struct live {
	struct life life;
	uint64_t key;
	uint64_t born_ns;        /* when the memory was allocated, which stays over several lives */
	uint32_t same;           /* the next older one of the same key; 0: none */
	uint32_t next, previous; /* of the same process; 0: none */
};

/* All 0: not initialized. */
struct live_table {
	struct slab slab;        /* struct live */
	struct hash by_key;      /* uint32_t: the first of a key */
	uint32_t count;
};

void live_table_init(struct live_table *t);
void live_table_fini(struct live_table *t);

/* What tells memory from other memory. Lives of one key are the same to whoever looks for one of them. */
struct live_key {
	uint32_t process, stack_id;
	uint8_t class;
	int16_t gpu;
	uint64_t born_ns, bytes, address;
};

/* Adds a life to the list of its process, whose first is *first. The life is to be filled in by the caller. Valid until
 * the next one is added. */
struct live *live_table_add(struct live_table *t, const struct live_key *key, uint32_t *first);
/* The newest life of the key; 0: there is none. */
uint32_t live_table_find(const struct live_table *t, const struct live_key *key);
void live_table_remove(struct live_table *t, uint32_t index, uint32_t *first);

static inline struct live *live_at(const struct live_table *t, uint32_t index)
{
	return slab_at(&t->slab, index);
}

#endif

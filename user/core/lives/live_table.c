// SPDX-License-Identifier: BSD-2-Clause
#include "core/lives/live_table.h"

void live_table_init(struct live_table *t)
{
	slab_init(&t->slab, sizeof(struct live));
	hash_init(&t->by_key, sizeof(uint32_t));
	t->count = 0;
}

void live_table_fini(struct live_table *t)
{
	slab_fini(&t->slab);
	hash_fini(&t->by_key);
}

static uint64_t key_number(const struct live_key *key)
{
	uint64_t number = hash_mix((uint64_t)key->process << 32 | key->stack_id);

	number = hash_mix(number ^ key->born_ns);
	number = hash_mix(number ^ key->bytes);
	number = hash_mix(number ^ key->address);
	return number ^ ((uint64_t)(uint16_t)key->gpu << 8 | key->class);
}

struct live *live_table_add(struct live_table *t, const struct live_key *key, uint32_t *first)
{
	uint32_t index = slab_new(&t->slab), *same;
	struct live *live = live_at(t, index);

	live->key = key_number(key);
	live->born_ns = key->born_ns;
	same = hash_put(&t->by_key, live->key, NULL);
	live->same = *same;
	*same = index;
	live->next = *first;
	if (*first)
		live_at(t, *first)->previous = index;
	*first = index;
	t->count++;
	return live;
}

uint32_t live_table_find(const struct live_table *t, const struct live_key *key)
{
	const uint32_t *found = hash_get(&t->by_key, key_number(key));

	for (uint32_t i = found ? *found : 0; i; i = live_at(t, i)->same) {
		const struct live *live = live_at(t, i);
		const struct life *life = &live->life;

		if (live->born_ns == key->born_ns && life->process == key->process &&
		    life->stack_id == key->stack_id && life->class == key->class && life->gpu == key->gpu &&
		    life->bytes == key->bytes && life->address == key->address)
			return i;
	}
	return 0;
}

/* Whoever ends a life takes the newest one of its key, or the newest one of its process: this is the first here. */
static void unlink_same(struct live_table *t, const struct live *live, uint32_t index)
{
	uint32_t *link = hash_get(&t->by_key, live->key);

	while (*link != index)
		link = &live_at(t, *link)->same;
	*link = live->same;
	if (!live->same && link == (uint32_t *)hash_get(&t->by_key, live->key))
		hash_erase(&t->by_key, live->key);
}

void live_table_remove(struct live_table *t, uint32_t index, uint32_t *first)
{
	const struct live *live = live_at(t, index);

	unlink_same(t, live, index);
	if (live->previous)
		live_at(t, live->previous)->next = live->next;
	else
		*first = live->next;
	if (live->next)
		live_at(t, live->next)->previous = live->previous;
	slab_free(&t->slab, index);
	t->count--;
}

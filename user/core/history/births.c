// SPDX-License-Identifier: BSD-2-Clause
#include "core/history/births.h"

#include <stdlib.h>

#include "base/rangemap.h"
#include "base/xalloc.h"
#include "core/history/history.h"

static uint64_t place_key(uint32_t process, bool is_block, uint64_t address)
{
	return address ^ (uint64_t)process << 51 ^ (uint64_t)is_block << 50;
}

/* The number for an allocation whose event is not kept; born_ns 0: the allocation was not seen at all. */
static uint64_t number_before(const struct history *h, uint64_t born_ns)
{
	return born_ns && h->first ? h->first - 1 : GMT_HISTORY_UNSEEN;
}

static uint64_t find_birth(struct births *b, uint64_t number)
{
	const struct history_event *e = history_event(b->h, number);
	bool is_block = e->kind == GMT_HISTORY_BLOCK_ALLOC || e->kind == GMT_HISTORY_BLOCK_FREE;
	uint64_t key = place_key(e->process, is_block, e->address), born;

	switch (e->kind) {
	case GMT_HISTORY_BLOCK_ALLOC:
	case GMT_HISTORY_SEGMENT_ALLOC:
		*(uint64_t *)hash_put(&b->alive, key, NULL) = number;
		return number;
	case GMT_HISTORY_BLOCK_FREE:
	case GMT_HISTORY_SEGMENT_FREE:
		return hash_take(&b->alive, key, &born) ? born : number_before(b->h, e->born);
	default:
		return e->born;
	}
}

void births_init(struct births *b, const struct history *h, uint64_t until)
{
	*b = (struct births){ .h = h, .of = xcalloc(until - h->first + 1, sizeof(*b->of)) };
	hash_init(&b->alive, sizeof(uint64_t));
	for (uint64_t n = h->first; n < until; n++)
		b->of[n - h->first] = find_birth(b, n);
}

void births_fini(struct births *b)
{
	free(b->of);
	hash_fini(&b->alive);
}

uint64_t births_of_event(const struct births *b, uint64_t number)
{
	return b->of[number - b->h->first];
}

uint64_t births_of_range(const struct births *b, uint32_t process, bool is_block, const struct range *r)
{
	const uint64_t *born = hash_get(&b->alive, place_key(process, is_block, r->base));

	return born ? *born : number_before(b->h, r->offset);
}

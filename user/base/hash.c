/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of the hash map that are not hot: see hash.h. */
#include "base/hash.h"

#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/random.h>

#include "base/siphash.h"
#include "base/xalloc.h"

#define HASH_FIRST_CAPACITY 8

void hash_init(struct hash *h, size_t value_size)
{
	*h = (struct hash){ .value_size = value_size };
}

void hash_fini(struct hash *h)
{
	free(h->keys);
	free(h->values);
	hash_init(h, h->value_size);
}

void hash_clear(struct hash *h)
{
	if (h->used)
		memset(h->keys, 0, h->capacity * sizeof(*h->keys));
	h->used = 0;
	h->has_zero = false;
}

/* Where the system call has no bytes yet, early after the machine's start: those that this process got at its start. */
static uint64_t random_word(void)
{
	const void *start = (const void *)getauxval(AT_RANDOM);
	uint64_t word = 0;

	if (getrandom(&word, sizeof(word), GRND_NONBLOCK) != sizeof(word) && start)
		memcpy(&word, start, sizeof(word));
	return word;
}

uint64_t hash_seed(struct hash *h)
{
	if (!h->seed)
		h->seed = random_word() | 1;
	return h->seed;
}

void hash_grow(struct hash *h)
{
	size_t slot;

	hash_seed(h);
	struct hash old = *h;

	h->capacity = old.capacity ? old.capacity * 2 : HASH_FIRST_CAPACITY;
	h->limit = h->capacity / 4 * 3;
	h->shift = 64 - __builtin_ctzl(h->capacity);
	h->keys = xcalloc(h->capacity, sizeof(*h->keys));
	h->values = xreallocarray(NULL, h->capacity + 1, h->value_size);
	for (size_t i = 0; i < old.capacity; i++) {
		if (!old.keys[i])
			continue;
		slot = hash_home(h, old.keys[i]);
		while (h->keys[slot])
			slot = (slot + 1) & (h->capacity - 1);
		h->keys[slot] = old.keys[i];
		memcpy(hash_value(h, slot), hash_value(&old, i), h->value_size);
	}
	if (old.has_zero)
		memcpy(hash_value(h, h->capacity), hash_value(&old, old.capacity), h->value_size);
	free(old.keys);
	free(old.values);
}

/* Moves entries of the run behind the gap into the gap, if their home is not behind the gap: otherwise a probe for
 * them would stop at the gap. */
void hash_close_gap(struct hash *h, size_t gap)
{
	size_t mask = h->capacity - 1, i = gap;

	for (;;) {
		i = (i + 1) & mask;
		if (!h->keys[i])
			break;
		if (((i - hash_home(h, h->keys[i])) & mask) < ((i - gap) & mask))
			continue;
		h->keys[gap] = h->keys[i];
		memcpy(hash_value(h, gap), hash_value(h, i), h->value_size);
		gap = i;
	}
	h->keys[gap] = 0;
}

bool hash_next(const struct hash *h, size_t *pos, uint64_t *key, void **value)
{
	while (*pos < h->capacity && !h->keys[*pos])
		++*pos;
	if (*pos > h->capacity || (*pos == h->capacity && !h->has_zero))
		return false;
	if (key)
		*key = *pos < h->capacity ? h->keys[*pos] : 0;
	if (value)
		*value = hash_value(h, *pos);
	++*pos;
	return true;
}

static int compare_keys(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* Few entries are wanted of many: the copy grows with them. */
uint64_t *hash_sorted_keys_of(const struct hash *h, bool (*is_wanted)(uint64_t key, const void *value, const void *arg),
			      const void *arg, size_t *count)
{
	uint64_t *keys = NULL, key;
	size_t pos = 0;
	void *value;

	*count = 0;
	while (hash_next(h, &pos, &key, &value)) {
		if (is_wanted && !is_wanted(key, value, arg))
			continue;
		keys = xgrow(keys, *count, sizeof(*keys));
		keys[(*count)++] = key;
	}
	if (*count)
		qsort(keys, *count, sizeof(*keys), compare_keys);
	return keys;
}

uint64_t *hash_sorted_keys(const struct hash *h, size_t *count)
{
	return hash_sorted_keys_of(h, NULL, NULL, count);
}

uint64_t hash_of_bytes(uint64_t key, const void *bytes, size_t size)
{
	const uint64_t keys[2] = { key, hash_mix(key) };

	return siphash(keys, bytes, size);
}

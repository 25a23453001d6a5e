/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hash map from u64 to values of one fixed size, stored inline: no allocation per entry.
 *
 * Open addressing with linear probing. Keys and values are two arrays, so that a probe reads eight
 * keys from a cache line whatever the size of a value. Erasing an entry shifts the entries behind it
 * back. So there are no tombstones: a table that is filled and emptied for days stays as fast as new.
 * The one invariant: between the home slot of a key and the slot it lies in, no slot is empty.
 *
 * Keys come from programs that may be hostile: addresses, handles, names. So where a key lies depends on a random
 * number of each table, the seed, and nobody can choose keys that all lie in one place. The order of a walk is random,
 * too.
 *
 * An empty slot has key 0; the key 0 itself is kept behind the last slot, at index capacity. The
 * table grows by doubling at 3/4 and never shrinks. A pointer to a value is good until the next
 * put, take or erase.
 */
#ifndef GPUMEMTRACE_BASE_HASH_H
#define GPUMEMTRACE_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct hash {
	uint64_t *keys;
	unsigned char *values;  /* capacity + 1 of them: the last is key 0's */
	size_t capacity;        /* slots, a power of two; 0 until the first put */
	size_t used;            /* slots in use, without key 0 */
	size_t limit;           /* the most that `used` may be */
	size_t value_size;      /* a sizeof, so that every value is aligned */
	uint64_t seed;          /* 0 until it is needed */
	uint8_t shift;          /* 64 - log2(capacity) */
	bool has_zero;
};

/* Makes an empty table. Allocates nothing. */
void hash_init(struct hash *h, size_t value_size);
void hash_fini(struct hash *h);   /* leaves an empty table of the same value size */
void hash_clear(struct hash *h);  /* drops all entries, keeps the memory */
void hash_grow(struct hash *h);   /* for hash_put */
void hash_close_gap(struct hash *h, size_t slot);   /* for hash_erase_slot */

/* Walks all entries in no particular order; *pos is 0 at the start. False at the end. `key` and
 * `value` may be NULL. Nothing may be put or erased during the walk. */
bool hash_next(const struct hash *h, size_t *pos, uint64_t *key, void **value);

/* All keys, the smallest first, for walks whose order is seen. To be freed. */
uint64_t *hash_sorted_keys(const struct hash *h, size_t *count);
/* The same, of the entries that are wanted. A caller that changes the table walks such a copy of the keys. */
uint64_t *hash_sorted_keys_of(const struct hash *h, bool (*is_wanted)(uint64_t key, const void *value, const void *arg),
			      const void *arg, size_t *count);

/* The table's seed, which is not 0. */
uint64_t hash_seed(struct hash *h);

static inline size_t hash_count(const struct hash *h)
{
	return h->used + h->has_zero;
}

/* Mixes all bits of a word into all others: the finalizer of splitmix64 (Steele, Lea and Flood, "Fast splittable
 * pseudorandom number generators", 2014). */
static inline uint64_t hash_mix(uint64_t word)
{
	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ULL;
	word = (word ^ word >> 27) * 0x94d049bb133111ebULL;
	return word ^ word >> 31;
}

/* The home slot of a key: the top bits of the hash. Keys are addresses (low bits 0, strides of powers of two) or pairs
 * of small numbers. */
static inline size_t hash_home(const struct hash *h, uint64_t key)
{
	return hash_mix(key ^ h->seed) >> h->shift;
}

#define HASH_NONE SIZE_MAX

/* The slot of a key; HASH_NONE: the key is not there. */
static inline size_t hash_slot(const struct hash *h, uint64_t key)
{
	if (!key)
		return h->has_zero ? h->capacity : HASH_NONE;
	if (!h->used)
		return HASH_NONE;
	size_t mask = h->capacity - 1, i = hash_home(h, key);

	__builtin_prefetch(h->values + i * h->value_size);
	for (; h->keys[i]; i = (i + 1) & mask)
		if (h->keys[i] == key)
			return i;
	return HASH_NONE;
}

static inline void *hash_value(const struct hash *h, size_t slot)
{
	return h->values + slot * h->value_size;
}

static inline void hash_erase_slot(struct hash *h, size_t slot)
{
	if (slot == h->capacity) {
		h->has_zero = false;
		return;
	}
	h->used--;
	if (h->keys[(slot + 1) & (h->capacity - 1)])
		hash_close_gap(h, slot);
	else
		h->keys[slot] = 0;
}

/* The value of a key; NULL: the key is not there. */
static inline void *hash_get(const struct hash *h, uint64_t key)
{
	size_t slot = hash_slot(h, key);

	return slot == HASH_NONE ? NULL : hash_value(h, slot);
}

/* The value of a key; a new one is all zero. `is_new` may be NULL. */
static inline void *hash_put(struct hash *h, uint64_t key, bool *is_new)
{
	bool fresh = false;

	if (h->used >= h->limit)
		hash_grow(h);
	size_t mask = h->capacity - 1, i = h->capacity;

	if (key) {
		i = hash_home(h, key);
		__builtin_prefetch(h->values + i * h->value_size, 1);
		while (h->keys[i] && h->keys[i] != key)
			i = (i + 1) & mask;
		fresh = !h->keys[i];
		h->keys[i] = key;
		h->used += fresh;
	} else {
		fresh = !h->has_zero;
		h->has_zero = true;
	}
	if (fresh)
		memset(hash_value(h, i), 0, h->value_size);
	if (is_new)
		*is_new = fresh;
	return hash_value(h, i);
}

/* Copies the value of a key out (unless `out` is NULL) and erases the entry. False: the key is not there. */
static inline bool hash_take(struct hash *h, uint64_t key, void *out)
{
	size_t slot = hash_slot(h, key);

	if (slot == HASH_NONE)
		return false;
	if (out)
		memcpy(out, hash_value(h, slot), h->value_size);
	hash_erase_slot(h, slot);
	return true;
}

static inline bool hash_erase(struct hash *h, uint64_t key)
{
	return hash_take(h, key, NULL);
}

/* For keys made of texts and of several fields: a hash (SipHash) that nobody can foresee without the key, which is a
 * seed, or the result for the bytes before. */
uint64_t hash_of_bytes(uint64_t key, const void *bytes, size_t size);

#endif

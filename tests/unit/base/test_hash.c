/* SPDX-License-Identifier: BSD-2-Clause */
/* The hash map: its edges, and long random histories against a model that cannot be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/siphash.h"

struct value {
	uint64_t key;
	uint64_t salt;
	uint32_t extra;
};

static uint64_t rng(uint64_t *state)   /* xorshift64 */
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void empty(void **state)
{
	(void)state;
	struct hash h;
	size_t pos = 0;

	hash_init(&h, sizeof(struct value));
	assert_int_equal(hash_count(&h), 0);
	assert_int_equal(h.capacity, 0);
	assert_null(hash_get(&h, 0));
	assert_null(hash_get(&h, 1));
	assert_false(hash_erase(&h, 0));
	assert_false(hash_erase(&h, 1));
	assert_false(hash_next(&h, &pos, NULL, NULL));
	hash_clear(&h);
	hash_fini(&h);
	hash_fini(&h);
}

static void put_and_take(void **state)
{
	(void)state;
	struct hash h;
	struct value *v, out = { 0 };
	bool is_new = false;

	hash_init(&h, sizeof(struct value));
	v = hash_put(&h, 0x7f0000000000, &is_new);
	assert_true(is_new);
	assert_int_equal(v->key | v->salt | v->extra, 0);
	*v = (struct value){ .key = 7, .salt = 8, .extra = 9 };
	v = hash_put(&h, 0x7f0000000000, &is_new);
	assert_false(is_new);
	assert_int_equal(v->salt, 8);
	assert_int_equal(hash_count(&h), 1);
	assert_true(hash_take(&h, 0x7f0000000000, &out));
	assert_int_equal(out.key, 7);
	assert_int_equal(out.extra, 9);
	assert_false(hash_take(&h, 0x7f0000000000, &out));
	assert_int_equal(hash_count(&h), 0);
	v = hash_put(&h, 0x7f0000000000, &is_new);
	assert_true(is_new);
	assert_int_equal(v->key | v->salt | v->extra, 0);
	hash_fini(&h);
}

static void key_zero(void **state)
{
	(void)state;
	struct hash h;
	struct value *v, out;
	bool is_new = false;
	size_t pos = 0;
	uint64_t key = 5;

	hash_init(&h, sizeof(struct value));
	v = hash_put(&h, 0, &is_new);
	assert_true(is_new);
	v->salt = 42;
	for (uint64_t i = 1; i <= 1000; i++)   /* the table grows several times under it */
		hash_put(&h, i << 21, NULL);
	assert_int_equal(hash_count(&h), 1001);
	v = hash_get(&h, 0);
	assert_non_null(v);
	assert_int_equal(v->salt, 42);
	for (uint64_t i = 1; i <= 1000; i++)
		assert_true(hash_erase(&h, i << 21));
	assert_true(hash_next(&h, &pos, &key, (void **)&v));
	assert_int_equal(key, 0);
	assert_int_equal(v->salt, 42);
	assert_false(hash_next(&h, &pos, &key, (void **)&v));
	assert_true(hash_take(&h, 0, &out));
	assert_int_equal(out.salt, 42);
	assert_null(hash_get(&h, 0));
	v = hash_put(&h, 0, &is_new);
	assert_true(is_new);
	assert_int_equal(v->salt, 0);
	hash_clear(&h);
	assert_int_equal(hash_count(&h), 0);
	assert_null(hash_get(&h, 0));
	hash_fini(&h);
}

static void key_max(void **state)
{
	(void)state;
	struct hash h;

	hash_init(&h, 4);
	*(uint32_t *)hash_put(&h, UINT64_MAX, NULL) = 3;
	assert_int_equal(*(uint32_t *)hash_get(&h, UINT64_MAX), 3);
	assert_true(hash_erase(&h, UINT64_MAX));
	assert_int_equal(hash_count(&h), 0);
	hash_fini(&h);
}

/* The slots that lie between the keys and their homes, in sum. */
static size_t slots_from_home(const struct hash *h)
{
	size_t pos = 0, total = 0;
	uint64_t key;

	while (hash_next(h, &pos, &key, NULL))
		if (key)
			total += (pos - 1 - hash_home(h, key)) & (h->capacity - 1);
	return total;
}

static void check_stride(uint64_t base, uint64_t stride)
{
	struct hash h;

	hash_init(&h, 4);
	for (uint64_t i = 0; i < 6000; i++)
		hash_put(&h, base + i * stride, NULL);
	/* 6000 of 8192: linear probing expects 1.4 slots from home on average (Knuth 6.4) */
	assert_true(slots_from_home(&h) < 2 * h.used);
	hash_fini(&h);
}

/* Strides of real addresses: probes stay short, or the mixing is bad. */
static void strides_spread(void **state)
{
	(void)state;
	for (unsigned int shift = 0; shift <= 32; shift++) {
		check_stride(0, 1ULL << shift);
		check_stride(0x302000000, 1ULL << shift);
		check_stride(0x7f921a000000, 3ULL << shift);
	}
	check_stride(0, 0xf1de83e19937733dULL);   /* times the constant it is 1: undoes one multiplication */
}

/* ---- hostile keys ---- */

static uint64_t undo_shift(uint64_t word, unsigned int bits)
{
	uint64_t found = word;

	for (unsigned int known = bits; known < 64; known += bits)
		found = word ^ found >> bits;
	return found;
}

/* Newton: each step doubles the number of right bits, of which an odd number has three as its own inverse. */
static uint64_t inverse_of(uint64_t odd)
{
	uint64_t inverse = odd;

	for (int i = 0; i < 5; i++)
		inverse *= 2 - odd * inverse;
	return inverse;
}

/* The key that hash_mix() makes this word of. */
static uint64_t unmix(uint64_t word)
{
	word = undo_shift(word, 31) * inverse_of(0x94d049bb133111ebULL);
	word = undo_shift(word, 27) * inverse_of(0xbf58476d1ce4e5b9ULL);
	return undo_shift(word, 30);
}

/* Keys that would all have one home if there were no seed. */
static void chosen_keys_spread(void **state)
{
	(void)state;
	struct hash h, unseeded;

	hash_init(&h, 4);
	for (uint64_t i = 1; i <= 6000; i++) {
		assert_int_equal(hash_mix(unmix(i)), i);
		hash_put(&h, unmix(i), NULL);
	}
	unseeded = h;
	unseeded.seed = 0;
	for (uint64_t i = 1; i <= 6000; i++)
		assert_int_equal(hash_home(&unseeded, unmix(i)), 0);
	assert_true(slots_from_home(&h) < 2 * h.used);
	hash_fini(&h);
}

static void seeds_differ(void **state)
{
	(void)state;
	struct hash a, b;

	hash_init(&a, 4);
	hash_init(&b, 4);
	hash_put(&a, 1, NULL);
	hash_put(&b, 1, NULL);
	assert_true(a.seed && b.seed && a.seed != b.seed);
	assert_int_equal(hash_seed(&a), a.seed);
	assert_int_not_equal(hash_of_bytes(hash_seed(&a), "name", 4), hash_of_bytes(hash_seed(&b), "name", 4));
	hash_fini(&a);
	hash_fini(&b);
}

/* Appendix A of the paper. */
static void sip_of_the_paper(void **state)
{
	(void)state;
	const uint64_t key[2] = { 0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL };
	unsigned char bytes[15];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)i;
	assert_int_equal(siphash(key, bytes, sizeof(bytes)), 0xa129ca6149be45e5ULL);
}

static bool is_multiple(uint64_t key, const void *value, const void *arg)
{
	(void)value;
	return (key >> 40) % *(const uint64_t *)arg == 0;
}

static void keys_in_order(void **state)
{
	(void)state;
	struct hash h;
	const uint64_t seven = 7;
	size_t count = 9;
	uint64_t *keys;

	hash_init(&h, 4);
	keys = hash_sorted_keys(&h, &count);
	assert_int_equal(count, 0);
	free(keys);
	for (uint64_t i = 1000; i--;)
		hash_put(&h, i << 40, NULL);
	keys = hash_sorted_keys(&h, &count);
	assert_int_equal(count, 1000);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(keys[i], (uint64_t)i << 40);
	free(keys);
	keys = hash_sorted_keys_of(&h, is_multiple, &seven, &count);
	assert_int_equal(count, 143);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(keys[i], (uint64_t)i * seven << 40);
	free(keys);
	hash_fini(&h);
}

/* The table keeps its size when entries come and go: no tombstones. */
static void churn_does_not_grow(void **state)
{
	(void)state;
	struct hash h;
	size_t capacity;

	hash_init(&h, sizeof(struct value));
	for (uint64_t i = 0; i < 1000; i++)
		hash_put(&h, i << 9, NULL);
	capacity = h.capacity;
	for (uint64_t i = 1000; i < 200000; i++) {
		assert_true(hash_erase(&h, (i - 1000) << 9));
		hash_put(&h, i << 9, NULL);
	}
	assert_int_equal(hash_count(&h), 1000);
	assert_int_equal(h.capacity, capacity);
	hash_fini(&h);
}

#define MODEL_KEYS 512

static uint64_t model_key(unsigned int family, uint64_t i)
{
	switch (family) {
	case 0:
		return i;                         /* small numbers, 0 among them */
	case 1:
		return i << 21;                   /* 2 MiB apart */
	case 2:
		return (0xc1d00000ULL + i % 3) << 32 | (0x5c000000 + i); /* (client, handle) */
	default:
		return (i + 1) * 0xd1342543de82ef95ULL;
	}
}

static void check_walk(const struct hash *h, const bool *live, const uint64_t *salt, unsigned int family)
{
	size_t pos = 0, seen = 0, expected = 0;
	struct value *v;
	uint64_t key;

	while (hash_next(h, &pos, &key, (void **)&v)) {
		size_t i = v->extra;

		assert_true(i < MODEL_KEYS && live[i]);
		assert_int_equal(key, model_key(family, i));
		assert_int_equal(v->salt, salt[i]);
		seen++;
	}
	for (size_t i = 0; i < MODEL_KEYS; i++)
		expected += live[i];
	assert_int_equal(seen, expected);
	assert_int_equal(hash_count(h), expected);
}

static void random_history(unsigned int family, uint64_t seed)
{
	bool live[MODEL_KEYS] = { 0 };
	uint64_t salt[MODEL_KEYS] = { 0 }, state = seed;
	struct hash h;

	hash_init(&h, sizeof(struct value));
	for (int step = 0; step < 60000; step++) {
		uint64_t r = rng(&state);
		size_t i = (r >> 8) % MODEL_KEYS;
		uint64_t key = model_key(family, i);
		/* fill and drain in turns: both the full and the nearly empty table are visited */
		bool put = (r & 0xff) < ((step / 4000) & 1 ? 90 : 170);
		struct value *v = hash_get(&h, key), out = { 0 };
		bool is_new;

		assert_int_equal(!!v, live[i]);
		if (v)
			assert_int_equal(v->salt, salt[i]);
		if (put) {
			v = hash_put(&h, key, &is_new);
			assert_int_equal(is_new, !live[i]);
			*v = (struct value){ .key = key, .salt = salt[i] = r, .extra = i };
			live[i] = true;
		} else {
			assert_int_equal(hash_take(&h, key, &out), live[i]);
			if (live[i])
				assert_int_equal(out.salt, salt[i]);
			live[i] = false;
		}
		if (step % 997 == 0)
			check_walk(&h, live, salt, family);
	}
	check_walk(&h, live, salt, family);
	hash_fini(&h);
}

static void against_model(void **state)
{
	(void)state;
	for (unsigned int family = 0; family < 4; family++)
		for (uint64_t seed = 1; seed <= 4; seed++)
			random_history(family, seed * 0x9e3779b97f4a7c15ULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty),
		cmocka_unit_test(put_and_take),
		cmocka_unit_test(key_zero),
		cmocka_unit_test(key_max),
		cmocka_unit_test(strides_spread),
		cmocka_unit_test(chosen_keys_spread),
		cmocka_unit_test(seeds_differ),
		cmocka_unit_test(sip_of_the_paper),
		cmocka_unit_test(keys_in_order),
		cmocka_unit_test(churn_does_not_grow),
		cmocka_unit_test(against_model),
	};

	return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}

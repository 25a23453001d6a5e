/* SPDX-License-Identifier: BSD-2-Clause */
/* The range map: its edges, and random histories against an array with one cell per address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rangemap.h"

static uint64_t rng(uint64_t *state)   /* xorshift64 */
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static bool put(struct rangemap *map, uint64_t base, uint64_t length, uint64_t value)
{
	struct range range = { .base = base, .length = length, .value = value };

	return rangemap_insert(map, &range);
}

static uint64_t value_at(const struct rangemap *map, uint64_t address)
{
	const struct range *range = rangemap_find(map, address);

	return range ? range->value : 0;
}

static void empty(void **state)
{
	(void)state;
	struct rangemap map;
	struct range piece;

	rangemap_init(&map);
	assert_null(rangemap_find(&map, 0));
	assert_null(rangemap_at(&map, 0));
	assert_null(rangemap_from(&map, 0));
	assert_false(rangemap_remove(&map, 0, NULL));
	assert_false(rangemap_cut(&map, 0, UINT64_MAX, &piece));
	rangemap_fini(&map);
	rangemap_fini(&map);
}

static void bounds(void **state)
{
	(void)state;
	struct rangemap map;
	struct range out;

	rangemap_init(&map);
	assert_true(put(&map, 0x2000, 0x1000, 7));
	assert_int_equal(value_at(&map, 0x1fff), 0);
	assert_int_equal(value_at(&map, 0x2000), 7);
	assert_int_equal(value_at(&map, 0x2fff), 7);
	assert_int_equal(value_at(&map, 0x3000), 0);
	assert_null(rangemap_at(&map, 0x2001));
	assert_non_null(rangemap_at(&map, 0x2000));
	assert_true(put(&map, 0x3000, 0x1000, 8));   /* neighbours touch */
	assert_true(put(&map, 0x1000, 0x1000, 6));
	assert_int_equal(value_at(&map, 0x2fff), 7);
	assert_int_equal(value_at(&map, 0x3000), 8);
	assert_int_equal(rangemap_from(&map, 0)->value, 6);
	assert_int_equal(rangemap_from(&map, 0x2fff)->value, 7);
	assert_null(rangemap_from(&map, 0x4000));
	assert_false(rangemap_remove(&map, 0x2001, &out));
	assert_true(rangemap_remove(&map, 0x2000, &out));
	assert_int_equal(out.value, 7);
	assert_int_equal(map.count, 2);
	rangemap_fini(&map);
}

static void refuses(void **state)
{
	(void)state;
	struct rangemap map;

	rangemap_init(&map);
	assert_true(put(&map, 0x2000, 0x1000, 7));
	assert_false(put(&map, 0x5000, 0, 1));
	assert_false(put(&map, 0x2000, 0x1000, 1));
	assert_false(put(&map, 0x2fff, 1, 1));
	assert_false(put(&map, 0x1000, 0x1001, 1));
	assert_false(put(&map, 0x1000, 0x9000, 1));
	assert_false(put(&map, UINT64_MAX, 2, 1));
	assert_false(put(&map, 0x8000, UINT64_MAX, 1));
	assert_int_equal(map.count, 1);
	assert_true(put(&map, UINT64_MAX - 0xfff, 0x1000, 9));   /* up to the very end */
	assert_int_equal(value_at(&map, UINT64_MAX), 9);
	assert_false(put(&map, UINT64_MAX, 1, 1));
	rangemap_fini(&map);
}

static void cut_splits(void **state)
{
	(void)state;
	struct rangemap map;
	struct range range = { .base = 0x10000, .length = 0x10000, .offset = 0x100, .value = 3, .gpu = 2 };
	struct range piece;

	rangemap_init(&map);
	assert_true(rangemap_insert(&map, &range));
	assert_false(rangemap_cut(&map, 0x14000, 0, &piece));
	assert_true(rangemap_cut(&map, 0x14000, 0x4000, &piece));
	assert_int_equal(piece.base, 0x14000);
	assert_int_equal(piece.length, 0x4000);
	assert_int_equal(piece.offset, 0x4100);
	assert_int_equal(piece.value, 3);
	assert_false(rangemap_cut(&map, 0x14000, 0x4000, &piece));
	assert_int_equal(rangemap_at(&map, 0x10000)->length, 0x4000);
	assert_int_equal(rangemap_at(&map, 0x10000)->offset, 0x100);
	assert_int_equal(rangemap_at(&map, 0x18000)->length, 0x8000);
	assert_int_equal(rangemap_at(&map, 0x18000)->offset, 0x8100);
	assert_int_equal(rangemap_at(&map, 0x18000)->gpu, 2);
	assert_int_equal(map.count, 2);
	rangemap_fini(&map);
}

/* cuMemUnmap of a whole reservation: many mappings in one window, the outer ones cut. */
static void cut_many(void **state)
{
	(void)state;
	struct rangemap map;
	struct range piece;
	uint64_t bytes = 0;
	size_t pieces = 0;

	rangemap_init(&map);
	for (uint64_t i = 0; i < 8000; i++)
		assert_true(put(&map, (i * 4801 % 8000) << 21, 1 << 21, i + 1));   /* 4801: coprime to 8000 */
	assert_int_equal(map.count, 8000);
	for (; rangemap_cut(&map, 0x100000, (7000ULL << 21), &piece); pieces++)
		bytes += piece.length;
	assert_int_equal(pieces, 7001);
	assert_int_equal(bytes, 7000ULL << 21);
	assert_int_equal(map.count, 1001);
	assert_int_equal(rangemap_at(&map, 0)->length, 0x100000);
	assert_int_equal(rangemap_at(&map, (7000ULL << 21) + 0x100000)->length, 0x100000);
	while (rangemap_cut(&map, 0x80000, UINT64_MAX, NULL))   /* the window ends with the address space */
		;
	assert_int_equal(map.count, 1);
	assert_int_equal(rangemap_at(&map, 0)->length, 0x80000);
	rangemap_fini(&map);
}

/* Chunks that empty are given back, those that thin out are merged. */
static void memory_follows_count(void **state)
{
	(void)state;
	struct rangemap map;
	size_t full;

	rangemap_init(&map);
	for (uint64_t i = 0; i < 64000; i++)
		assert_true(put(&map, i << 21, 1 << 21, 1));
	full = map.chunks;
	assert_true(full < 64000 / RANGEMAP_CHUNK * 5 / 4);   /* ascending order fills chunks */
	for (uint64_t i = 0; i < 64000; i++)
		if (i % 64)
			assert_true(rangemap_remove(&map, i << 21, NULL));
	assert_int_equal(map.count, 1000);
	assert_true(map.chunks < full / 8);
	rangemap_fini(&map);
}

#define CELLS 2048

/* One cell per address: the id of the range there and the offset it shows. */
struct model {
	uint64_t id[CELLS];
	uint64_t offset[CELLS];
	uint64_t start[CELLS];   /* base of the piece */
};

static void compare(const struct rangemap *map, const struct model *model)
{
	uint64_t runs = 0;

	for (uint64_t a = 0; a < CELLS; a++) {
		const struct range *range = rangemap_find(map, a);

		assert_int_equal(range ? range->value : 0, model->id[a]);
		if (!range)
			continue;
		assert_int_equal(range->base, model->start[a]);
		assert_int_equal(range->offset + (a - range->base), model->offset[a]);
		runs += range->base == a;
	}
	assert_int_equal(runs, map->count);
}

static void model_put(struct rangemap *map, struct model *model, uint64_t base, uint64_t length, uint64_t id)
{
	struct range range = { .base = base, .length = length, .offset = id * 4096, .value = id };
	bool room = length > 0;

	for (uint64_t a = base; a < base + length; a++)
		room &= !model->id[a];
	assert_int_equal(rangemap_insert(map, &range), room);
	for (uint64_t a = base; room && a < base + length; a++) {
		model->id[a] = id;
		model->offset[a] = range.offset + (a - base);
		model->start[a] = base;
	}
}

static void model_cut(struct rangemap *map, struct model *model, uint64_t base, uint64_t length)
{
	struct range piece;
	uint64_t at = base;

	if (!length) {
		assert_false(rangemap_cut(map, base, 0, &piece));
		return;
	}
	while (rangemap_cut(map, base, length, &piece)) {
		for (; at < piece.base; at++)   /* pieces come in order, with nothing between them */
			assert_int_equal(model->id[at], 0);
		for (; at < piece.base + piece.length; at++) {
			assert_int_equal(model->id[at], piece.value);
			assert_int_equal(model->offset[at], piece.offset + (at - piece.base));
			model->id[at] = 0;
		}
	}
	for (; at < base + length; at++)
		assert_int_equal(model->id[at], 0);
	for (uint64_t a = base + length, old = a < CELLS ? model->start[a] : 0; a < CELLS; a++) {
		if (!model->id[a] || model->start[a] != old || old >= base + length)
			break;
		model->start[a] = base + length;   /* the right piece begins anew */
	}
}

static void model_remove(struct rangemap *map, struct model *model, uint64_t base)
{
	bool there = model->id[base] && model->start[base] == base;
	struct range out;

	assert_int_equal(!!rangemap_at(map, base), there);
	assert_int_equal(rangemap_remove(map, base, &out), there);
	for (uint64_t a = base; there && a < base + out.length; a++) {
		assert_int_equal(model->id[a], out.value);
		model->id[a] = 0;
	}
}

static void random_history(uint64_t seed, uint64_t longest)
{
	static struct model model;
	struct rangemap map;
	uint64_t state = seed;

	memset(&model, 0, sizeof(model));
	rangemap_init(&map);
	for (uint64_t step = 1; step <= 20000; step++) {
		uint64_t base = rng(&state) % CELLS, length = rng(&state) % longest;
		unsigned int what = rng(&state) % 100;
		/* fill and drain in turns */
		unsigned int puts = (step / 4000) & 1 ? 30 : 80;

		if (length > CELLS - base)
			length = CELLS - base;
		if (what < puts)
			model_put(&map, &model, base, length, step);
		else if (what < puts + 8)
			model_cut(&map, &model, base, length * 4 <= CELLS - base ? length * 4 : length);
		else
			model_remove(&map, &model, base);
		if (step % 199 == 0)
			compare(&map, &model);
	}
	compare(&map, &model);
	rangemap_fini(&map);
}

static void against_model(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		random_history(seed * 0x9e3779b97f4a7c15ULL, 3);    /* many short: chunks split and merge */
		random_history(seed * 0x9e3779b97f4a7c15ULL, 40);   /* few long: pieces are cut */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty),
		cmocka_unit_test(bounds),
		cmocka_unit_test(refuses),
		cmocka_unit_test(cut_splits),
		cmocka_unit_test(cut_many),
		cmocka_unit_test(memory_follows_count),
		cmocka_unit_test(against_model),
	};

	return cmocka_run_group_tests_name("rangemap", tests, NULL, NULL);
}

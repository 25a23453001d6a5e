// SPDX-License-Identifier: BSD-2-Clause
/* Libraries without probes are forgotten once they are many; a probed library never is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "records.h"

#include "core/ledger/ledger_state.h"

#define MANY 1000

static int scene(void **state)
{
	static struct records r;

	records_init(&r);
	*state = &r;
	return 0;
}

static void probe(struct records *r, uint64_t ino)
{
	struct gmt_library rec = { .dev = 7, .ino = ino, .probes = 159 };

	snprintf((char *)rec.path, sizeof(rec.path), "/lib/%llu", (unsigned long long)ino);
	records_apply(r, &rec, GMT_KIND_LIBRARY, sizeof(rec));
	assert_int_equal(r->result, 0);
}

static void drop(struct records *r, uint64_t ino)
{
	struct gmt_library_gone rec = { .dev = 7, .ino = ino };

	records_apply(r, &rec, GMT_KIND_LIBRARY_GONE, sizeof(rec));
	assert_int_equal(r->result, 0);
}

/* The inodes of the libraries that a view has. */
static size_t shown(const struct records *r, uint64_t *inodes, size_t most, uint64_t *forgotten)
{
	struct view view;

	view_build(r->pipeline, NULL, &view);
	assert_true(view.library_count <= most);
	for (size_t i = 0; i < view.library_count; i++)
		inodes[i] = view.libraries[i].ino;
	most = view.library_count;
	*forgotten = view.libraries_forgotten;
	view_free(&view);
	return most;
}

static void the_newest_of_the_dropped_stay(void **state)
{
	uint64_t inodes[LIBRARIES_GONE + 2], forgotten;
	struct records *r = *state;

	probe(r, 1);
	for (uint64_t ino = 10; ino < 10 + MANY; ino++) {
		probe(r, ino);
		drop(r, ino);
		assert_true(r->ledger->libraries.count <= 2 * (LIBRARIES_GONE + 2) + 1);
	}
	probe(r, 2);
	assert_int_equal(shown(r, inodes, LIBRARIES_GONE + 2, &forgotten), LIBRARIES_GONE + 2);
	assert_int_equal(forgotten, MANY - LIBRARIES_GONE);
	assert_int_equal(inodes[0], 1);
	for (uint64_t i = 0; i < LIBRARIES_GONE; i++)
		assert_int_equal(inodes[1 + i], 10 + MANY - LIBRARIES_GONE + i);
	assert_int_equal(inodes[1 + LIBRARIES_GONE], 2);
}

/* A library that is probed again is one library, and has probes. */
static void one_that_comes_back_is_listed_once(void **state)
{
	uint64_t inodes[LIBRARIES_GONE + 1], forgotten;
	struct records *r = *state;

	for (int i = 0; i < MANY; i++) {
		probe(r, 1);
		drop(r, 1);
	}
	assert_int_equal(shown(r, inodes, 1, &forgotten), 1);
	assert_int_equal(forgotten, 0);
	probe(r, 1);
	for (uint64_t ino = 10; ino < 10 + MANY; ino++) {
		probe(r, ino);
		drop(r, ino);
		drop(r, ino);
	}
	drop(r, 9);         /* was never probed */
	assert_int_equal(shown(r, inodes, LIBRARIES_GONE + 1, &forgotten), LIBRARIES_GONE + 1);
	assert_int_equal(inodes[0], 1);
}

static void there_is_a_bound(void **state)
{
	struct records *r = *state;
	uint64_t *inodes = calloc(LIBRARIES_MAX, sizeof(*inodes)), forgotten;

	for (uint64_t ino = 1; ino <= LIBRARIES_MAX + 5; ino++)
		probe(r, ino);
	assert_int_equal(shown(r, inodes, LIBRARIES_MAX, &forgotten), LIBRARIES_MAX);
	assert_int_equal(forgotten, 5);
	free(inodes);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, scene, records_end_scene)
	const struct CMUnitTest tests[] = {
		CASE(the_newest_of_the_dropped_stay), CASE(one_that_comes_back_is_listed_once), CASE(there_is_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

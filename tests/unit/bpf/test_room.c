// SPDX-License-Identifier: BSD-2-Clause
/* The memory that depends on the machine, for all sizes of pages and numbers of CPUs: rings of mappings, and states of
 * walks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <gpumemtrace/config.h>
#include <gpumemtrace/stackmap.h>

#include "live/bpf/rodata.h"
#include "live/probe/mmap_watch.h"

#define KIB 1024ULL
#define MIB (1024 * KIB)
#define WALK_BYTES (28 * KIB)   /* stackmap.h: GMT_STACK_WALKS_PER_CPU */
#define CPUS_MOST 512

static const uint64_t pages[] = { 4 * KIB, 16 * KIB, 64 * KIB };
#define PAGES (sizeof(pages) / sizeof(pages[0]))

/* A ring holds the same number of mappings with all pages. */
static void rings(void **state)
{
	(void)state;
	for (size_t i = 0; i < PAGES; i++)
		for (uint32_t cpus = 1; cpus <= CPUS_MOST; cpus++)
			assert_int_equal(watch_bytes(pages[i], cpus), cpus * (64 * KIB + pages[i]));
	assert_int_equal(watch_bytes(256 * KIB, 1), 512 * KIB); /* no machine has such pages: a page for the data */
}

static void walks(void **state)
{
	const struct gmt_config full = { .stack_mode = GMT_STACKS_FULL }, off = { .stack_mode = GMT_STACKS_OFF };

	(void)state;
	for (uint32_t cpus = 1; cpus <= CPUS_MOST; cpus++) {
		uint32_t wanted = cpus < 16 ? 64 : 4 * cpus;

		assert_int_equal(rodata_walks(&full, cpus), wanted);
		assert_int_equal(rodata_walks(&off, cpus), 1);
	}
}

/* The man page says it of Grace, which has 72 CPUs; 240 KiB for each CPU are the most. */
static void together(void **state)
{
	const struct gmt_config full = { .stack_mode = GMT_STACKS_FULL };

	(void)state;
	for (size_t i = 0; i < PAGES; i++) {
		for (uint32_t cpus = 1; cpus <= CPUS_MOST; cpus++) {
			uint64_t all = watch_bytes(pages[i], cpus) + rodata_walks(&full, cpus) * WALK_BYTES;

			assert_true(all <= (cpus < 16 ? 16 : cpus) * 240 * KIB);
			assert_true(cpus > 72 || all <= 17 * MIB);
		}
	}
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(rings), TEST(walks), TEST(together) };

	return cmocka_run_group_tests_name("room", tests, NULL, NULL);
}

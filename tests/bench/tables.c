// SPDX-License-Identifier: BSD-2-Clause
/*
 * Measures what unwinding tables need for given files: rows, memory, time to build them, time to read them from the
 * cache. The files' pages are in memory.
 *
 *   tables CACHE FILE...     CACHE: a directory, made if need be
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "symbol/elf/image.h"
#include "symbol/unwind/table_cache.h"
#include "symbol/unwind/unwind_table.h"

struct line {
	double rows, mib, build_ms, load_ms;
};

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

static void print(const char *name, const struct line *line)
{
	printf("  %-34s %10.0f %8.1f %8.1f %8.1f %8.0f\n", name, line->rows, line->mib, line->build_ms, line->load_ms,
	       line->build_ms * 1e6 / (line->rows + 1));
}

static double build(const struct image *image, struct unwind_table *table)
{
	double start = now_ms();

	return unwind_table_build(image, table) ? -1 : now_ms() - start;
}

/* The key is made anew each time, as in a session. */
static double load(struct table_cache *cache, const struct image *image)
{
	struct unwind_table table = { 0 };
	double start = now_ms(), took;
	struct table_key key;

	took = table_key_of(image, 0, &key) || table_cache_load(cache, &key, &table) ? 0 : now_ms() - start;
	unwind_table_fini(&table);
	return took;
}

/* The quicker of two each: what else runs on the machine only ever adds. */
static int measure(struct table_cache *cache, const char *path, struct line *line)
{
	struct table_key key;
	struct image image;
	double again;
	int err = image_open(&image, open(path, O_RDONLY | O_CLOEXEC));

	if (err)
		return err;
	for (int i = 0; i < 2 && !err; i++) {
		struct unwind_table table = { 0 };
		double took = build(&image, &table);

		err = took < 0 ? -EINVAL : 0;
		if (!i || took < line->build_ms)
			line->build_ms = took;
		line->rows = table.rows;
		line->mib = (double)unwind_table_bytes(&table) / (1 << 20);
		if (!i && !err && !table_key_of(&image, 0, &key))
			table_cache_store(cache, &key, &table);
		unwind_table_fini(&table);
	}
	line->load_ms = load(cache, &image);
	again = load(cache, &image);
	if (again < line->load_ms)
		line->load_ms = again;
	image_close(&image);
	return err;
}

int main(int argc, char **argv)
{
	struct table_cache cache = { .dir = -1 };
	struct line sum = { 0 };

	if (argc < 3 || table_cache_open(&cache, argv[1])) {
		fprintf(stderr, "usage: tables CACHE FILE...\n");
		return 1;
	}
	printf("  %-34s %10s %8s %8s %8s %8s\n", "", "rows", "MiB", "built ms", "read ms", "ns a row");
	for (int i = 2; i < argc; i++) {
		const char *name = strrchr(argv[i], '/');
		struct line line = { 0 };

		if (measure(&cache, argv[i], &line)) {
			printf("  %-34s no table\n", name ? name + 1 : argv[i]);
			continue;
		}
		print(name ? name + 1 : argv[i], &line);
		sum.rows += line.rows;
		sum.mib += line.mib;
		sum.build_ms += line.build_ms;
		sum.load_ms += line.load_ms;
	}
	print("together", &sum);
	table_cache_close(&cache);
	return 0;
}

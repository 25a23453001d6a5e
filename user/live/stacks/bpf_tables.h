/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The unwinding tables that BPF has: one for each module, however many processes map the module. Tables lie one behind
 * the other in maps of 8 MiB that are made as needed, and are never removed: a machine has a limited number of
 * libraries. For one thread only.
 */
#ifndef GPUMEMTRACE_LIVE_STACKS_BPF_TABLES_H
#define GPUMEMTRACE_LIVE_STACKS_BPF_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/types.h>

struct image;
struct parse_client;
struct publisher;
struct source_file;
struct tables;

/* Where a module's table lies: gmt_unwind_mapping.slot and .pages. */
struct table {
	uint32_t slot, pages;
};

/* The marks in a module's table. */
enum table_kind {
	TABLE_PLAIN,                  /* nothing */
	TABLE_PYTHON,                 /* CPython's eval function and CPython, if it has them */
	TABLE_LIBC,                   /* all of it is the C library */
	TABLE_SWITCHER,               /* the roots of stacks that the library switches */
};

struct tables_stats {
	uint32_t modules, failed;     /* failed: no table could be made, or there is no more room */
	uint64_t rows, bytes;
	uint64_t map_bytes;           /* of the maps inside maps, which have no descriptor of ours (map_publisher.h) */
	uint64_t build_ns;            /* time spent in building and reading */
	uint32_t cache_hits, cache_misses;
	uint32_t unreadable;          /* processes whose files may not be opened (stack_worker.h) */
	uint32_t cut;                 /* processes with more mappings than are used (stack_worker.h) */
	uint64_t cut_stacks;          /* stacks whose copies were not kept (copies.h) */
	int refusal;                  /* -errno: the kernel refused a map (publisher_refusal()) */
};

/* `publisher` and `client`, which reads the files, outlive it. `cache`: a directory for tables, NULL for none. */
struct tables *tables_new(struct publisher *publisher, struct parse_client *client, const char *cache);
void tables_free(struct tables *tables);

/* The file's table of this kind, and what its headers say, if the file was read before. 0; -ENOENT: it was not; else
 * the error of the reading. */
int tables_find(const struct tables *tables, const struct source_file *file, enum table_kind kind,
		struct image *shape, struct table *table);

/* Reads the file, and makes a table, which takes up to a second for a large library that is not in the cache. 0;
 * -ENOSPC: no more room; else as table_ask_facts() and table_ask_table(). After an error the file is not tried again,
 * unless the reason passes (parse_may_pass(), -ECANCELED): the answer stays. */
int tables_build(struct tables *tables, const struct source_file *file, enum table_kind kind, struct image *shape,
		 struct table *table);

/* A word of the tables, as BPF sees it; NULL: there is none. */
const __u64 *tables_word(void *tables, uint32_t slot);

void tables_stats(const struct tables *tables, struct tables_stats *stats);

#endif

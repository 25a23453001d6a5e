/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwinding tables on disk, by build id, so that a module is parsed once on a machine. A table is
 * believed only if the file is whole and the module still looks as it did: build id, size of the file
 * and place of its .eh_frame. Anything else is as if it were not there, and is replaced.
 *
 * The directory must belong to the user and to nobody else (0700): who can write to it can make stacks
 * lie. Files are replaced by renaming, so two collectors may share it.
 */
#ifndef GPUMEMTRACE_SYMBOL_UNWIND_TABLE_CACHE_H
#define GPUMEMTRACE_SYMBOL_UNWIND_TABLE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct image;
struct unwind_table;

struct table_cache {
	int dir;                 /* -1: there is none, every table is built */
	uint32_t hits, misses, damaged, written;
};

/* Makes the directory (the last part of the path) if need be. 0; -EPERM: it is not private; else
 * -errno. After an error the cache may be used: it is empty and takes nothing. */
int table_cache_open(struct table_cache *cache, const char *path);
void table_cache_close(struct table_cache *cache);

/* The table of a module, from the cache or built and put there. As unwind_table_build(). */
int table_cache_get(struct table_cache *cache, const struct image *image, struct unwind_table *table);

/* The two halves. 0; -ENOENT: not there (or the module has no build id); -EBADMSG: damaged. */
int table_cache_load(struct table_cache *cache, const struct image *image, struct unwind_table *table);
int table_cache_store(struct table_cache *cache, const struct image *image, const struct unwind_table *table);

/* Removes the tables that were not used for longest until the rest has at most `bytes`. */
int table_cache_trim(struct table_cache *cache, uint64_t bytes);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps unwinding tables on disk, by build id, so that a module is parsed once on a machine. A table counts only if its
 * file is whole and the module has the same build id, size and place of its .eh_frame. Any other file is replaced.
 *
 * The directory must belong to the user alone (0700): whoever can write to it can falsify stacks. Files are
 * replaced by renaming, so two collectors may share the directory.
 */
#ifndef GPUMEMTRACE_SYMBOL_UNWIND_TABLE_CACHE_H
#define GPUMEMTRACE_SYMBOL_UNWIND_TABLE_CACHE_H

#include <stdint.h>

struct image;
struct unwind_table;

struct table_cache {
	int dir;                 /* -1: there is none, and every table is built */
	uint32_t hits, misses, damaged, written;
};

/* Makes the directory (the last part of the path) if need be. 0; -EPERM: others can use it; else -errno. After an
 * error the cache may be used: it is empty and stores nothing. */
int table_cache_open(struct table_cache *cache, const char *path);
void table_cache_close(struct table_cache *cache);

/* Takes a module's table from the cache, or builds and stores the table. Returns as unwind_table_build(). */
int table_cache_get(struct table_cache *cache, const struct image *image, struct unwind_table *table);

/* The two halves of table_cache_get(). 0; -ENOENT: no table (or a module without build id); -EBADMSG: damaged. */
int table_cache_load(struct table_cache *cache, const struct image *image, struct unwind_table *table);
int table_cache_store(struct table_cache *cache, const struct image *image, const struct unwind_table *table);

/* Removes the least recently used tables until the rest has at most `bytes`. */
int table_cache_trim(struct table_cache *cache, uint64_t bytes);

#endif

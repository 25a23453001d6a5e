/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps unwinding tables on disk, so that a module is parsed once on a machine. A table counts only if its file is
 * whole and was made for the same key: the same owner of the module, and the same call frame information. So a module
 * with the build id of another module gets a table of its own.
 *
 * The directory must belong to the user alone (0700): whoever can write to it can falsify stacks. Files are
 * replaced by renaming, so two collectors may share the directory.
 */
#ifndef GPUMEMTRACE_SYMBOL_UNWIND_TABLE_CACHE_H
#define GPUMEMTRACE_SYMBOL_UNWIND_TABLE_CACHE_H

#include <stdint.h>

#include "symbol/elf/image.h"

struct unwind_table;

#define TABLE_KEY_HASH 32        /* bytes */

/* All that a table depends on. Two modules of equal keys have the same table. */
struct table_key {
	char build_id[IMAGE_BUILD_ID_CHARS + 7];
	uint8_t hash[TABLE_KEY_HASH]; /* BLAKE2b of the .eh_frame; arm64: and of bare_code.h's code */
	uint8_t shape[TABLE_KEY_HASH]; /* ... and of the segments, which tables are cut to */
	uint64_t file_size;      /* of the module */
	uint64_t eh_frame, eh_frame_size; /* vaddr and bytes; 0: there is none */
	uint64_t base, end;      /* of the code: unwind_code_range() */
	uint32_t machine;
	uint32_t owner;          /* uid: whoever writes the file may have falsified what was read of it */
};

/* Reads the .eh_frame. 0; -ENOEXEC, -E2BIG, -ERANGE: as unwind_table_build(). */
int table_key_of(const struct image *image, uint32_t owner, struct table_key *key);

struct table_cache {
	int dir;                 /* -1: there is none, and every table is built */
	uint32_t hits, misses, damaged, written;
};

/* Makes the directory (the last part of the path) if need be. 0; -EPERM: others can use it; else -errno. After an
 * error the cache may be used: it is empty and stores nothing. */
int table_cache_open(struct table_cache *cache, const char *path);
void table_cache_close(struct table_cache *cache);

/* Loads counts hits, misses and damaged tables, stores count what was written. 0; -ENOENT: no table (or a module
 * without build id); -EBADMSG: damaged, or of another key; else -errno. */
int table_cache_load(struct table_cache *cache, const struct table_key *key, struct unwind_table *table);
int table_cache_store(struct table_cache *cache, const struct table_key *key, const struct unwind_table *table);

/* Removes the least recently used tables until the rest has at most `bytes`. */
int table_cache_trim(struct table_cache *cache, uint64_t bytes);

#endif

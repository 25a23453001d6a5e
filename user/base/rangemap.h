/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An ordered map of address ranges that do not overlap, each with what is mapped there.
 *
 * The ranges lie sorted in chunks of up to RANGEMAP_CHUNK, the chunks in a sorted index: two binary
 * searches find an address, an insertion moves one chunk at most. PyTorch's expandable segments map
 * thousands of 20 MiB pieces, in any order. The one invariant: no chunk is empty, and index[i].first
 * is the base of its chunk's first range.
 */
#ifndef GPUMEMTRACE_BASE_RANGEMAP_H
#define GPUMEMTRACE_BASE_RANGEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANGEMAP_CHUNK 64

/* [base, base + length) shows the thing that `value` names, from `offset` on. value, gpu and aux are the caller's. When
 * a range is cut, the right piece gets a larger offset. */
struct range {
	uint64_t base;
	uint64_t length;
	uint64_t offset;
	uint64_t value;
	int32_t gpu;
	uint32_t aux;
};

struct rangemap_chunk;
struct rangemap_entry {
	uint64_t first;
	struct rangemap_chunk *chunk;
};

struct rangemap {
	struct rangemap_entry *index;
	size_t chunks, capacity;
	size_t count;            /* ranges */
};

void rangemap_init(struct rangemap *map);
void rangemap_fini(struct rangemap *map);

/* Adds a range. False: nothing has changed, because the range is empty, passes the end of the address space, or
 * overlaps another range (rangemap_cut() makes room). */
bool rangemap_insert(struct rangemap *map, const struct range *range);

/* The range that holds the address; the range that begins at the address; the first range that ends behind the address.
 * NULL: there is none. Good until the next change. */
const struct range *rangemap_find(const struct rangemap *map, uint64_t address);
const struct range *rangemap_at(const struct rangemap *map, uint64_t base);
const struct range *rangemap_from(const struct rangemap *map, uint64_t address);

/* Walks all ranges by address: the next range behind `pos`, which is {0} at the start. NULL at the end. Nothing may be
 * changed during the walk. */
struct rangemap_pos {
	size_t chunk, slot;
};
const struct range *rangemap_next(const struct rangemap *map, struct rangemap_pos *pos);

/* Removes the range that begins at base. `out` may be NULL. */
bool rangemap_remove(struct rangemap *map, uint64_t base, struct range *out);

/* Takes the first piece of a range out of [base, base + length); the parts of the range outside stay. False: nothing is
 * left there. Callers repeat the call until it returns false. `piece` may be NULL. A window that passes the end of the
 * address space is cut at that end. */
bool rangemap_cut(struct rangemap *map, uint64_t base, uint64_t length, struct range *piece);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/rangemap.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

struct rangemap_chunk {
	size_t count;
	struct range ranges[RANGEMAP_CHUNK];
};

/* The place of a range. */
struct place {
	size_t chunk;
	size_t slot;
};

void rangemap_init(struct rangemap *map)
{
	*map = (struct rangemap){ 0 };
}

void rangemap_fini(struct rangemap *map)
{
	for (size_t i = 0; i < map->chunks; i++)
		free(map->index[i].chunk);
	free(map->index);
	rangemap_init(map);
}

/* The last range whose base is at or below the address. False: there is none. The searches halve without a
 * branch on the data: the right half is random, and a wrong guess of the CPU costs more than the step. */
static bool locate_range(const struct rangemap *map, uint64_t address, struct place *place)
{
	const struct rangemap_chunk *chunk;
	size_t half, n = map->chunks;

	*place = (struct place){ 0 };
	if (!n || map->index[0].first > address)
		return false;
	for (; n > 1; n -= half) {
		half = n / 2;
		place->chunk += map->index[place->chunk + half].first <= address ? half : 0;
	}
	chunk = map->index[place->chunk].chunk;
	for (n = chunk->count; n > 1; n -= half) {
		half = n / 2;
		place->slot += chunk->ranges[place->slot + half].base <= address ? half : 0;
	}
	return true;
}

static struct range *range_at(const struct rangemap *map, struct place place)
{
	return &map->index[place.chunk].chunk->ranges[place.slot];
}

static bool holds_address(const struct range *range, uint64_t address)
{
	return address - range->base < range->length;
}

/* Puts a chunk into the index at position i. */
static void index_insert(struct rangemap *map, size_t i, struct rangemap_chunk *chunk)
{
	if (map->chunks == map->capacity) {
		map->capacity = map->capacity ? map->capacity * 2 : 4;
		map->index = xreallocarray(map->index, map->capacity, sizeof(*map->index));
	}
	memmove(&map->index[i + 1], &map->index[i], (map->chunks - i) * sizeof(*map->index));
	map->index[i] = (struct rangemap_entry){ .first = chunk->ranges[0].base, .chunk = chunk };
	map->chunks++;
}

static void index_remove(struct rangemap *map, size_t i)
{
	free(map->index[i].chunk);
	map->chunks--;
	memmove(&map->index[i], &map->index[i + 1], (map->chunks - i) * sizeof(*map->index));
}

/* Splits a full chunk. At the end of the map, only the last range goes to the new chunk. So ranges that come
 * in ascending order fill their chunks. */
static void chunk_split(struct rangemap *map, size_t i)
{
	struct rangemap_chunk *old = map->index[i].chunk, *chunk = xmalloc(sizeof(*chunk));
	size_t keep = i + 1 == map->chunks ? RANGEMAP_CHUNK - 1 : RANGEMAP_CHUNK / 2;

	chunk->count = old->count - keep;
	memcpy(chunk->ranges, &old->ranges[keep], chunk->count * sizeof(*chunk->ranges));
	old->count = keep;
	index_insert(map, i + 1, chunk);
}

bool rangemap_insert(struct rangemap *map, const struct range *range)
{
	const struct range *next = rangemap_from(map, range->base);
	struct rangemap_chunk *chunk;
	struct place place;

	if (!range->length || range->base + (range->length - 1) < range->base)
		return false;
	if (next && (next->base <= range->base || next->base - range->base < range->length))
		return false;
	if (locate_range(map, range->base, &place))
		place.slot++;
	if (!map->chunks)
		index_insert(map, 0, xcalloc(1, sizeof(*chunk)));
	chunk = map->index[place.chunk].chunk;
	if (chunk->count == RANGEMAP_CHUNK) {
		chunk_split(map, place.chunk);
		if (place.slot > chunk->count) {
			place.slot -= chunk->count;
			chunk = map->index[++place.chunk].chunk;
		}
	}
	memmove(&chunk->ranges[place.slot + 1], &chunk->ranges[place.slot],
		(chunk->count - place.slot) * sizeof(*chunk->ranges));
	chunk->ranges[place.slot] = *range;
	chunk->count++;
	map->index[place.chunk].first = chunk->ranges[0].base;
	map->count++;
	return true;
}

const struct range *rangemap_find(const struct rangemap *map, uint64_t address)
{
	struct place place;

	if (!locate_range(map, address, &place) || !holds_address(range_at(map, place), address))
		return NULL;
	return range_at(map, place);
}

const struct range *rangemap_at(const struct rangemap *map, uint64_t base)
{
	struct place place;

	if (!locate_range(map, base, &place) || range_at(map, place)->base != base)
		return NULL;
	return range_at(map, place);
}

const struct range *rangemap_from(const struct rangemap *map, uint64_t address)
{
	struct place place;

	if (!map->chunks)
		return NULL;
	if (!locate_range(map, address, &place) || holds_address(range_at(map, place), address))
		return range_at(map, place);
	if (++place.slot == map->index[place.chunk].chunk->count) {
		place = (struct place){ .chunk = place.chunk + 1 };
		if (place.chunk == map->chunks)
			return NULL;
	}
	return range_at(map, place);
}

/* Moves the ranges of chunk i + 1 into chunk i when both together leave it half empty. */
static void merge_with_next(struct rangemap *map, size_t i)
{
	struct rangemap_chunk *chunk, *next;

	if (i + 1 >= map->chunks)
		return;
	chunk = map->index[i].chunk;
	next = map->index[i + 1].chunk;
	if (chunk->count + next->count > RANGEMAP_CHUNK / 2)
		return;
	memcpy(&chunk->ranges[chunk->count], next->ranges, next->count * sizeof(*next->ranges));
	chunk->count += next->count;
	index_remove(map, i + 1);
}

static void remove_at(struct rangemap *map, struct place place)
{
	struct rangemap_chunk *chunk = map->index[place.chunk].chunk;

	chunk->count--;
	map->count--;
	if (!chunk->count) {
		index_remove(map, place.chunk);
		return;
	}
	memmove(&chunk->ranges[place.slot], &chunk->ranges[place.slot + 1],
		(chunk->count - place.slot) * sizeof(*chunk->ranges));
	map->index[place.chunk].first = chunk->ranges[0].base;
	merge_with_next(map, place.chunk);
	if (place.chunk)
		merge_with_next(map, place.chunk - 1);
}

bool rangemap_remove(struct rangemap *map, uint64_t base, struct range *out)
{
	struct place place;

	if (!locate_range(map, base, &place) || range_at(map, place)->base != base)
		return false;
	if (out)
		*out = *range_at(map, place);
	remove_at(map, place);
	return true;
}

bool rangemap_cut(struct rangemap *map, uint64_t base, uint64_t length, struct range *piece)
{
	const struct range *found = rangemap_from(map, base);
	struct range whole, left, right, mid;
	uint64_t last = base + (length - 1), whole_last;

	if (!length)
		return false;
	if (last < base)
		last = UINT64_MAX;
	if (!found || found->base > last)
		return false;
	whole = left = right = mid = *found;
	whole_last = whole.base + (whole.length - 1);
	rangemap_remove(map, whole.base, NULL);
	if (whole.base < base) {
		left.length = base - whole.base;
		rangemap_insert(map, &left);
		mid.base = base;
		mid.offset += left.length;
	}
	if (whole_last > last) {
		right.base = last + 1;
		right.length = whole_last - last;
		right.offset += right.base - whole.base;
		rangemap_insert(map, &right);
	}
	mid.length = (whole_last < last ? whole_last : last) - mid.base + 1;
	if (piece)
		*piece = mid;
	return true;
}

const struct range *rangemap_next(const struct rangemap *map, struct rangemap_pos *pos)
{
	if (pos->chunk < map->chunks && pos->slot == map->index[pos->chunk].chunk->count)
		*pos = (struct rangemap_pos){ pos->chunk + 1, 0 };
	return pos->chunk < map->chunks ? &map->index[pos->chunk].chunk->ranges[pos->slot++] : NULL;
}

// SPDX-License-Identifier: BSD-2-Clause
#include "core/terms/libraries.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

void libraries_init(struct libraries *l)
{
	*l = (struct libraries){ 0 };
	hash_init(&l->by_file, sizeof(uint32_t));
}

void libraries_fini(struct libraries *l)
{
	free(l->list);
	hash_fini(&l->by_file);
}

static uint64_t file_key(struct libraries *l, uint64_t dev, uint64_t ino)
{
	const uint64_t words[] = { dev, ino };

	return hash_of_bytes(hash_seed(&l->by_file), words, sizeof(words));
}

static void index_entry(struct libraries *l, size_t at)
{
	const struct gmt_library *rec = &l->list[at].rec;

	*(uint32_t *)hash_put(&l->by_file, file_key(l, rec->dev, rec->ino), NULL) = (uint32_t)at;
}

static void close_gaps(struct libraries *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->count; i++)
		if (!l->list[i].is_forgotten)
			l->list[kept++] = l->list[i];
	l->count = kept;
	l->gaps = 0;
	hash_clear(&l->by_file);
	for (size_t i = 0; i < l->count; i++)
		index_entry(l, i);
}

static void forget_entry(struct libraries *l, uint64_t key)
{
	const uint32_t *at = hash_get(&l->by_file, key);

	l->list[*at].is_forgotten = true;
	hash_erase(&l->by_file, key);
	if (++l->gaps > l->count / 2)
		close_gaps(l);
}

static void take_from_gone(struct libraries *l, size_t i)
{
	memmove(&l->gone[i], &l->gone[i + 1], (--l->gone_count - i) * sizeof(*l->gone));
}

/* Whether the file was gone. */
static bool come_back(struct libraries *l, uint64_t key)
{
	for (size_t i = 0; i < l->gone_count; i++) {
		if (l->gone[i] != key)
			continue;
		take_from_gone(l, i);
		return true;
	}
	return false;
}

void libraries_add(struct libraries *l, const struct gmt_library *rec)
{
	uint64_t key = file_key(l, rec->dev, rec->ino);
	struct gmt_library *library;

	if (come_back(l, key))
		forget_entry(l, key);
	if (l->count - l->gaps >= LIBRARIES_MAX) {
		l->forgotten++;
		return;
	}
	l->list = xgrow(l->list, l->count, sizeof(*l->list));
	l->list[l->count] = (struct library_entry){ 0 };
	library = &l->list[l->count++].rec;
	memcpy(library, rec, sizeof(*library));
	library->path[sizeof(library->path) - 1] = '\0';
	index_entry(l, l->count - 1);
}

void libraries_drop(struct libraries *l, const struct gmt_library_gone *rec)
{
	uint64_t key = file_key(l, rec->dev, rec->ino);

	if (!hash_get(&l->by_file, key))
		return;
	come_back(l, key);
	if (l->gone_count == LIBRARIES_GONE) {
		uint64_t oldest = l->gone[0];

		take_from_gone(l, 0);
		forget_entry(l, oldest);
		l->forgotten++;
	}
	l->gone[l->gone_count++] = key;
}

struct gmt_library *libraries_copy(const struct libraries *l, size_t *count)
{
	struct gmt_library *copy = xcalloc(l->count - l->gaps, sizeof(*copy));

	*count = 0;
	for (size_t i = 0; i < l->count; i++)
		if (!l->list[i].is_forgotten)
			copy[(*count)++] = l->list[i].rec;
	return copy;
}

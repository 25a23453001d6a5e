// SPDX-License-Identifier: BSD-2-Clause
#include "live/stacks/bpf_tables.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gpumemtrace/stackmap.h>

#include "base/xalloc.h"
#include "base/hash.h"
#include "live/bpf/array_map.h"
#include "live/stacks/map_publisher.h"
#include "live/stream.h"
#include "symbol/elf/image.h"
#include "symbol/python/pyfile.h"
#include "symbol/unwind/switchers.h"
#include "symbol/unwind/table_cache.h"
#include "symbol/unwind/unwind_table.h"

#define SHARD_BYTES ((size_t)GMT_SHARD_WORDS * sizeof(uint64_t))
#define CACHE_BYTES_MAX (512ull << 20) /* kept on disk: the tables of ten PyTorch installations */

struct entry {
	struct table table;
	int error;               /* no table: why */
};

struct tables {
	struct publisher *publisher;
	__u64 *shards[GMT_SHARDS];
	uint64_t used;           /* words */
	struct hash entries;     /* by key_of_image() */
	struct table_cache cache;
	struct tables_stats stats;
};

struct tables *tables_new(struct publisher *publisher, const char *cache)
{
	struct tables *tables = xcalloc(1, sizeof(*tables));

	tables->publisher = publisher;
	hash_init(&tables->entries, sizeof(struct entry));
	tables->cache.dir = -1;
	/* Without a cache every table is built, which is slower and not worse. */
	if (cache)
		table_cache_open(&tables->cache, cache);
	return tables;
}

void tables_free(struct tables *tables)
{
	if (!tables)
		return;
	for (size_t i = 0; i < GMT_SHARDS && tables->shards[i]; i++)
		mapped_close(tables->shards[i], SHARD_BYTES);
	if (tables->cache.dir >= 0)
		table_cache_trim(&tables->cache, CACHE_BYTES_MAX);
	table_cache_close(&tables->cache);
	hash_fini(&tables->entries);
	free(tables);
}

/* A file is identified by its build id, or else by its inode and time of modification. */
static uint64_t key_of_image(const struct image *image, enum table_kind kind)
{
	uint64_t key = hash_of_bytes(HASH_SEED, &kind, sizeof(kind));
	struct stat st;

	if (image->build_id[0])
		return hash_of_bytes(key, image->build_id, strlen(image->build_id));
	if (image->fd < 0 || fstat(image->fd, &st))
		return hash_of_bytes(key, image->bytes, image->fd < 0 ? image->size : 0);
	key = hash_of_bytes(key, &st.st_dev, sizeof(st.st_dev));
	key = hash_of_bytes(key, &st.st_ino, sizeof(st.st_ino));
	return hash_of_bytes(key, &st.st_mtim, sizeof(st.st_mtim));
}

bool tables_find(const struct tables *tables, const struct image *image, enum table_kind kind, struct table *table)
{
	const struct entry *entry = hash_get(&tables->entries, key_of_image(image, kind));

	if (!entry || entry->error)
		return false;
	*table = entry->table;
	return true;
}

/* Makes a shard unless it exists. */
static int get_shard(struct tables *tables, uint32_t i)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	int fd;

	if (i >= GMT_SHARDS)
		return -ENOSPC;
	if (tables->shards[i])
		return 0;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "stack_shard", sizeof(uint32_t), sizeof(uint64_t), GMT_SHARD_WORDS,
			    &options);
	if (fd < 0)
		return -errno;
	tables->shards[i] = mapped_open(fd, SHARD_BYTES, true);
	if (!tables->shards[i]) {
		close(fd);
		return -ENOMEM;
	}
	publisher_put_shard(tables->publisher, i, fd);
	return 0;
}

static int put_words(struct tables *tables, const struct unwind_table *blob, struct table *table)
{
	uint64_t count = (uint64_t)blob->pages + blob->rows, done = 0;

	if (tables->used + count > (uint64_t)GMT_SHARDS * GMT_SHARD_WORDS)
		return -ENOSPC;
	while (done < count) {
		uint64_t at = tables->used + done, in = at % GMT_SHARD_WORDS, part = GMT_SHARD_WORDS - in;
		int err = get_shard(tables, (uint32_t)(at / GMT_SHARD_WORDS));

		if (err)
			return err;
		if (part > count - done)
			part = count - done;
		memcpy(tables->shards[at / GMT_SHARD_WORDS] + in, blob->words + done, part * sizeof(uint64_t));
		done += part;
	}
	table->slot = (uint32_t)tables->used;
	table->pages = blob->pages;
	tables->used += count;
	tables->stats.rows += blob->rows;
	tables->stats.bytes += count * sizeof(uint64_t);
	return 0;
}

static void mark_ranges(enum table_kind kind, const struct image *image, struct unwind_table *blob)
{
	struct gmt_py_range ranges[GMT_PY_EVAL_RANGES];
	size_t count = kind == TABLE_PYTHON ? pyfile_eval_ranges(image, ranges) : 0;

	for (size_t i = 0; i < count; i++)
		unwind_table_mark_eval(blob, ranges[i].start, ranges[i].end);
	if (count || kind == TABLE_LIBC)
		unwind_table_mark_runtime(blob);
	if (kind == TABLE_SWITCHER)
		switchers_mark(image, blob);
}

int tables_build(struct tables *tables, const struct image *image, enum table_kind kind, struct table *table)
{
	uint64_t key = key_of_image(image, kind), start = stream_now_ns();
	struct entry *known = hash_get(&tables->entries, key), entry = { 0 };
	struct unwind_table blob = { 0 };

	if (!known) {
		entry.error = table_cache_get(&tables->cache, image, &blob);
		if (!entry.error) {
			mark_ranges(kind, image, &blob);
			entry.error = put_words(tables, &blob, &entry.table);
		}
		unwind_table_fini(&blob);
		tables->stats.modules += !entry.error;
		tables->stats.failed += entry.error != 0;
		tables->stats.build_ns += stream_now_ns() - start;
		known = hash_put(&tables->entries, key, NULL);
		*known = entry;
	}
	*table = known->table;
	return known->error;
}

const __u64 *tables_word(void *arg, uint32_t slot)
{
	struct tables *tables = arg;

	return slot < tables->used ? &tables->shards[slot / GMT_SHARD_WORDS][slot % GMT_SHARD_WORDS] : NULL;
}

void tables_stats(const struct tables *tables, struct tables_stats *stats)
{
	*stats = tables->stats;
	stats->cache_hits = tables->cache.hits;
	stats->cache_misses = tables->cache.misses;
}

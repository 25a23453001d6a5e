// SPDX-License-Identifier: BSD-2-Clause
#include "live/stacks/bpf_tables.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gpumemtrace/stackmap.h>

#include "base/blake2.h"
#include "base/hash.h"
#include "base/xalloc.h"
#include "live/bpf/array_map.h"
#include "live/stacks/map_publisher.h"
#include "live/stream.h"
#include "parse/client.h"
#include "symbol/python/pyparse.h"
#include "symbol/unwind/switchers.h"
#include "symbol/unwind/table_cache.h"
#include "symbol/unwind/table_parse.h"

#define SHARD_BYTES ((size_t)GMT_SHARD_WORDS * sizeof(uint64_t))
#define CACHE_BYTES_MAX (512ull << 20) /* kept on disk: the tables of ten PyTorch installations */

struct entry {
	struct table table;
	int error;               /* no table: why */
};

/* A file that was read. */
struct known {
	struct image_shape *shape; /* with as many segments as there are; NULL after an error */
	uint64_t entry;          /* the key of its entry */
	int error;               /* the file could not be read: why */
};

struct tables {
	struct publisher *publisher;
	__u64 *shards[GMT_SHARDS];
	uint64_t used;           /* words */
	struct parse_client *client;
	struct hash files;       /* struct known by identity and kind */
	struct hash entries;     /* struct entry by key_of_table() */
	struct table_cache cache;
	struct tables_stats stats;
};

struct tables *tables_new(struct publisher *publisher, struct parse_client *client, const char *cache)
{
	struct tables *tables = xcalloc(1, sizeof(*tables));

	tables->publisher = publisher;
	tables->client = client;
	hash_init(&tables->files, sizeof(struct known));
	hash_init(&tables->entries, sizeof(struct entry));
	tables->cache.dir = -1;
	/* Without a cache every table is built, which is slower and not worse. */
	if (cache)
		table_cache_open(&tables->cache, cache);
	return tables;
}

void tables_free(struct tables *tables)
{
	size_t pos = 0;
	void *known;

	if (!tables)
		return;
	while (hash_next(&tables->files, &pos, NULL, &known))
		free(((struct known *)known)->shape);
	hash_fini(&tables->files);
	for (size_t i = 0; i < GMT_SHARDS && tables->shards[i]; i++)
		mapped_close(tables->shards[i], SHARD_BYTES);
	if (tables->cache.dir >= 0)
		table_cache_trim(&tables->cache, CACHE_BYTES_MAX);
	table_cache_close(&tables->cache);
	hash_fini(&tables->entries);
	free(tables);
}

static uint64_t key_of_file(const struct source_file *file, enum table_kind kind)
{
	return hash_of_bytes(file->identity, &kind, sizeof(kind));
}

/* Equal libraries in several containers are several files with one table. */
static uint64_t key_of_table(const struct table_key *key, enum table_kind kind)
{
	uint64_t hash;

	blake2b(&hash, sizeof(hash), key, sizeof(*key));
	return hash_of_bytes(hash, &kind, sizeof(kind));
}

int tables_find(const struct tables *tables, const struct source_file *file, enum table_kind kind,
		struct image *shape, struct table *table)
{
	const struct known *known = hash_get(&tables->files, key_of_file(file, kind));
	const struct entry *entry;

	if (!known)
		return -ENOENT;
	if (known->error)
		return known->error;
	image_of_shape(shape, known->shape);
	entry = hash_get(&tables->entries, known->entry);
	*table = entry->table;
	return entry->error;
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

static int mark_ranges(struct tables *tables, const struct source_file *file, enum table_kind kind,
		       struct unwind_table *blob)
{
	struct switchers_range switchers[SWITCHERS_MAX];
	struct gmt_py_range ranges[GMT_PY_EVAL_RANGES];
	int count = kind == TABLE_PYTHON ? pyparse_eval(tables->client, file, ranges) : 0;

	for (int i = 0; i < count; i++)
		unwind_table_mark_eval(blob, ranges[i].start, ranges[i].end);
	if (count > 0 || kind == TABLE_LIBC)
		unwind_table_mark_runtime(blob);
	if (kind == TABLE_SWITCHER) {
		count = table_ask_switchers(tables->client, file, switchers);
		if (count >= 0)
			switchers_mark(blob, switchers, (size_t)count);
	}
	return count < 0 ? count : 0;
}

static int get_blob(struct tables *tables, const struct source_file *file, const struct table_key *key,
		    struct unwind_table *blob)
{
	int err;

	if (!table_cache_load(&tables->cache, key, blob))
		return 0;
	err = table_ask_table(tables->client, file, key, blob);
	if (!err)
		table_cache_store(&tables->cache, key, blob);
	return err;
}

/* These errors pass. */
static bool may_come_later(int err)
{
	return parse_may_pass(err) || err == -ECANCELED;
}

/* Makes the table of a key unless BPF has it. */
static int make_entry(struct tables *tables, const struct source_file *file, const struct table_key *key,
		      enum table_kind kind, struct table *table)
{
	struct entry *known = hash_get(&tables->entries, key_of_table(key, kind)), entry = { 0 };
	struct unwind_table blob = { 0 };

	if (!known) {
		entry.error = get_blob(tables, file, key, &blob);
		if (!entry.error)
			entry.error = mark_ranges(tables, file, kind, &blob);
		if (!entry.error)
			entry.error = put_words(tables, &blob, &entry.table);
		unwind_table_fini(&blob);
		tables->stats.modules += !entry.error;
		tables->stats.failed += entry.error != 0;
		if (may_come_later(entry.error))
			return entry.error;
		known = hash_put(&tables->entries, key_of_table(key, kind), NULL);
		*known = entry;
	}
	*table = known->table;
	return known->error;
}

static void remember_file(struct tables *tables, const struct source_file *file, enum table_kind kind,
			  const struct image *shape, const struct table_key *key, int error)
{
	struct known *known = hash_put(&tables->files, key_of_file(file, kind), NULL);
	struct image_shape whole;
	size_t size;

	*known = (struct known){ .error = error };
	if (error)
		return;
	image_shape(shape, &whole);
	size = offsetof(struct image_shape, segments) + whole.segment_count * sizeof(whole.segments[0]);
	known->shape = xmalloc(size);
	memcpy(known->shape, &whole, size);
	known->entry = key_of_table(key, kind);
}

int tables_build(struct tables *tables, const struct source_file *file, enum table_kind kind, struct image *shape,
		 struct table *table)
{
	uint64_t start = stream_now_ns();
	int err = tables_find(tables, file, kind, shape, table), facts;
	struct table_key key;

	if (err != -ENOENT)
		return err;
	facts = err = table_ask_facts(tables->client, file, shape, &key);
	tables->stats.failed += facts && facts != -ENOEXEC;
	if (!err)
		err = make_entry(tables, file, &key, kind, table);
	if (!may_come_later(err))
		remember_file(tables, file, kind, shape, &key, facts);
	tables->stats.build_ns += stream_now_ns() - start;
	return err;
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

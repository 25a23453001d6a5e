// SPDX-License-Identifier: BSD-2-Clause
/* See table_cache.h. A file is a header and the blob (include/gpumemtrace/unwind.h). */
#include "symbol/unwind/table_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/blake2.h"
#include "base/out.h"
#include "base/sorted.h"
#include "base/xalloc.h"
#include "symbol/elf/image.h"
#include "symbol/unwind/bare_code.h"
#include "symbol/unwind/unwind_table.h"

#define MAGIC "GMTUNWND"
#define FORMAT 3                   /* of the file and of its rows; raised when one of them changes */
#define SUFFIX ".unwind"
#define NAME_BYTES 80              /* build id in hex, hash of the key, suffix; new files: a random number */

struct file_header {
	char magic[8];
	uint32_t format, reserved;
	struct table_key key;
	uint32_t pages, rows, fdes, unsupported, is_damaged, reserved_too;
	uint64_t check;                /* over the header with this field 0, and over the blob */
};

_Static_assert(sizeof(struct table_key) == 160 && sizeof(struct file_header) == 208,
	       "no padding in what is checked and written");

/* 64 bits at a time; multiplication by an odd number loses nothing, the shift brings high bits down. */
static uint64_t mix_hash(uint64_t hash, const void *data, size_t size)
{
	const unsigned char *p = data;

	for (; size >= 8; size -= 8, p += 8) {
		uint64_t word;

		memcpy(&word, p, 8);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 29;
	}
	return hash;
}

static uint64_t checksum_table(const struct file_header *header, const union gmt_unwind_word *words)
{
	struct file_header copy = *header;

	copy.check = 0;
	return mix_hash(mix_hash(FORMAT, &copy, sizeof(copy)), words,
			((size_t)header->pages + header->rows) * sizeof(*words));
}

static struct file_header header_of(const struct table_key *key)
{
	struct file_header header = { .format = FORMAT, .key = *key };

	memcpy(header.magic, MAGIC, sizeof(header.magic));
	return header;
}

/* Keys of one build id have files of their own, so that they cannot push each other's out. */
static bool cache_file_name(const struct table_key *key, char *name)
{
	uint64_t hash;

	blake2b(&hash, sizeof(hash), key, sizeof(*key));
	return key->build_id[0] && snprintf(name, NAME_BYTES, "%s-%016llx" SUFFIX, key->build_id,
					    (unsigned long long)hash) < NAME_BYTES;
}

static int hash_section(const struct image *image, const struct unwind_section *section, uint8_t *hash)
{
	unsigned char *data = malloc(section->size);
	int err = !data ? -ENOMEM : image_read_at(image, section->vaddr, data, section->size) ? 0 : -ERANGE;

	if (!err)
		blake2b(hash, TABLE_KEY_HASH, data, section->size);
	free(data);
	return err;
}

/* What a table has beside the .eh_frame is part of the hash. */
static void hash_bare_code(const struct image *image, uint8_t *hash)
{
	struct { uint8_t hash[TABLE_KEY_HASH]; struct bare_code found[BARE_CODE_MAX]; } all = { 0 };
	size_t count = bare_code_find(image, all.found);

	memcpy(all.hash, hash, sizeof(all.hash));
	if (count)
		blake2b(hash, TABLE_KEY_HASH, &all, sizeof(all));
}

int table_key_of(const struct image *image, uint32_t owner, struct table_key *key)
{
	struct unwind_section section;
	int err;

	*key = (struct table_key){ .file_size = image->size, .machine = image->machine, .owner = owner };
	memcpy(key->build_id, image->build_id, sizeof(image->build_id));
	if (!unwind_code_range(image, &key->base, &key->end))
		return -ENOEXEC;
	blake2b(key->shape, sizeof(key->shape), image->segments, image->segment_count * sizeof(image->segments[0]));
	err = unwind_section_to_read(image, &section);
	if (!err) {
		key->eh_frame = section.vaddr;
		key->eh_frame_size = section.size;
		err = hash_section(image, &section, key->hash);
	} else if (err == -ENOENT) {
		err = 0;
	}
	if (!err)
		hash_bare_code(image, key->hash);
	return err;
}

int table_cache_open(struct table_cache *cache, const char *path)
{
	struct stat st;
	int err;

	*cache = (struct table_cache){ .dir = -1 };
	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	cache->dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (cache->dir < 0)
		return -errno;
	err = fstat(cache->dir, &st) ? -errno : 0;
	if (!err && (st.st_uid != geteuid() || (st.st_mode & 077)))
		err = -EPERM;
	if (err)
		table_cache_close(cache);
	return err;
}

void table_cache_close(struct table_cache *cache)
{
	if (cache->dir >= 0)
		close(cache->dir);
	cache->dir = -1;
}

/* A short read is a damaged table: the file is a regular one. */
static bool read_whole(int fd, void *to, size_t size)
{
	return read(fd, to, size) == (ssize_t)size;
}

static int read_table_file(int fd, const struct table_key *key, struct unwind_table *table)
{
	struct file_header header, want = header_of(key);
	struct stat st;
	uint64_t words;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !read_whole(fd, &header, sizeof(header)))
		return -EBADMSG;
	if (memcmp(&header, &want, offsetof(struct file_header, pages)))
		return -EBADMSG;
	words = (uint64_t)header.pages + header.rows;
	if (words > UNWIND_TABLE_WORDS_MAX ||
	    (uint64_t)st.st_size != sizeof(header) + words * sizeof(union gmt_unwind_word))
		return -EBADMSG;
	*table = (struct unwind_table){ .base = key->base, .pages = header.pages, .rows = header.rows,
					.fdes = header.fdes, .unsupported = header.unsupported,
					.is_damaged = header.is_damaged };
	table->words = xmalloc(unwind_table_bytes(table) + 1);
	if (!read_whole(fd, table->words, unwind_table_bytes(table)) || checksum_table(&header, table->words) !=
	    header.check || !unwind_table_check(table))
		return -EBADMSG;
	return 0;
}

static int load_table(struct table_cache *cache, const struct table_key *key, struct unwind_table *table)
{
	static const struct timespec now[2] = { { .tv_nsec = UTIME_NOW }, { .tv_nsec = UTIME_OMIT } };
	char name[NAME_BYTES];
	int fd, err;

	*table = (struct unwind_table){ 0 };
	if (cache->dir < 0 || !cache_file_name(key, name))
		return -ENOENT;
	fd = openat(cache->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ENOENT : -EBADMSG;
	err = read_table_file(fd, key, table);
	if (err)
		unwind_table_fini(table);
	else
		futimens(fd, now);   /* for table_cache_trim(): reading does not set the time with noatime */
	close(fd);
	return err;
}

int table_cache_load(struct table_cache *cache, const struct table_key *key, struct unwind_table *table)
{
	int err = load_table(cache, key, table);

	cache->hits += !err;
	cache->misses += err != 0;
	cache->damaged += err == -EBADMSG;
	return err;
}

static int write_table(int fd, const struct file_header *header, const struct unwind_table *table)
{
	/* No fsync: after a crash of the machine the checksum finds what is missing. */
	int err = out_write_fd(fd, header, sizeof(*header)) ?:
		  out_write_fd(fd, table->words, unwind_table_bytes(table));

	if (close(fd) && !err)
		err = -errno;
	return err;
}

int table_cache_store(struct table_cache *cache, const struct table_key *key, const struct unwind_table *table)
{
	struct file_header header = header_of(key);
	char name[NAME_BYTES], new_name[NAME_BYTES];
	uint64_t number;
	int fd, err;

	if (cache->dir < 0 || !table->words || !cache_file_name(key, name))
		return -ENOENT;
	header.pages = table->pages;
	header.rows = table->rows;
	header.fdes = table->fdes;
	header.unsupported = table->unsupported;
	header.is_damaged = table->is_damaged;
	header.check = checksum_table(&header, table->words);
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -errno;
	snprintf(new_name, sizeof(new_name), "new-%016llx", (unsigned long long)number);
	fd = openat(cache->dir, new_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = write_table(fd, &header, table);
	if (!err && renameat(cache->dir, new_name, cache->dir, name))
		err = -errno;
	if (err)
		unlinkat(cache->dir, new_name, 0);
	cache->written += !err;
	return err;
}

/* ---- trimming -------------------------------------------------------------------------------------- */

struct entry {
	uint64_t used_ns;
	uint64_t bytes;
	char name[256];
};

/* Tables, and half-written ones of collectors that were killed. */
static bool is_ours(const char *name)
{
	size_t length = strlen(name), suffix = strlen(SUFFIX);

	return !strncmp(name, "new-", 4) || (length > suffix && !strcmp(name + length - suffix, SUFFIX));
}

static size_t list_entries(DIR *dir, struct entry **entries, uint64_t *total)
{
	size_t count = 0;
	struct dirent *found;
	struct stat st;

	while ((found = readdir(dir))) {
		if (!is_ours(found->d_name) || fstatat(dirfd(dir), found->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		*entries = xgrow(*entries, count, sizeof(**entries));
		(*entries)[count] = (struct entry){
			.used_ns = (uint64_t)st.st_atim.tv_sec * 1000000000 + (uint64_t)st.st_atim.tv_nsec,
			.bytes = (uint64_t)st.st_size,
		};
		snprintf((*entries)[count].name, sizeof((*entries)[count].name), "%s", found->d_name);
		*total += (uint64_t)st.st_size;
		count++;
	}
	return count;
}

int table_cache_trim(struct table_cache *cache, uint64_t bytes)
{
	int fd = cache->dir < 0 ? -1 : openat(cache->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct entry *entries = NULL;
	uint64_t total = 0;
	size_t count;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return cache->dir < 0 ? 0 : -errno;
	}
	count = list_entries(dir, &entries, &total);
	if (count)
		qsort(entries, count, sizeof(*entries), sorted_compare);
	for (size_t i = 0; i < count && total > bytes; i++)
		if (!unlinkat(cache->dir, entries[i].name, 0))
			total -= entries[i].bytes;
	free(entries);
	closedir(dir);
	return 0;
}

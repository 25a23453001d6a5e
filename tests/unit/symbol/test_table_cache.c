// SPDX-License-Identifier: BSD-2-Clause
/* The cache of unwinding tables: what is damaged, of another module, or in a directory open to others is not believed. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "cfi.h"
#include "compile.h"
#include "symbol/unwind/table_cache.h"
#include "symbol/unwind/unwind_table.h"

#define BUILD_ID "0123456789abcdef0123456789abcdef01234567"
#define P(...) (const unsigned char[]){ __VA_ARGS__ }, sizeof((const unsigned char[]){ __VA_ARGS__ })

struct fixture {
	struct cfi cfi;
	struct cfi_image made;
	struct table_cache cache;
	uint32_t owner;
	char dir[96], file[192];
};

static void fixture_init(struct fixture *f, const struct workdir *work)
{
	*f = (struct fixture){ 0 };
	cfi_cie(&f->cfi, "zR", 0x1b);
	cfi_fde(&f->cfi, 0x401000, 0x20, P(0x41, 0x0e, 16));
	cfi_image(&f->made, &f->cfi, 0x401000, 0x1000);
	snprintf(f->made.image.build_id, sizeof(f->made.image.build_id), BUILD_ID);
	snprintf(f->dir, sizeof(f->dir), "%s/cache", work->path);
	assert_int_equal(table_cache_open(&f->cache, f->dir), 0);
}

static void fixture_fini(struct fixture *f)
{
	char command[160];

	table_cache_close(&f->cache);
	free(f->made.file);
	snprintf(command, sizeof(command), "rm -rf %s", f->dir);
	assert_int_equal(run_shell(command), 0);
}

/* The one table that is stored. */
static void find_file(struct fixture *f)
{
	char pattern[160];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/" BUILD_ID "-*.unwind", f->dir);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, 1);
	snprintf(f->file, sizeof(f->file), "%s", found.gl_pathv[0]);
	globfree(&found);
}

/* Takes the table from the cache, or builds and stores it. */
static int get_table(struct fixture *f, struct unwind_table *table)
{
	struct table_key key;
	int err = table_key_of(&f->made.image, f->owner, &key);

	if (err || !table_cache_load(&f->cache, &key, table))
		return err;
	err = unwind_table_build(&f->made.image, table);
	if (!err)
		table_cache_store(&f->cache, &key, table);
	return err;
}

static void get(struct fixture *f, uint32_t hits, uint32_t misses, uint32_t damaged)
{
	struct unwind_table table;

	assert_int_equal(get_table(f, &table), 0);
	assert_true(unwind_table_check(&table));
	assert_int_equal(table.rows, 4);
	assert_int_equal(table.fdes, 1);
	assert_int_equal(f->cache.hits, hits);
	assert_int_equal(f->cache.misses, misses);
	assert_int_equal(f->cache.damaged, damaged);
	unwind_table_fini(&table);
}

static void stored_and_found(void **state)
{
	struct fixture f;
	struct stat st;

	fixture_init(&f, *state);
	get(&f, 0, 1, 0);
	assert_int_equal(f.cache.written, 1);
	get(&f, 1, 1, 0);
	find_file(&f);
	assert_int_equal(stat(f.file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat(f.dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	f.made.image.build_id[0] = 0;   /* nothing to find it by */
	get(&f, 1, 2, 0);
	assert_int_equal(f.cache.written, 1);
	fixture_fini(&f);
}

/* Each byte of the file, and its length. */
static void damage_is_rebuilt(void **state)
{
	uint32_t damaged = 0;
	struct fixture f;
	struct stat st;

	fixture_init(&f, *state);
	get(&f, 0, 1, 0);
	find_file(&f);
	assert_int_equal(stat(f.file, &st), 0);
	for (off_t i = 0; i < st.st_size + 2; i++) {
		int fd = open(f.file, O_RDWR);
		unsigned char byte = 0;

		assert_true(fd >= 0);
		if (i == st.st_size) {
			assert_int_equal(ftruncate(fd, st.st_size - 8), 0);
		} else if (i > st.st_size) {
			assert_int_equal(ftruncate(fd, 5), 0);
		} else {
			assert_int_equal(pread(fd, &byte, 1, i), 1);
			byte ^= 0x10;
			assert_int_equal(pwrite(fd, &byte, 1, i), 1);
		}
		close(fd);
		damaged++;
		get(&f, 0, 1 + damaged, damaged);
		assert_int_equal(f.cache.written, 1 + damaged);
	}
	get(&f, 1, 1 + damaged, damaged);
	fixture_fini(&f);
}

static void another_module(void **state)
{
	struct fixture f;

	fixture_init(&f, *state);
	get(&f, 0, 1, 0);
	f.made.image.size++;   /* same build id, other file */
	get(&f, 0, 2, 0);
	f.made.image.size--;
	get(&f, 1, 2, 0);
	f.owner++;             /* another user's file */
	get(&f, 1, 3, 0);
	f.owner--;
	f.made.image.segments[0].size++;
	get(&f, 1, 4, 0);
	f.made.image.segments[0].size--;
	get(&f, 2, 4, 0);
	fixture_fini(&f);
}

/* A file that pretends to be another file: build id, sizes and addresses are the same, but not the frames. */
static void another_eh_frame(void **state)
{
	struct unwind_table honest, hostile;
	struct unwind_section section;
	struct fixture f;
	unsigned char *frames;

	fixture_init(&f, *state);
	assert_int_equal(get_table(&f, &honest), 0);
	assert_true(unwind_find_section(&f.made.image, &section));
	frames = f.made.file + image_offset(&f.made.image, section.vaddr, false);
	for (uint64_t i = 0; i + 1 < section.size; i++)
		if (frames[i] == 0x0e && frames[i + 1] == 16)
			frames[i + 1] = 32;
	assert_int_equal(get_table(&f, &hostile), 0);
	assert_int_equal(f.cache.misses, 2);
	assert_memory_not_equal(honest.words, hostile.words, unwind_table_bytes(&honest));
	unwind_table_fini(&hostile);
	for (uint64_t i = 0; i + 1 < section.size; i++)
		if (frames[i] == 0x0e && frames[i + 1] == 32)
			frames[i + 1] = 16;
	assert_int_equal(get_table(&f, &hostile), 0);
	assert_int_equal(f.cache.hits, 1);
	assert_memory_equal(honest.words, hostile.words, unwind_table_bytes(&honest));
	unwind_table_fini(&hostile);
	unwind_table_fini(&honest);
	fixture_fini(&f);
}

static void only_private_directories(void **state)
{
	struct table_cache cache;
	struct fixture f;
	char link[128];

	fixture_init(&f, *state);
	assert_int_equal(chmod(f.dir, 0750), 0);
	assert_int_equal(table_cache_open(&cache, f.dir), -EPERM);
	assert_int_equal(cache.dir, -1);
	assert_int_equal(chmod(f.dir, 0700), 0);
	snprintf(link, sizeof(link), "%s-link", f.dir);
	assert_int_equal(symlink(f.dir, link), 0);
	assert_true(table_cache_open(&cache, link) < 0);
	unlink(link);
	assert_int_equal(table_cache_open(&cache, "/nonexistent/cache"), -ENOENT);
	table_cache_close(&f.cache);
	get(&f, 0, 1, 0);   /* without a directory it works all the same */
	get(&f, 0, 2, 0);
	assert_int_equal(f.cache.written, 0);
	fixture_fini(&f);
}

static void links_are_not_followed(void **state)
{
	struct fixture f;
	char other[224];
	struct stat st;

	fixture_init(&f, *state);
	get(&f, 0, 1, 0);
	find_file(&f);
	snprintf(other, sizeof(other), "%s-moved", f.file);
	assert_int_equal(rename(f.file, other), 0);
	assert_int_equal(symlink(other, f.file), 0);
	get(&f, 0, 2, 1);
	assert_int_equal(lstat(f.file, &st), 0);
	assert_true(S_ISREG(st.st_mode));   /* replaced, not written through */
	fixture_fini(&f);
}

static void trimmed(void **state)
{
	struct fixture f;
	struct stat st;

	fixture_init(&f, *state);
	get(&f, 0, 1, 0);
	find_file(&f);
	assert_int_equal(stat(f.file, &st), 0);
	f.made.image.build_id[0] = 'f';
	get(&f, 0, 2, 0);
	usleep(20000);
	f.made.image.build_id[0] = '0';
	get(&f, 1, 2, 0);   /* used again: the other one is older now */
	assert_int_equal(table_cache_trim(&f.cache, (uint64_t)st.st_size * 2), 0);
	get(&f, 2, 2, 0);
	assert_int_equal(table_cache_trim(&f.cache, (uint64_t)st.st_size), 0);
	get(&f, 3, 2, 0);
	f.made.image.build_id[0] = 'f';
	get(&f, 3, 3, 0);
	assert_int_equal(table_cache_trim(&f.cache, 0), 0);
	get(&f, 3, 4, 0);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stored_and_found),
		cmocka_unit_test(damage_is_rebuilt),
		cmocka_unit_test(another_module),
		cmocka_unit_test(another_eh_frame),
		cmocka_unit_test(only_private_directories),
		cmocka_unit_test(links_are_not_followed),
		cmocka_unit_test(trimmed),
	};

	return cmocka_run_group_tests_name("table_cache", tests, workdir_make, workdir_remove);
}

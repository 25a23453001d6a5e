// SPDX-License-Identifier: BSD-2-Clause
/* Files that cannot be opened for tables at the moment: they are opened later, but not for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "live/stacks/bpf_tables.h"
#include "live/stacks/space.h"
#include "live/stacks/space_tables.h"

static size_t built;
static int build_error = -ENOEXEC;

/* In the place of bpf_tables.c's: no table is known, and none can be built. */
int tables_find(const struct tables *tables, const struct source_file *file, enum table_kind kind,
		struct image *shape, struct table *table)
{
	(void)tables, (void)file, (void)kind, (void)shape, (void)table;
	return -ENOENT;
}

int tables_build(struct tables *tables, const struct source_file *file, enum table_kind kind, struct image *shape,
		 struct table *table)
{
	(void)tables, (void)file, (void)kind, (void)shape, (void)table;
	built++;
	return build_error;
}

/* limited: no descriptor can be opened. */
static void limit_files(bool limited)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limited ? 0 : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void build_pending(struct space *space)
{
	const char *path;

	while (space->pending)
		space_build_one(space, NULL, &path);
}

/* The modules of this process; none can be opened yet. Returns the number of files. */
static size_t open_space(struct space *space)
{
	struct space before = { 0 };
	size_t files = 0;

	*space = (struct space){ .tgid = (uint32_t)getpid(), .shares_mounts = true };
	built = 0;
	assert_int_equal(modules_read(&space->modules, space->tgid), 0);
	space->modules.has_our_paths = true;
	for (size_t i = 0; i < space->modules.count; i++)
		files += space->modules.list[i].kind == MODULE_FILE || space->modules.list[i].kind == MODULE_VDSO;
	assert_true(files > 2);
	limit_files(true);
	space_fill(space, &before, NULL);
	build_pending(space);
	limit_files(false);
	assert_int_equal(built, 0);
	return files;
}

static void close_space(struct space *space)
{
	modules_fini(&space->modules);
	free(space->mappings);
	free(space->is_pending);
}

static void files_are_opened_later(void **state)
{
	struct space space;
	size_t files = open_space(&space);

	(void)state;
	assert_int_equal(space.postponed, files);
	space_retry_postponed(&space);
	build_pending(&space);
	assert_int_equal(built, files);
	assert_int_equal(space.postponed, 0);
	close_space(&space);
}

/* A file whose reader found no memory is read again, another one is not. */
static void files_are_read_later(void **state)
{
	struct space space;
	size_t files = open_space(&space);

	(void)state;
	build_error = -ENOBUFS;
	space_retry_postponed(&space);
	build_pending(&space);
	assert_int_equal(space.postponed, files);
	build_error = -ENOMEM;
	space_retry_postponed(&space);
	build_pending(&space);
	assert_int_equal(built, 2 * files);
	assert_int_equal(space.postponed, 0);
	build_error = -ENOEXEC;
	close_space(&space);
}

static void files_are_opened_after_new_mappings(void **state)
{
	struct space space, before;
	size_t files = open_space(&space);

	(void)state;
	before = space;
	space.modules = (struct modules){ 0 };
	assert_int_equal(modules_read(&space.modules, space.tgid), 0);
	space_fill(&space, &before, NULL);
	build_pending(&space);
	assert_int_equal(built, files);
	close_space(&before);
	close_space(&space);
}

static void retries_end(void **state)
{
	struct space space;
	int rounds = 0;

	(void)state;
	open_space(&space);
	limit_files(true);
	for (; space.postponed && rounds <= SPACE_RETRIES; rounds++) {
		space_retry_postponed(&space);
		build_pending(&space);
	}
	limit_files(false);
	assert_int_equal(rounds, SPACE_RETRIES);
	space_retry_postponed(&space);
	assert_int_equal(space.pending, 0);
	assert_int_equal(built, 0);
	close_space(&space);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_opened_later),
		cmocka_unit_test(files_are_read_later),
		cmocka_unit_test(files_are_opened_after_new_mappings),
		cmocka_unit_test(retries_end),
	};

	return cmocka_run_group_tests_name("space_tables", tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-2-Clause
/* Dumps in a folder of somebody else, who puts other things at their paths. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include <gpumemtrace/wire.h>

#include "base/xalloc.h"
#include "compile.h"
#include "dump_writer.h"
#include "patience.h"
#include "source/reader.h"

struct scene {
	struct dump_writer *writer;
	struct dump_file *file;
};

/* A process, an event of its window where `window` says so, and the end. */
static void write_dump(const struct scene *c, bool window)
{
	struct gmt_attach attach = { .hdr = { .size = sizeof(attach), .kind = GMT_KIND_ATTACH, .tgid = 1 } };
	struct gmt_history_event event = { .hdr = { .size = sizeof(event), .kind = GMT_KIND_HISTORY_EVENT, .tgid = 1 } };
	struct dump_job *job = xcalloc(1, sizeof(*job)), *done;
	char *records = xmalloc(2 * sizeof(attach) + sizeof(event));

	memcpy(records, &attach, sizeof(attach));
	job->size = sizeof(attach);
	if (window) {
		memcpy(records + job->size, &event, sizeof(event));
		job->size += sizeof(event);
	} else {
		job->window_at = job->size;
	}
	memcpy(records + job->size, &attach, sizeof(attach));
	job->size += sizeof(attach);
	job->records = records;
	job->file = dump_file_get(c->file);
	dump_writer_put(c->writer, job);
	assert_true(dump_writer_finish(c->writer, UINT64_MAX));
	done = dump_writer_done(c->writer);
	assert_ptr_equal(done, job);
	assert_int_equal(done->error, 0);
	dump_job_free(done);
}

/* It is a file of three records, one of a window, for nobody else, and alone in its folder. */
static void assert_whole(const struct scene *c, unsigned int others)
{
	const struct gmt_hdr *record;
	struct reader *reader = NULL;
	unsigned int count = 0, windows = 0;
	char command[256];
	struct stat st;

	assert_int_equal(lstat(c->file->path, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(reader_open(&reader, c->file->path), 0);
	while ((record = reader_next(reader))) {
		count++;
		windows += record->kind == GMT_KIND_HISTORY_EVENT;
	}
	reader_close(reader);
	assert_int_equal(count, 3);
	assert_int_equal(windows, 1);
	snprintf(command, sizeof(command), "[ $(ls ${F%%/*} | wc -l) = %u ]", 1 + others);
	setenv("F", c->file->path, 1);
	assert_int_equal(run_shell(command), 0);
}

static void begin(struct scene *c, const struct workdir *dir)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/dump.gmt", dir->path);
	umask(0);
	alarm(PATIENCE);                                   /* a pipe nobody reads waits for ever */
	*c = (struct scene){ dump_writer_new(), dump_file_new(xstrdup(path)) };
	setenv("F", path, 1);
}

static void end(struct scene *c)
{
	dump_file_put(c->file);
	dump_writer_free(c->writer);
	alarm(0);
}

static void written_again(void **state)
{
	struct scene c;

	begin(&c, *state);
	write_dump(&c, true);
	assert_whole(&c, 0);
	write_dump(&c, false);
	assert_whole(&c, 0);
	write_dump(&c, false);                       /* from the second */
	assert_whole(&c, 0);
	end(&c);
}

/* The window comes from what was written, not from what is there now; that is replaced. */
static void other_things_at_its_path(void **state)
{
	static const char *const swaps[] = {
		"rm $F", "rm $F && mkfifo $F", "ln -sf /dev/zero $F", "echo mine >${F%/*}/mine && ln -sf mine $F",
	};
	unsigned int others = 0;
	struct scene c;

	begin(&c, *state);
	assert_int_equal(run_shell("mkfifo $F"), 0);
	write_dump(&c, true);
	assert_whole(&c, 0);
	for (size_t i = 0; i < sizeof(swaps) / sizeof(swaps[0]); i++) {
		assert_int_equal(run_shell(swaps[i]), 0);
		others += i == 3;
		write_dump(&c, false);
		assert_whole(&c, others);
	}
	assert_int_equal(run_shell("[ \"$(cat ${F%/*}/mine)\" = mine ]"), 0);
	end(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, workdir_make, workdir_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(written_again),
		TEST(other_things_at_its_path),
	};

	return cmocka_run_group_tests_name("dump_writer", tests, NULL, NULL);
}

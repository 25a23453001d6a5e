// SPDX-License-Identifier: BSD-2-Clause
/* What is written at a path that is new, ours, or somebody else's. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/out_file.h"
#include "compile.h"
#include "patience.h"

static char folder[64];

/* Where a link of somebody else leads, which is put at the name of the next file just before the file is created. */
static const char *planted;

/* For out_file.c, in place of the C library's. */
int open(const char *path, int flags, ...)
{
	unsigned int mode = 0;

	if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {
		va_list rest;

		va_start(rest, flags);
		mode = va_arg(rest, unsigned int);
		va_end(rest);
	}
	if (flags & O_CREAT && planted) {
		assert_int_equal(symlink(planted, path), 0);
		assert_int_equal(lchown(path, 65534, 65534), 0);
		planted = NULL;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static int enter(void **state)
{
	int err = workdir_make(state);

	if (err)
		return err;
	strcpy(folder, ((struct workdir *)*state)->path);
	umask(0);
	return chdir(folder);
}

static int leave(void **state)
{
	alarm(0);
	return chdir("/") ?: workdir_remove(state);
}

static void shell(const char *script)
{
	assert_int_equal(run_shell(script), 0);
}

/* Writes "new" there. */
static void assert_written(const char *path)
{
	int fd = out_file_open(path, false);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "new", 3), 3);
	close(fd);
}

static void assert_holds(const char *path, const char *text, unsigned int mode)
{
	char got[16] = "";
	struct stat st;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, got, sizeof(got) - 1), strlen(text));
	assert_string_equal(got, text);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | mode);
	close(fd);
}

static void new_and_ours(void **state)
{
	(void)state;
	assert_written("file");
	assert_holds("file", "new", 0600);
	shell("echo a longer text >old && chmod 644 old");
	assert_written("old");
	assert_holds("old", "new", 0644);            /* the user has asked for that */
	shell("echo old >one && ln one other");      /* which may be anywhere */
	assert_written("one");
	assert_holds("one", "new", 0600);
	assert_holds("other", "old\n", 0666);
	assert_int_equal(out_file_open(".", false), -EISDIR);
	assert_int_equal(out_file_open("none/file", false), -ENOENT);
}

static void links_of_ours(void **state)
{
	char text[128];

	(void)state;
	shell("mkdir a b && echo old >a/old && ln -s ../a/old b/link && ln -s $PWD/a/new b/new && ln -s b/link twice &&"
	      " ln -s loop loop");
	assert_written("twice");
	assert_holds("a/old", "new", 0666);
	snprintf(text, sizeof(text), "%s/b/new", folder);
	assert_written(text);
	assert_holds("a/new", "new", 0600);
	assert_int_equal(readlink("twice", text, sizeof(text)), 6);
	assert_int_equal(out_file_open("loop", false), -ELOOP);
	assert_int_equal(out_file_open("twice", true), -ENOENT);
}

/* Written to as they are; /dev/stdout and a shell's >(...) are links in /proc. */
static void pipes_and_devices(void **state)
{
	char path[64], got[4] = "";
	int pipes[2], other[2];

	(void)state;
	alarm(PATIENCE);
	assert_written("/dev/null");
	assert_int_equal(pipe(pipes), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", pipes[1]);
	assert_written(path);
	assert_int_equal(read(pipes[0], got, 3), 3);
	assert_string_equal(got, "new");
	shell("mkfifo fifo && ln -s fifo link && ln -s /dev/null null");
	other[0] = open("fifo", O_RDONLY | O_NONBLOCK);
	assert_written("link");
	assert_int_equal(read(other[0], got, 3), 3);
	other[1] = out_file_open("null", true);
	assert_true(other[1] >= 0);
	close(other[0]);
	close(other[1]);
	close(pipes[0]);
	close(pipes[1]);
}

/* In a folder that others may write to. */
static void somebody_elses(void **state)
{
	static const char *const names[] = { "link", "dangling", "fifo", "disk", "to-disk" };

	(void)state;
	if (geteuid())
		skip();
	alarm(PATIENCE);
	shell("echo precious >precious && ln -s precious link && ln -s gone dangling && mkfifo fifo && echo old >file &&"
	      " chown -h 65534 link dangling fifo file && mknod disk b 1 0 && ln -s disk to-disk");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(out_file_open(names[i], false), OUT_FILE_FOREIGN);
		assert_int_equal(out_file_open(names[i], true), OUT_FILE_FOREIGN);
	}
	assert_holds("precious", "precious\n", 0666);
	assert_int_equal(access("gone", F_OK), -1);
	assert_written("file");                      /* is another file now: its owner does not see a word */
	assert_holds("file", "new", 0600);
	assert_non_null(strstr(out_file_why(OUT_FILE_FOREIGN), "choose"));
	assert_string_equal(out_file_why(-ENOENT), strerror(ENOENT));
}

static void beside(void **state)
{
	char one[64], other[64];
	int fd;

	(void)state;
	fd = out_file_create_beside("file", one, sizeof(one));
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "new", 3), 3);
	close(fd);
	assert_holds(one, "new", 0600);
	assert_int_equal(strncmp(one, "file.", 5), 0);
	fd = out_file_create_beside("file", other, sizeof(other));
	assert_true(fd >= 0);
	close(fd);
	assert_string_not_equal(one, other);
	assert_int_equal(out_file_create_beside("file", other, 8), -ENAMETOOLONG);
	assert_int_equal(out_file_create_beside("none/file", other, sizeof(other)), -ENOENT);
}

/* Somebody is faster: a link comes to the name after the look at the name. */
static void a_link_comes_in_between(void **state)
{
	char name[64];
	int fd;

	(void)state;
	if (geteuid())
		skip();
	alarm(PATIENCE);
	planted = "gone";
	assert_int_equal(out_file_open("file", false), OUT_FILE_FOREIGN);
	assert_null(planted);
	planted = "gone";
	fd = out_file_create_beside("file", name, sizeof(name));
	assert_true(fd >= 0);
	assert_null(planted);
	close(fd);
	assert_holds(name, "", 0600);
	assert_int_equal(access("gone", F_OK), -1);
}

static void beginnings_are_foreseen(void **state)
{
	static const struct { const char *path; int wanted; } rows[] = {
		{ "new", 0 },		{ "file", 0 },		 { "./new", 0 },	    { "none/new", -ENOENT },
		{ "file/new", -ENOTDIR }, { "folder", -EISDIR }, { "folder/new", 0 },	    { "link/new", 0 },
		{ "gone", 0 },		{ "/dev/null", 0 },	 { "/nonexistent/a", -ENOENT },
	};

	(void)state;
	shell("touch file; mkdir folder; ln -s folder link; ln -s none/any gone");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (out_file_may_begin(rows[i].path) != rows[i].wanted)
			fail_msg("%s: %d, not %d", rows[i].path, out_file_may_begin(rows[i].path), rows[i].wanted);
	assert_int_equal(out_file_may_fill("link"), 0);
	assert_int_equal(out_file_may_fill("none"), -ENOENT);
	assert_int_equal(out_file_may_fill("file"), -ENOTDIR);
	if (geteuid())
		skip();
	shell("chmod 711 .; chmod 755 folder");
	assert_int_equal(seteuid(65534), 0);
	assert_int_equal(out_file_may_begin("folder/new"), -EACCES);
	assert_int_equal(seteuid(0), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(new_and_ours),
		TEST(links_of_ours),
		TEST(pipes_and_devices),
		TEST(somebody_elses),
		TEST(beside),
		TEST(a_link_comes_in_between),
		TEST(beginnings_are_foreseen),
	};

	return cmocka_run_group_tests_name("out_file", tests, NULL, NULL);
}

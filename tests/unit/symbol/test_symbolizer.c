// SPDX-License-Identifier: BSD-2-Clause
/* Addresses of this process into names: its own, libraries made here, files that are gone, and a replay. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "compile.h"
#include "parse_child.h"
#include "symbol/elf/file_names.h"
#include "symbol/symbolizer.h"

#define LIBRARY "__attribute__((noinline)) int lib_inner(int x)\n{\n\treturn x * 3;\n}\n" \
		"int lib_outer(int x)\n{\n\treturn lib_inner(x) + 1;\n}\n"

static const struct parse_table table = {
	.serve = { [PARSE_OPEN] = file_names_serve_open, [PARSE_READ] = file_names_serve_read,
		   [PARSE_NAME] = file_names_serve_find, [PARSE_CLOSE] = file_names_serve_close },
};
static struct parse_child child;

static void snapshot(struct modules *m)
{
	assert_int_equal(modules_read(m, (uint32_t)getpid()), 0);
}

static const struct symbol_frame *find(struct symbolizer *s, struct modules *m, const void *address, bool is_return)
{
	const struct symbol_frames *frames = symbolizer_find(s, m, (uintptr_t)address, is_return);

	assert_true(frames->count >= 1);
	assert_false(frames->frames[frames->count - 1].inlined);
	return &frames->frames[frames->count - 1];
}

__attribute__((noinline)) static const void *own_address(void)
{
	return __builtin_return_address(0);
}

static void own_function_and_line(void **state)
{
	struct symbolizer *s = symbolizer_new(child.client, SYMBOLIZER_FILES, NULL, NULL);
	struct modules m = { 0 };
	const struct symbol_frame *frame;
	const void *address;
	int line;

	(void)state;
	snapshot(&m);
	line = __LINE__ + 1;
	address = own_address();
	frame = find(s, &m, address, true);
	assert_string_equal(frame->function, "own_function_and_line");
	assert_string_equal(frame->module, "test_symbolizer");
	assert_non_null(strstr(frame->file, "test_symbolizer.c"));
	assert_int_equal(frame->line, line);
	assert_ptr_equal(find(s, &m, address, true), frame); /* once */
	symbolizer_free(s);
	modules_fini(&m);
}

static void library_function(void **state)
{
	struct symbolizer *s = symbolizer_new(child.client, SYMBOLIZER_FILES, NULL, NULL);
	struct modules m = { 0 };

	(void)state;
	snapshot(&m);
	assert_string_equal(find(s, &m, dlsym(RTLD_DEFAULT, "lsearch"), false)->function, "lsearch");
	assert_non_null(strstr(find(s, &m, dlsym(RTLD_DEFAULT, "lsearch"), false)->module, "libc"));
	symbolizer_free(s);
	modules_fini(&m);
}

/* The start of a function as a return address belongs to the one before it: never its own name. */
static void return_addresses_belong_to_the_call(void **state)
{
	struct symbolizer *s = symbolizer_new(child.client, SYMBOLIZER_FILES, NULL, NULL);
	struct modules m = { 0 };
	const char *name;

	(void)state;
	snapshot(&m);
	assert_string_equal(find(s, &m, library_function, false)->function, "library_function");
	name = find(s, &m, library_function, true)->function;
	assert_true(!name || strcmp(name, "library_function"));
	symbolizer_free(s);
	modules_fini(&m);
}

static void *load(const struct workdir *dir, const char *flags, char *path, size_t size)
{
	void *handle;

	compile_library(dir, "lib.so", LIBRARY, flags, path, size);
	handle = dlopen(path, RTLD_NOW);
	assert_non_null(handle);
	return handle;
}

static void a_deleted_file_is_still_read(void **state)
{
	struct symbolizer *s = symbolizer_new(child.client, SYMBOLIZER_FILES, NULL, NULL);
	struct modules m = { 0 };
	const struct symbol_frame *frame;
	void *handle;
	char path[128];

	if (geteuid()) {
		symbolizer_free(s);
		skip(); /* /proc/PID/map_files needs a capability */
	}
	handle = load(*state, "-g", path, sizeof(path));
	assert_int_equal(unlink(path), 0);
	snapshot(&m);
	frame = find(s, &m, dlsym(handle, "lib_inner"), false);
	assert_string_equal(frame->function, "lib_inner");
	assert_string_equal(frame->module, "lib.so");
	assert_in_range(frame->line, 1, 4);
	dlclose(handle);
	symbolizer_free(s);
	modules_fini(&m);
}

/* What lies at the path now is another file: its names would be wrong. */
static void a_replaced_file_gives_no_names(void **state)
{
	const struct workdir *dir = *state;
	struct modules m = { 0 };
	struct source_file file;
	struct module_map *map;
	char path[128], other[128];
	void *handle = load(dir, "", path, sizeof(path)), *inner = dlsym(handle, "lib_inner");

	snapshot(&m);
	map = modules_find(&m, (uintptr_t)inner);
	compile_library(dir, "other.so", "int wrong[100]; int wrong_name(int x) { return x; }\n" LIBRARY, "", other,
			sizeof(other));
	assert_int_equal(rename(other, path), 0);
	map->end++; /* so that the name in map_files is not there, as without the capability */
	assert_true(source_open_module(&m, map, &file) < 0);
	map->end--;
	if (!geteuid()) {
		assert_int_equal(source_open_module(&m, map, &file), 0);
		assert_int_equal(close(file.fd), 0);
	}
	dlclose(handle);
	modules_fini(&m);
}

/* Names stay in the file until they are asked for: a name at an old place of a new file would be wrong. */
static void a_file_that_was_written_to_is_read_again(void **state)
{
	struct symbolizer *s = symbolizer_new(child.client, SYMBOLIZER_FILES, NULL, NULL);
	const struct workdir *dir = *state;
	struct modules m = { 0 };
	char path[128], command[512];
	void *handle;

	if (geteuid()) {
		symbolizer_free(s);
		skip();
	}
	handle = load(dir, "", path, sizeof(path));
	snapshot(&m);
	assert_string_equal(find(s, &m, dlsym(handle, "lib_inner"), false)->function, "lib_inner");
	snprintf(command, sizeof(command),
		 "cd %s && objcopy --redefine-sym lib_outer=another_name_of_another_length lib.so new && "
		 "dd if=new of=lib.so conv=notrunc status=none", /* the loaded parts are the same, and stay mapped */
		 dir->path);
	assert_int_equal(run_shell(command), 0);
	assert_string_equal(find(s, &m, dlsym(handle, "lib_outer"), false)->function, "another_name_of_another_length");
	dlclose(handle);
	symbolizer_free(s);
	modules_fini(&m);
}

/* A process in a root of its own, until it is killed. */
static pid_t start_in_root(const char *root)
{
	int ready[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when the test fails */
		if (!chroot(root) && write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return child;
}

/* Debug files by build id, through the root of the process: a link of a container stays inside of it, and what
 * is there in place of a file is not opened. */
static void debug_files_of_a_container(void **state)
{
	const struct workdir *dir = *state;
	char path[128], command[1024];
	struct source_file file;
	struct modules m = { 0 };
	struct image image;

	if (geteuid())
		skip();
	compile_library(dir, "lib.so", LIBRARY, "-g -Wl,--build-id=0xabcdef0123", path, sizeof(path));
	snprintf(command, sizeof(command),
		 "cd %s && mkdir -p usr/lib/debug/.build-id/ab usr/lib/debug/.build-id/ff && "
		 "objcopy --only-keep-debug lib.so real.debug && ln -s /real.debug usr/lib/debug/.build-id/ab/cdef0123.debug && "
		 "cp real.debug usr/lib/debug/.build-id/ab/cdef9999.debug && mkfifo usr/lib/debug/.build-id/ff/ff.debug",
		 dir->path);
	assert_int_equal(run_shell(command), 0);
	m.pid = (uint32_t)start_in_root(dir->path);
	assert_int_equal(source_open_debug(&m, "abcdef0123", &file), 0);
	assert_int_equal(image_open(&image, file.fd), 0);
	assert_string_equal(image.build_id, "abcdef0123");
	assert_non_null(image_section(&image, ".debug_info", 0));
	image_close(&image);
	assert_true(source_open_debug(&m, "ffff", &file) < 0); /* does not wait for a writer */
	assert_true(source_open_debug(&m, "", &file) < 0);
	kill((pid_t)m.pid, SIGKILL);
	assert_int_equal(waitpid((pid_t)m.pid, NULL, 0), (int)m.pid);
}

static void no_file_no_name(void **state)
{
	struct symbolizer *s = symbolizer_new(child.client, SYMBOLIZER_FILES, NULL, NULL);
	struct modules m = { 0 };
	const struct symbol_frame *frame;
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	snapshot(&m);
	frame = find(s, &m, (char *)code + 8, false);
	assert_null(frame->function);
	assert_string_equal(frame->module, "[anon]");
	assert_true(frame->offset == (unsigned long)code + 8);
	frame = find(s, &m, (void *)16, false);
	assert_null(frame->module);
	assert_true(frame->offset == 16);
	munmap(code, 4096);
	symbolizer_free(s);
	modules_fini(&m);
}

static void count_refused(void *arg, const char *path, int err)
{
	(void)path;
	(void)err;
	++*(int *)arg;
}

/* A process that has ended: its files cannot be opened through it, but by their paths, if these are ours. A file that
 * is gone with its process is no file that could not be read. */
static void a_process_that_has_ended(void **state)
{
	int refused = 0;
	struct symbolizer *s = symbolizer_new(child.client, SYMBOLIZER_FILES, count_refused, &refused);
	struct modules m = { 0 };
	uint32_t pid;

	(void)state;
	snapshot(&m);
	pid = m.pid;
	m.pid = INT32_MAX; /* no such process */
	assert_null(find(s, &m, library_function, false)->function);
	assert_int_equal(refused, 0);
	/* What could not be told then is asked again of others. */
	m.pid = pid;
	assert_string_equal(find(s, &m, library_function, false)->function, "library_function");
	symbolizer_free(s);
	s = symbolizer_new(child.client, SYMBOLIZER_FILES, NULL, NULL);
	m.pid = INT32_MAX;
	m.has_our_paths = true;
	assert_string_equal(find(s, &m, library_function, false)->function, "library_function");
	symbolizer_free(s);
	s = symbolizer_new(child.client, SYMBOLIZER_FILES, NULL, NULL);
	m.pid = 0;
	m.has_our_paths = false;
	assert_string_equal(find(s, &m, library_function, false)->function, "library_function");
	symbolizer_free(s);
	modules_fini(&m);
}

/* A file has to wait when other files of its user have cost too much. Until then each of its stacks asks for names. */
static void a_file_that_waits_is_told_once(void **state)
{
	struct parse_client *client = parse_client_new(child.parser);
	int refused = 0;
	struct symbolizer *s = symbolizer_new(client, SYMBOLIZER_FILES, count_refused, &refused);
	struct modules m = { 0 };

	(void)state;
	snapshot(&m);
	assert_string_equal(find(s, &m, library_function, false)->function, "library_function");
	for (int i = 0; i < 20; i++) /* as files do that end their reader */
		parse_refuse(client, getuid());
	for (int i = 0; i < 5; i++)
		assert_null(find(s, &m, (const char *)library_function + 1 + i, false)->function);
	assert_int_equal(refused, 1);
	symbolizer_free(s);
	parse_client_free(client);
	modules_fini(&m);
}

static void the_vdso_is_read_from_memory(void **state)
{
	struct symbolizer *s = symbolizer_new(child.client, SYMBOLIZER_FILES, NULL, NULL);
	const char *vdso = (const char *)getauxval(AT_SYSINFO_EHDR);
	struct modules m = { 0 };
	size_t named = 0;

	(void)state;
	if (!vdso) {
		symbolizer_free(s);
		skip();
	}
	snapshot(&m);
	for (size_t at = 0; at < 4096 && modules_find(&m, (uintptr_t)vdso + at); at += 16) {
		const struct symbol_frame *frame = find(s, &m, vdso + at, false);

		assert_string_equal(frame->module, "[vdso]");
		named += frame->function && strstr(frame->function, "gettime");
	}
	assert_true(named > 0);
	symbolizer_free(s);
	modules_fini(&m);
}

/* Descriptors of a process that lead to a file of this name. */
static unsigned int open_descriptors(int pid, const char *name)
{
	unsigned int count = 0;

	for (int fd = 0; fd < 1024; fd++) {
		char link[48], path[4096];
		ssize_t len;

		snprintf(link, sizeof(link), "/proc/%d/fd/%d", pid, fd);
		len = readlink(link, path, sizeof(path) - 1);
		path[len > 0 ? len : 0] = '\0';
		count += strstr(path, name) != NULL;
	}
	return count;
}

static void open_files_are_limited(void **state)
{
	struct symbolizer *s = symbolizer_new(child.client, 1, NULL, NULL);
	struct parse_status worker;
	struct modules m = { 0 };
	const struct symbol_frame *kept;
	const char *libc = dlsym(RTLD_DEFAULT, "lsearch");

	(void)state;
	assert_int_equal(parse_status(child.client, &worker), 0); /* the worker for root's files */
	snapshot(&m);
	kept = find(s, &m, library_function, false);
	for (int i = 0; i < 4; i++) {
		assert_string_equal(find(s, &m, libc + i, false)->function, "lsearch");
		assert_string_equal(find(s, &m, (const char *)own_function_and_line + i, false)->function,
				    "own_function_and_line");
		assert_int_equal(open_descriptors(worker.pid, "/libc.so"), 0); /* closed for the other file */
		assert_int_equal(open_descriptors(worker.pid, "/test_symbolizer") != 0, !geteuid());
	}
	assert_string_equal(kept->function, "library_function"); /* answers stay */
	find(s, &m, libc, false);
	assert_int_equal(open_descriptors(worker.pid, "/libc.so"), 0); /* known: nothing is opened */
	symbolizer_free(s);
	modules_fini(&m);
}

#define TEST(name) cmocka_unit_test(name)
#define TEST_DIR(name) cmocka_unit_test_setup_teardown(name, workdir_make, workdir_remove)

static int start_child(void **state)
{
	(void)state;
	child = parse_child_start(&table);
	return 0;
}

static int end_child(void **state)
{
	(void)state;
	parse_child_end(&child);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(own_function_and_line),
		TEST(library_function),
		TEST(return_addresses_belong_to_the_call),
		TEST_DIR(a_deleted_file_is_still_read),
		TEST_DIR(a_replaced_file_gives_no_names),
		TEST_DIR(a_file_that_was_written_to_is_read_again),
		TEST_DIR(debug_files_of_a_container),
		TEST(no_file_no_name),
		TEST(a_process_that_has_ended),
		TEST(a_file_that_waits_is_told_once),
		TEST(the_vdso_is_read_from_memory),
		TEST(open_files_are_limited),
	};

	return cmocka_run_group_tests(tests, start_child, end_child);
}

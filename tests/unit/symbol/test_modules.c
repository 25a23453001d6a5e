// SPDX-License-Identifier: BSD-2-Clause
/* The code that a process has mapped: from texts as kernels write them, damaged ones, and this process's own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/out.h"
#include "base/xalloc.h"
#include "symbol/elf/modules.h"

static const char typical[] =
	"55d0c0a00000-55d0c0a01000 r--p 00000000 fe:00 11   /usr/bin/python3.11\n"
	"55d0c0a01000-55d0c0c01000 r-xp 00001000 fe:00 11   /usr/bin/python3.11\n"
	"7f0000000000-7f0000010000 rwxp 00000000 00:00 0 \n"
	"7f0c75ee1000-7f0c76401000 r-xp 000e1000 fe:00 22   /usr/lib/libcuda.so.550.54\n"
	"7f0c76401000-7f0c76411000 rw-p 00601000 fe:00 22   /usr/lib/libcuda.so.550.54\n"
	"7f0c76411000-7f0c76511000 r-xp 00611000 fe:00 22   /usr/lib/libcuda.so.550.54\n"
	"7f0c80000000-7f0c80001000 r-xp 00000000 00:01 33   /memfd:jit (deleted)\n"
	"7f0c90000000-7f0c90001000 r-xp 00000000 fe:00 44   /opt/a b/libold.so (deleted)\n"
	"7ffd1a5f2000-7ffd1a5f4000 r-xp 00000000 00:00 0    [vdso]\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0    [vsyscall]\n";

static void parse(struct modules *m, const char *text, size_t bad)
{
	assert_int_equal(modules_parse(m, 7, text, strlen(text)), bad);
}

static const struct module *module_at(const struct modules *m, uint64_t address)
{
	const struct module_map *map = modules_find(m, address);

	return map ? modules_of(m, map) : NULL;
}

static void a_typical_process(void **state)
{
	struct modules m = { 0 };
	const struct module *cuda;

	(void)state;
	parse(&m, typical, 0);
	assert_int_equal(m.pid, 7);
	assert_int_equal(m.map_count, 8);
	assert_int_equal(m.count, 7); /* libcuda's two pieces are one module */
	cuda = module_at(&m, 0x7f0c75ee1000);
	assert_string_equal(cuda->name, "libcuda.so.550.54");
	assert_string_equal(cuda->path, "/usr/lib/libcuda.so.550.54");
	assert_true(cuda->kind == MODULE_FILE && cuda->ino == 22 && cuda->dev == makedev(0xfe, 0));
	assert_ptr_equal(module_at(&m, 0x7f0c76510fff), cuda);
	assert_null(module_at(&m, 0x7f0c76401000));   /* data */
	assert_null(module_at(&m, 0x7f0c76511000));
	assert_null(module_at(&m, 0));
	assert_null(module_at(&m, UINT64_MAX));
	assert_string_equal(module_at(&m, 0x55d0c0a01000)->name, "python3.11");
	assert_string_equal(module_at(&m, 0x7f0000000000)->name, "[anon]");
	assert_true(module_at(&m, 0x7f0000000000)->kind == MODULE_ANONYMOUS);
	assert_true(module_at(&m, 0x7f0c80000000)->kind == MODULE_ANONYMOUS);
	assert_string_equal(module_at(&m, 0x7f0c90000000)->name, "libold.so");
	assert_string_equal(module_at(&m, 0x7f0c90000000)->path, "/opt/a b/libold.so");
	assert_true(module_at(&m, 0x7f0c90000000)->deleted && !cuda->deleted);
	assert_true(module_at(&m, 0x7ffd1a5f2000)->kind == MODULE_VDSO);
	assert_string_equal(module_at(&m, 0x7ffd1a5f2000)->name, "[vdso]");
	assert_true(module_at(&m, 0xffffffffff600000)->kind == MODULE_VSYSCALL);
	modules_fini(&m);
}

static void damaged_lines_are_counted(void **state)
{
	struct modules m = { 0 };

	(void)state;
	parse(&m, "garbage\n1000-2000 r-xp 0 00:00 5 /a\n\n1800-3000 r-xp 0 00:00 6 /overlaps\n"
		  "4000-5000 r-xp 0 00:00 5 /a",
	      3);
	assert_int_equal(m.map_count, 2);
	assert_int_equal(m.count, 1);
	parse(&m, "", 0); /* replaces */
	assert_int_equal(m.map_count, 0);
	for (size_t len = 0; len < sizeof(typical); len++) {
		char *copy = malloc(len ? len : 1);

		memcpy(copy, typical, len);
		modules_parse(&m, 1, copy, len);
		free(copy);
	}
	modules_fini(&m);
}

static void a_newline_in_a_path(void **state)
{
	struct modules m = { 0 };

	(void)state;
	parse(&m, "1000-2000 r-xp 0 00:00 5 /a\\012b\\x\n", 0);
	assert_string_equal(m.list[0].path, "/a\nb\\x");
	modules_fini(&m);
}

/* libcuda's code lies elsewhere in the file than in memory: offset != vaddr. */
static void bias_is_by_segment(void **state)
{
	struct image image = {
		.fd = -1,
		.segment_count = 3,
		.segments = { { 0, 0, 0xe1234, 0xe1234, false },
			      { 0x4e1240, 0xe1240, 0x520000, 0x520000, true },
			      { 0xd11000, 0x611000, 0x100000, 0x100000, true } },
		.build_id = "0123",
	};
	struct modules m = { 0 };
	const struct module_map *map;

	(void)state;
	parse(&m, typical, 0);
	map = modules_find(&m, 0x7f0c75ee1500);
	assert_false(map->has_bias);
	assert_true(modules_vaddr(map, 0x7f0c75ee1500) == 0xe1500);
	modules_set_image(&m, map->module, &image);
	assert_true(map->has_bias);
	/* the mapping begins at the segment's page, before the segment itself */
	assert_true(modules_vaddr(map, 0x7f0c75ee1500) == 0x4e1500);
	map = modules_find(&m, 0x7f0c76411010);
	assert_true(map->has_bias && modules_vaddr(map, 0x7f0c76411010) == 0xd11010);
	assert_string_equal(modules_of(&m, map)->build_id, "0123");
	assert_false(modules_find(&m, 0x55d0c0a01000)->has_bias);
	modules_fini(&m);
}

/* The mappings of a module lead to each other, and a module without any is gone. */
static void check_chains(const struct modules *m)
{
	size_t seen = 0;

	for (uint32_t i = 0; i < m->count; i++)
		for (struct module_map *map = modules_first(m, i); map; map = modules_next(m, map), seen++)
			assert_int_equal(map->module, i);
	assert_int_equal(seen, m->map_count);
	for (size_t i = 1; i < m->map_count; i++)
		assert_true(m->maps[i].start >= m->maps[i - 1].end);
}

/* Files first, and the highest first, but for the program; then what has no file. */
static void a_limit_of_mappings(void **state)
{
	struct modules m = { 0 };
	struct out out;
	char *text;

	(void)state;
	out_init_mem(&out);
	for (unsigned int i = 0; i < 100; i++)
		out_printf(&out, "%x-%x r-xp 0 00:00 %u %s\n", 0x10000 + i * 0x1000, 0x10800 + i * 0x1000,
			   i % 3 ? i % 2 + 1 : 0, i % 3 ? i % 2 ? "/lib/odd.so" : "/lib/even.so" : "");
	text = out_take(&out);
	parse(&m, text, 0);
	check_chains(&m);
	modules_limit(&m, 100);
	assert_int_equal(m.map_count, 100);
	assert_int_equal(m.left_out, 0);
	modules_limit(&m, 80);
	check_chains(&m);
	assert_int_equal(m.map_count, 80);
	assert_int_equal(m.left_out, 20);
	assert_non_null(module_at(&m, 0x10000));
	for (unsigned int i = 0; i < 100; i++)
		if (i % 3)
			assert_non_null(module_at(&m, 0x10000 + i * 0x1000)); /* 66 of them */
	modules_limit(&m, 40);
	check_chains(&m);
	assert_non_null(module_at(&m, 0x10000 + (MODULES_LOWEST - 1) * 0x1000));
	assert_string_equal(module_at(&m, 0x10000 + 98 * 0x1000)->name, "even.so");
	assert_null(module_at(&m, 0x10000 + 99 * 0x1000));
	assert_null(module_at(&m, 0x10000 + 22 * 0x1000));
	modules_fini(&m);
	free(text);
}

static void this_process(void **state)
{
	struct modules m = { 0 };
	const struct module *own;

	(void)state;
	assert_int_equal(modules_read(&m, (uint32_t)getpid()), 0);
	own = module_at(&m, (uintptr_t)this_process);
	assert_non_null(own);
	assert_string_equal(own->name, "test_modules");
	assert_non_null(strstr(module_at(&m, (uintptr_t)getpid)->name, "libc"));
	assert_null(module_at(&m, (uintptr_t)&m)); /* the stack */
	assert_true(modules_read(&m, 0x7ffffff0) < 0);
	assert_ptr_equal(module_at(&m, (uintptr_t)this_process), own); /* a failure changes nothing */
	modules_fini(&m);
}

/* So many different paths of a MiB each. */
static size_t left_out_of(size_t paths)
{
	struct modules m = { 0 };
	struct out out;
	size_t left;
	char *text;

	out_init_mem(&out);
	for (size_t i = 0; i < paths; i++)
		out_printf(&out, "%zx-%zx r-xp 0 00:00 %zu /%0*zu\n", 0x10000 + i * 0x1000, 0x10800 + i * 0x1000, i + 1,
			   (1 << 20) - 1, i);
	out_printf(&out, "f0000-f1000 r-xp 0 00:00 1 /%0*u\n", (1 << 20) - 1, 0); /* the first one's: nothing new */
	text = out_take(&out);
	parse(&m, text, 0);
	assert_ptr_equal(module_at(&m, 0xf0000), module_at(&m, 0x10000));
	left = m.left_out;
	assert_int_equal(m.map_count, paths + 1 - left);
	modules_fini(&m);
	free(text);
	return left;
}

static void paths_are_bounded(void **state)
{
	(void)state;
	assert_int_equal(left_out_of(16), 0);
	assert_int_equal(left_out_of(17), 1);
	assert_int_equal(left_out_of(20), 4);
}

#define LEVELS 300
#define LEVEL_BYTES 250

/* A file that no path leads to: its path has 75,000 bytes. */
static int open_deep(char top[])
{
	char name[LEVEL_BYTES + 1];
	int fd, here = open(".", O_RDONLY | O_CLOEXEC);

	memset(name, 'd', LEVEL_BYTES);
	name[LEVEL_BYTES] = '\0';
	assert_non_null(mkdtemp(top));
	assert_int_equal(chdir(top), 0);
	for (int i = 0; i < LEVELS; i++) {
		assert_int_equal(mkdir(name, 0700), 0);
		assert_int_equal(chdir(name), 0);
	}
	fd = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 2 * getpagesize()), 0);
	assert_int_equal(fchdir(here), 0);
	close(here);
	return fd;
}

/* Its pages in the wrong order, so that the kernel does not join mappings. */
static void *map_pages(int fd, size_t count)
{
	size_t page = (size_t)getpagesize();
	char *at = mmap(NULL, count * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; i < count; i++)
		assert_ptr_equal(mmap(at + i * page, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
				      i % 2 ? 0 : (off_t)page), at + i * page);
	return at;
}

/* A line of /proc/PID/maps can be of any length, and the file can have gigabytes. */
static void endless_lines(void **state)
{
	char top[] = "/tmp/gmt-test-XXXXXX", command[64];
	int fd = open_deep(top);
	void *at = map_pages(fd, 3);
	struct modules m = { 0 };

	(void)state;
	assert_int_equal(modules_read(&m, (uint32_t)getpid()), 0);
	assert_int_equal(m.left_out, 0);
	assert_int_equal(module_at(&m, (uintptr_t)at)->kind, MODULE_FILE);
	assert_in_range(strlen(module_at(&m, (uintptr_t)at)->path), 60000, 65536); /* cut */
	assert_string_equal(module_at(&m, (uintptr_t)endless_lines)->name, "test_modules");
	assert_non_null(strstr(module_at(&m, (uintptr_t)getpid)->name, "libc"));
	map_pages(fd, 2400);                      /* 1200 mappings, 90 MB */
	assert_int_equal(modules_read(&m, (uint32_t)getpid()), 0);
	assert_in_range(m.left_out, 1, 1000);
	assert_in_range(m.map_count, 500, 1000);
	modules_fini(&m);
	close(fd);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	assert_int_equal(system(command), 0);
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The CPU time for so many mappings of different files, each mapped twice. */
static uint64_t time_to_parse(size_t files)
{
	size_t room = files * 2 * 80, used = 0;
	char *text = xmalloc(room);
	struct modules m = { 0 };
	uint64_t best = UINT64_MAX;

	for (size_t i = 0; i < 2 * files; i++)
		used += (size_t)snprintf(text + used, room - used, "%zx000-%zx000 r-xp 00000000 fe:00 %zu /tmp/file%zu.so\n",
					 0x10000 + i, 0x10001 + i, i % files + 1, i % files);
	for (int i = 0; i < 3; i++) {
		uint64_t start_ns = cpu_ns(), ns;

		assert_int_equal(modules_parse(&m, 1, text, used), 0);
		ns = cpu_ns() - start_ns;
		best = ns < best ? ns : best;
	}
	assert_int_equal(m.count, files);
	assert_int_equal(m.map_count, 2 * files);
	assert_int_equal(m.maps[2 * files - 1].module, files - 1);
	modules_fini(&m);
	free(text);
	return best;
}

/* 16 times as many files take 16 times as long, not 256 times. */
static void many_files(void **state)
{
	(void)state;
	assert_true(time_to_parse(32000) < 100 * time_to_parse(2000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_typical_process),
		cmocka_unit_test(damaged_lines_are_counted),
		cmocka_unit_test(a_newline_in_a_path),
		cmocka_unit_test(bias_is_by_segment),
		cmocka_unit_test(a_limit_of_mappings),
		cmocka_unit_test(this_process),
		cmocka_unit_test(many_files),
		cmocka_unit_test(paths_are_bounded),
		cmocka_unit_test(endless_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-2-Clause
/* What /proc says about processes: texts as kernels write them, damaged ones, and this machine's own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "live/process/procfs.h"

static void parse_map(const char *line, struct maps_line *map)
{
	assert_int_equal(maps_parse_line(line, strlen(line), map), 0);
}

static void map_of_a_library(void **state)
{
	struct maps_line map;

	(void)state;
	parse_map("7f0c75ee1000-7f0c76401000 r-xp 000e1000 fe:00 10953264                   "
		  "/usr/lib/libcuda.so.1\n",
		  &map);
	assert_true(map.start == 0x7f0c75ee1000 && map.end == 0x7f0c76401000);
	assert_true(map.offset == 0xe1000 && map.ino == 10953264);
	assert_int_equal(map.dev_major, 0xfe);
	assert_int_equal(map.dev_minor, 0);
	assert_true(map.executable);
	assert_false(map.deleted);
	assert_int_equal(map.path_len, strlen("/usr/lib/libcuda.so.1"));
	assert_memory_equal(map.path, "/usr/lib/libcuda.so.1", map.path_len);
}

static void map_of_a_deleted_file_with_blanks(void **state)
{
	struct maps_line map;

	(void)state;
	parse_map("1000-2000 rw-p 00000000 103:1f 7 /tmp/a b (deleted) (deleted)\n", &map);
	assert_false(map.executable);
	assert_true(map.deleted);
	assert_int_equal(map.dev_major, 0x103);
	assert_int_equal(map.dev_minor, 0x1f);
	assert_int_equal(map.path_len, strlen("/tmp/a b (deleted)"));
}

static void map_without_a_file(void **state)
{
	struct maps_line map;

	(void)state;
	parse_map("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n",
		  &map);
	assert_true(map.start == 0xffffffffff600000 && map.ino == 0);
	parse_map("1000-2000 r--p 00000000 00:00 0 \n", &map);
	assert_int_equal(map.path_len, 0);
	parse_map("1000-2000 r--p 00000000 00:00 0", &map);
	assert_int_equal(map.path_len, 0);
}

static void damaged_maps_are_refused(void **state)
{
	static const char good[] = "1000-2000 r-xp 00000000 00:00 5";
	static const char *const bad[] = {
		"",
		"\n",
		"2000-1000 r-xp 00000000 00:00 0 /x",
		"11112222333344445-2000 r-xp 0 0:0 0 /x",
		"1000-2000 r-xp  00000000 00:00 0",
		"1000-2000 r-xpp 00000000 00:00 0",
		"1000-2000 r-xp 00000000 0000 0",
		"xyz",
	};
	struct maps_line map;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(maps_parse_line(bad[i], strlen(bad[i]), &map), -EINVAL);
	/* cut off anywhere before its inode: refused, and nothing behind it is read */
	for (size_t len = 0; len < sizeof(good) - 2; len++) {
		char *copy = malloc(len ? len : 1);

		memcpy(copy, good, len);
		assert_int_equal(maps_parse_line(copy, len, &map), -EINVAL);
		free(copy);
	}
	assert_int_equal(maps_parse_line(good, sizeof(good) - 1, &map), 0);
}

#define STAT_TAIL " 1 100 100 0 -1 4194560 12 0 0 0 0 0 0 0 20 0 1 0 1937580 2932736 1 1844674407370955161"

static void stat_with_brackets_in_the_name(void **state)
{
	static const char text[] = "4242 (a) R (b c) S" STAT_TAIL;
	struct procfs_stat stat;

	(void)state;
	assert_int_equal(procfs_parse_stat(text, strlen(text), 100, &stat), 0);
	assert_int_equal(stat.pid, 4242);
	assert_string_equal(stat.comm, "a) R (b c");
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.parent, 1);
	assert_false(stat.kernel_thread);
	assert_true(stat.start_ticks == 1937580);
	assert_true(stat.start_ns == 19375800000000);
}

static void stat_of_one_that_has_ended(void **state)
{
	static const struct {
		const char *text;
		bool ended;
	} cases[] = {
		{ "1 (x) Z 1 1 1 0 -1 4194560 12 0 0 0 0 0 0 0 20 0 1 0 5", true },
		{ "1 (x) X 1 1 1 0 -1 4194560 12 0 0 0 0 0 0 0 20 0 0 0 5", true },
		{ "1 (x) Z 1 1 1 0 -1 4194560 12 0 0 0 0 0 0 0 20 0 2 0 5", false }, /* others go on */
		{ "1 (x) S 1 1 1 0 -1 4194560 12 0 0 0 0 0 0 0 20 0 1 0 5", false },
	};
	struct procfs_stat stat;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(procfs_parse_stat(cases[i].text, strlen(cases[i].text), 100, &stat), 0);
		assert_int_equal(stat.ended, cases[i].ended);
		assert_true(stat.start_ticks == 5);
	}
}

static void stat_of_other_tick_rates(void **state)
{
	static const char text[] = "1 (x) S" STAT_TAIL;
	struct procfs_stat stat;

	(void)state;
	assert_int_equal(procfs_parse_stat(text, strlen(text), 1024, &stat), 0);
	assert_true(stat.start_ns == 1937580ull * 1000000000 / 1024);
	assert_int_equal(procfs_parse_stat(text, strlen(text), 0, &stat), -EINVAL);
}

static void stat_of_a_kernel_thread(void **state)
{
	static const char text[] =
		"2 (kworker/u8:5-events_unbound) I 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 "
		"23 0 0";
	struct procfs_stat stat;

	(void)state;
	assert_int_equal(procfs_parse_stat(text, strlen(text), 100, &stat), 0);
	assert_true(stat.kernel_thread);
	assert_string_equal(stat.comm, "kworker/u8:5-ev"); /* cut, still ended */
}

static void damaged_stats_are_refused(void **state)
{
	static const char text[] = "4242 (abc) S 1 100 100 0 -1 4194560 12 0 0 0 0 0 0 0 20 0 1 0 1";
	struct procfs_stat stat;

	(void)state;
	assert_int_equal(procfs_parse_stat(text, sizeof(text) - 1, 100, &stat), 0);
	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		char *copy = malloc(len ? len : 1);

		memcpy(copy, text, len);
		assert_int_equal(procfs_parse_stat(copy, len, 100, &stat), -EINVAL);
		free(copy);
	}
	assert_int_equal(procfs_parse_stat(") (", 3, 100, &stat), -EINVAL);
}

static void status_in_nested_namespaces(void **state)
{
	static const char text[] = "Name:\tpython\nUmask:\t0022\nState:\tS (sleeping)\n"
				   "Tgid:\t4000\nNgid:\t0\nPid:\t4007\nPPid:\t3990\nTracerPid:\t0\nUid:"
				   "\t1000\t0\t0\t0\nGid:\t0\t0\t0\t0\n"
				   "NStgid:\t4000\t12\t1\nNSpid:\t4007\t19\t8\nCapEff:\t000001ffffffffff\n";
	struct procfs_status status;

	(void)state;
	assert_int_equal(procfs_parse_status(text, strlen(text), &status), 0);
	assert_int_equal(status.tgid, 4000);
	assert_int_equal(status.uid, 1000);
	assert_int_equal(status.ns_count, 3);
	assert_int_equal(status.ns_pid[0], 4000);
	assert_int_equal(status.ns_pid[2], 1);
	assert_true(status.cap_effective == 0x1ffffffffff);
}

static void status_without_namespaces(void **state)
{
	static const char text[] = "Name:\tTgid: 7\nTgid:\t9\nPPid:\t1\nUid:\t0\t0\t0\t0\n";
	struct procfs_status status;

	(void)state;
	assert_int_equal(procfs_parse_status(text, strlen(text), &status), 0);
	assert_int_equal(status.tgid, 9);
	assert_int_equal(status.ns_count, 1);
	assert_int_equal(status.ns_pid[0], 9);
	assert_int_equal(procfs_parse_status("Tgid:\t9\n", 8, &status), -EINVAL);
	assert_int_equal(procfs_parse_status("", 0, &status), -EINVAL);
}

static void confined(const char *lines, unsigned int seccomp, bool shadow_stack)
{
	struct procfs_status status;
	char text[256];

	snprintf(text, sizeof(text), "Name:\tshstk\nTgid:\t9\nPPid:\t1\nUid:\t0\t0\t0\t0\n%s", lines);
	assert_int_equal(procfs_parse_status(text, strlen(text), &status), 0);
	assert_int_equal(status.seccomp, seccomp);
	assert_int_equal(status.shadow_stack, shadow_stack);
}

static void status_of_confined_threads(void **state)
{
	(void)state;
	confined("", 0, false);
	confined("NoNewPrivs:\t1\nSeccomp:\t0\nSeccomp_filters:\t0\n", 0, false);
	confined("Seccomp:\t1\n", 1, false);
	confined("Seccomp:\t2\nSeccomp_filters:\t1\nx86_Thread_features:\t\nx86_Thread_features_locked:\t\n", 2, false);
	confined("Seccomp:\t0\nx86_Thread_features:\tshstk \nx86_Thread_features_locked:\tshstk wrss \n", 0, true);
	confined("x86_Thread_features:\tshstk wrss \n", 0, true);
	confined("x86_Thread_features:\t\nx86_Thread_features_locked:\tshstk wrss \n", 0, false);
}

static void cgroup(const char *text, const char *wanted)
{
	char out[64];

	procfs_parse_cgroup(text, strlen(text), out, sizeof(out));
	assert_string_equal(out, wanted);
}

static void cgroups_of_both_versions(void **state)
{
	(void)state;
	cgroup("0::/user.slice/session-1.scope\n", "/user.slice/session-1.scope");
	cgroup("12:pids:/docker/0123\n3:cpu,cpuacct:/docker/0123\n0::/\n", "/docker/0123");
	cgroup("1:name=systemd:/a:b\n", "/a:b");
	cgroup("0::/", "/");
	cgroup("", "");
	cgroup("nonsense\n:\n", "");
}

static void outer_slices_are_left_out(void **state)
{
	static const char text[] =
		"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0b1c2d3e_1111_4222_8333_444455556666.slice"
		"/cri-containerd-3f2a9c1b77d0aa11bb22cc33dd44ee55ff660011223344556677889900aabbcc.scope\n";
	char out[128];

	(void)state;
	procfs_parse_cgroup(text, strlen(text), out, sizeof(out));
	assert_string_equal(out, "/kubepods-burstable-pod0b1c2d3e_1111_4222_8333_444455556666.slice"
				 "/cri-containerd-3f2a9c1b77d0aa11bb22cc33dd44ee55ff660011223344");
	procfs_parse_cgroup("0::/a.slice/b.slice/c", 21, out, 10);
	assert_string_equal(out, "/a.slice/");
	procfs_parse_cgroup("0::/a.slice/a-b.slice/c", 23, out, 13);
	assert_string_equal(out, "/a-b.slice/c");
}

static void long_cgroups_are_cut(void **state)
{
	static const char text[] = "0::/kubepods/burstable/a";
	char out[12];

	(void)state;
	procfs_parse_cgroup(text, strlen(text), out, sizeof(out));
	assert_string_equal(out, "/kubepods/b");
}

static void command_lines(void **state)
{
	char out[16];

	(void)state;
	procfs_parse_cmdline("python\0train.py\0", 16, out, sizeof(out));
	assert_string_equal(out, "python train.py");
	procfs_parse_cmdline("a\0\0b\nc\033[1m\0\0\0", 13, out, sizeof(out));
	assert_string_equal(out, "a  b?c?[1m");
	procfs_parse_cmdline("0123456789abcdefgh", 18, out, sizeof(out));
	assert_string_equal(out, "0123456789abcde");
	procfs_parse_cmdline("", 0, out, sizeof(out));
	assert_string_equal(out, "");
}

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

static void own_process(void **state)
{
	struct timespec before, after;
	struct gmt_proc proc;
	pid_t child;

	(void)state;
	clock_gettime(CLOCK_BOOTTIME, &before);
	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	clock_gettime(CLOCK_BOOTTIME, &after);
	assert_int_equal(procfs_proc(child, &proc), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	/* As exactly as the kernel says it: in hundredths of a second. */
	assert_in_range(proc.start_ns, ns_of(&before) - 10000000, ns_of(&after));
	assert_int_equal(proc.hdr.kind, GMT_KIND_PROC);
	assert_int_equal(proc.hdr.size, sizeof(proc));
	assert_int_equal(proc.hdr.tgid, child);
	assert_int_equal(proc.parent_tgid, getpid());
	assert_int_equal(proc.uid, getuid());
	assert_non_null(strstr((char *)proc.cmdline, "procfs"));
	assert_non_null(strstr((char *)proc.comm, "procfs"));
	assert_int_equal(procfs_proc(child, &proc), -ESRCH);
}

static int count_maps(const struct maps_line *map, void *arg)
{
	size_t *count = arg;

	assert_true(map->end > map->start);
	return ++*count == 3 ? 77 : 0;
}

static void *pause_here(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

/* Its main thread ends, another one goes on. */
static pid_t start_mainless(void)
{
	pid_t child = fork();
	pthread_t thread;

	if (!child) {
		pthread_create(&thread, NULL, pause_here, NULL);
		syscall(SYS_exit, 0);
	}
	return child;
}

static void a_process_without_its_main_thread(void **state)
{
	struct procfs_stat stat = { 0 };
	size_t maps = 0;
	pid_t child;

	(void)state;
	assert_int_equal(procfs_reader(getpid()), getpid());
	child = start_mainless();
	while (!procfs_is_zombie(&stat))
		assert_int_equal(procfs_stat(child, &stat), 0);
	assert_false(stat.ended);
	assert_int_not_equal(procfs_reader(child), child);
	assert_int_equal(procfs_maps(child, count_maps, &maps), 0);
	assert_int_equal(maps, 0);
	assert_int_equal(procfs_maps(procfs_reader(child), count_maps, &maps), 77);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void walking_the_maps(void **state)
{
	size_t count = 0;

	(void)state;
	assert_int_equal(procfs_maps(getpid(), count_maps, &count), 77);
	assert_int_equal(count, 3);
	assert_int_equal(procfs_maps(0x3fffffff, count_maps, &count), -ESRCH);
	count = 3; /* past the one that stops */
	assert_int_equal(procfs_maps(getpid(), count_maps, &count), 0);
	assert_true(count > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(map_of_a_library),
		cmocka_unit_test(map_of_a_deleted_file_with_blanks),
		cmocka_unit_test(map_without_a_file),
		cmocka_unit_test(damaged_maps_are_refused),
		cmocka_unit_test(stat_with_brackets_in_the_name),
		cmocka_unit_test(stat_of_one_that_has_ended),
		cmocka_unit_test(stat_of_other_tick_rates),
		cmocka_unit_test(stat_of_a_kernel_thread),
		cmocka_unit_test(damaged_stats_are_refused),
		cmocka_unit_test(status_in_nested_namespaces),
		cmocka_unit_test(status_without_namespaces),
		cmocka_unit_test(status_of_confined_threads),
		cmocka_unit_test(cgroups_of_both_versions),
		cmocka_unit_test(outer_slices_are_left_out),
		cmocka_unit_test(long_cgroups_are_cut),
		cmocka_unit_test(command_lines),
		cmocka_unit_test(own_process),
		cmocka_unit_test(a_process_without_its_main_thread),
		cmocka_unit_test(walking_the_maps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

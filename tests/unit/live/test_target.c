// SPDX-License-Identifier: BSD-2-Clause
/* Processes and the libcuda files they have mapped: children made here that load small libraries. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "compile.h"
#include "live/probe/library.h"
#include "live/probe/target.h"
#include "live/process/procfs.h"
#include "patience.h"

#define SOURCE                                                               \
	"int cuInit(void) { return 0; } int cuMemCreate(void) { return 0; }" \
	"int cuMemAlloc_v2(void) { return 0; }"

static void names(void **state)
{
	static const char *const good[] = {
		"libcuda.so",
		"libcuda.so.1",
		"/usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04",
		"/x/libcuda.so.1.1",
	};
	static const char *const bad[] = {
		"",	   "libcudart.so.13",	   "/usr/lib/libcuda.so/readme", "libcuda.sox",
		"libcuda", "libcudadebugger.so.1", "/x/libcuda_loader.so",	 "my-libcuda.so.1",
	};

	static const char *const c10[] = { "libc10.so", "/x/torch/lib/libc10.so", "/usr/lib/libc10.so.1.13" };
	static const char *const not_c10[] = { "/x/torch/lib/libc10_hip.so", "libc10d.so", "libc10" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(library_kind_of(c10[i], strlen(c10[i]))->stem, "libc10.so");
		assert_null(library_kind_of(not_c10[i], strlen(not_c10[i])));
	}
	assert_string_equal(library_kind_of("/x/libc10_cuda.so", 17)->stem, "libc10_cuda.so");
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_ptr_equal(library_kind_of(good[i], strlen(good[i])), &library_cuda);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_null(library_kind_of(bad[i], strlen(bad[i])));
}

/* A child that has opened `libraries` and then waits to be killed. */
static pid_t child_with(const char *const *libraries, const char *device)
{
	int ready[2];
	char byte;
	pid_t child;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (; *libraries; libraries++) {
			if (!dlopen(*libraries, RTLD_NOW))
				_exit(1);
		}
		if (device && open(device, O_RDONLY) < 0)
			_exit(2);
		if (write(ready[1], "r", 1) != 1)
			_exit(3);
		pause();
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return child;
}

static void end_child(pid_t child)
{
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

struct found {
	pid_t wanted;
	size_t count;
	uint64_t ino[4];
	char path[4][256];
	int answer;
};

static int note(const struct target_library *library, void *arg)
{
	struct found *found = arg;
	struct library lib;

	if (library->pid != found->wanted)
		return 0;
	assert_int_equal(library_open(library->attach_path, &library_cuda, &lib), 0);
	assert_true(lib.is_one);
	assert_true(found->count < 4);
	found->ino[found->count] = lib.ino;
	snprintf(found->path[found->count], sizeof(found->path[0]), "%s", library->path);
	found->count++;
	return found->answer;
}

static void library_of_a_process(void **state)
{
	struct workdir *dir = *state;
	struct driver_info driver;
	struct found found = { 0 };
	char path[128];
	struct stat st;

	compile_library(dir, "libcuda.so.1", SOURCE, "", path, sizeof(path));
	assert_int_equal(stat(path, &st), 0);
	driver_probe("", &driver);
	found.wanted = child_with((const char *const[]){ path, NULL }, NULL);
	assert_int_equal(target_libraries(found.wanted, note, &found), 0);
	assert_int_equal(found.count, 1); /* several mappings of one file are one library */
	assert_true(found.ino[0] == st.st_ino);
	assert_string_equal(found.path[0], path);
	found.count = 0;
	assert_int_equal(target_scan(note, &found), 0);
	assert_int_equal(found.count, 1);
	assert_int_equal(target_uses(found.wanted, &driver), TARGET_USES_LIBCUDA);
	end_child(found.wanted);
	assert_int_equal(target_libraries(found.wanted, note, &found), -ESRCH);
	assert_int_equal(target_uses(found.wanted, &driver), -ESRCH);
}

/* NVML loads libcuda into the collector: it is no target. */
static void the_caller_is_not_scanned(void **state)
{
	struct workdir *dir = *state;
	struct found found = { .wanted = getpid() };
	char path[128];
	void *library;

	compile_library(dir, "libcuda.so.1", SOURCE, "", path, sizeof(path));
	library = dlopen(path, RTLD_NOW);
	assert_non_null(library);
	assert_int_equal(target_scan(note, &found), 0);
	assert_int_equal(found.count, 0);
	assert_int_equal(target_libraries(getpid(), note, &found), 0);
	assert_int_equal(found.count, 1);
	dlclose(library);
}

static void two_libraries_in_one_process(void **state)
{
	struct workdir *dir = *state;
	struct found found = { 0 };
	char one[128], two[128], other[128];

	compile_library(dir, "libcuda.so.1", SOURCE, "", one, sizeof(one));
	compile_library(dir, "libcuda.so.535.1", SOURCE, "", two, sizeof(two));
	compile_library(dir, "libcudart.so.12", SOURCE, "", other, sizeof(other));
	found.wanted = child_with((const char *const[]){ one, other, two, NULL }, NULL);
	assert_int_equal(target_libraries(found.wanted, note, &found), 0);
	assert_int_equal(found.count, 2);
	assert_true(found.ino[0] != found.ino[1]);
	found.count = 0;
	found.answer = 5; /* stops at the first */
	assert_int_equal(target_libraries(found.wanted, note, &found), 5);
	assert_int_equal(found.count, 1);
	found.count = 0;
	assert_int_equal(target_scan(note, &found), 5);
	assert_int_equal(found.count, 1);
	end_child(found.wanted);
}

static void a_library_replaced_on_disk(void **state)
{
	struct workdir *dir = *state;
	struct found found = { 0 };
	struct stat before, after;
	char path[128], again[128];

	if (geteuid())
		skip(); /* map_files wants privileges */
	compile_library(dir, "libcuda.so.1", SOURCE, "", path, sizeof(path));
	assert_int_equal(stat(path, &before), 0);
	found.wanted = child_with((const char *const[]){ path, NULL }, NULL);
	compile_library(dir, "new", SOURCE, "", again, sizeof(again));
	assert_int_equal(rename(again, path), 0);
	assert_int_equal(stat(path, &after), 0);
	assert_true(before.st_ino != after.st_ino);
	assert_int_equal(target_libraries(found.wanted, note, &found), 0);
	assert_int_equal(found.count, 1);
	assert_true(found.ino[0] == before.st_ino); /* the one that runs */
	end_child(found.wanted);
}

static int map_zero(const struct workdir *dir)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/libcuda.so.1", dir->path);
	fd = mknod(path, S_IFCHR | 0600, makedev(1, 5)) ? -1 : open(path, O_RDONLY);
	return fd < 0 || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED;
}

/* A child that does `act` and then waits to be killed; skips the test if it could not. */
static pid_t child_that(int (*act)(const struct workdir *dir), const struct workdir *dir)
{
	int pipes[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		byte = (char)act(dir);
		if (write(pipes[1], &byte, 1) == 1)
			pause();
		_exit(0);
	}
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	close(pipes[0]);
	if (byte) {
		end_child(child);
		skip();
	}
	return child;
}

/* It is mapped, executable and named so, and yet not opened. */
static void a_device_named_like_a_library(void **state)
{
	struct found found = { .wanted = child_that(map_zero, *state) };

	assert_int_equal(target_libraries(found.wanted, note, &found), 0);
	assert_int_equal(found.count, 0);
	end_child(found.wanted);
}

/* Keeps what reading /proc takes: map_files is out of reach. */
static int keep_ptrace(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { .effective = 1 << CAP_SYS_PTRACE, .permitted = 1 << CAP_SYS_PTRACE } };

	return (int)syscall(SYS_capset, &header, data);
}

static int answer_seen(const struct target_library *library, void *arg)
{
	(void)arg;
	return library->err ? library->err : 99;
}

/* What someone answers who may not use map_files: as an exit status. */
static int look_without_rights(pid_t pid)
{
	int status;
	pid_t child = fork();

	if (!child) {
		alarm(PATIENCE);
		_exit(keep_ptrace() ? 77 : abs(target_libraries(pid, answer_seen, NULL)));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int load_and_leave(const struct workdir *dir)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/libcuda.so.1", dir->path);
	if (!dlopen(path, RTLD_NOW))
		return 1;
	snprintf(path, sizeof(path), "%s/root", dir->path);
	return chroot(path);
}

/* In a root of its own a process may put anything at the path of what it has mapped: here links to our files. */
static void another_file_at_the_path(void **state)
{
	static const struct {
		const char *make;
		int answer;
	} cases[] = {
		{ "ln -s $DIR/source.c libcuda.so.1", 0 }, /* in its root there is none */
		{ "ln -s ../../../../$DIR/source.c libcuda.so.1", 0 },
		{ "ln -s /dev/zero libcuda.so.1", 0 },
		{ "mkfifo libcuda.so.1", 0 },
		{ "cp $DIR/libcuda.so.1 .", ESTALE },
		{ "ln $DIR/libcuda.so.1 .", 99 },
	};
	struct workdir *dir = *state;
	char path[128], command[512];
	pid_t child;

	compile_library(dir, "libcuda.so.1", SOURCE, "", path, sizeof(path));
	snprintf(command, sizeof(command), "mkdir -p %s/root/%s", dir->path, dir->path);
	assert_int_equal(run_shell(command), 0);
	child = child_that(load_and_leave, dir);
	if (look_without_rights(child) == 77) {
		end_child(child);
		skip();
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(command, sizeof(command), "DIR=%s && cd $DIR/root/$DIR && rm -f libcuda.so.1 && %s", dir->path,
			 cases[i].make);
		assert_int_equal(run_shell(command), 0);
		assert_int_equal(look_without_rights(child), cases[i].answer);
	}
	end_child(child);
}

static void devices_of_a_process(void **state)
{
	struct workdir *dir = *state;
	struct driver_info driver;
	char path[128];
	pid_t child;

	driver_probe("", &driver);
	child = child_with((const char *const[]){ NULL }, "/dev/null");
	assert_int_equal(target_uses(child, &driver), 0);
	assert_int_equal(target_uses(child, NULL), 0);
	driver.nvidia_major = 1; /* as if /dev/null were NVIDIA's */
	assert_int_equal(target_uses(child, &driver), TARGET_USES_DEVICE);
	end_child(child);
	if (geteuid())
		skip();
	snprintf(path, sizeof(path), "%s/dev", dir->path);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/dev/nvidiactl", dir->path);
	if (mknod(path, S_IFCHR | 0600, 1 << 8 | 3))
		skip();
	child = child_with((const char *const[]){ NULL }, path);
	assert_int_equal(target_uses(child, NULL), TARGET_USES_DEVICE);
	end_child(child);
}

static void inspect(pid_t pid, enum target_kind wanted)
{
	struct target_info info;

	target_inspect(pid, &info);
	assert_int_equal(info.kind, wanted);
}

static void *wait_here(void *arg)
{
	int *pipes = arg;
	pid_t tid = (pid_t)syscall(SYS_gettid);
	char byte;

	assert_int_equal(write(pipes[1], &tid, sizeof(tid)), sizeof(tid));
	assert_int_equal(read(pipes[2], &byte, 1), 1);
	return NULL;
}

static void what_a_pid_can_be(void **state)
{
	struct target_info info;
	pthread_t thread;
	int pipes[4]; /* there and back */
	siginfo_t exited;
	pid_t child, tid;

	(void)state;
	target_inspect(getpid(), &info);
	assert_int_equal(info.kind, TARGET_PROCESS);
	assert_int_equal(info.tgid, getpid());
	assert_string_equal(target_kind_text(TARGET_NONE), "does not exist");

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(pipe(pipes + 2), 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_here, pipes), 0);
	assert_int_equal(read(pipes[0], &tid, sizeof(tid)), sizeof(tid));
	target_inspect(tid, &info);
	assert_int_equal(info.kind, TARGET_THREAD);
	assert_int_equal(info.tgid, getpid());
	assert_int_equal(write(pipes[3], "x", 1), 1);
	pthread_join(thread, NULL);

	child = fork();
	if (!child)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)child, &exited, WEXITED | WNOWAIT), 0);
	inspect(child, TARGET_ZOMBIE);
	waitpid(child, NULL, 0);
	inspect(child, TARGET_NONE);
	inspect(0x3fffffff, TARGET_NONE);
	if (target_pids_are_initial())
		inspect(2, TARGET_KERNEL); /* kthreadd */
}

static void a_process_in_a_namespace_of_its_own(void **state)
{
	struct target_info info;
	struct gmt_proc proc;
	int status, ready[2];
	char byte;
	pid_t between, inner;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	between = fork();
	if (!between) {
		if (unshare(CLONE_NEWPID))
			_exit(77);
		inner = fork();
		if (!inner) {
			pause();
			_exit(0);
		}
		if (write(ready[1], &inner, sizeof(inner)) != sizeof(inner) || read(ready[0], &byte, 0) < 0)
			_exit(1);
		waitpid(inner, NULL, 0);
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &inner, sizeof(inner)) != sizeof(inner)) {
		waitpid(between, &status, 0);
		assert_int_equal(WEXITSTATUS(status), 77);
		skip();
	}
	target_inspect(inner, &info);
	assert_int_equal(info.kind, TARGET_PROCESS);
	assert_int_equal(procfs_proc(inner, &proc), 0);
	assert_int_equal(proc.ns_pid, 1);
	assert_int_equal(info.tgid, inner);
	kill(inner, SIGKILL);
	waitpid(between, NULL, 0);
	close(ready[0]);
}

static void library_by_search_path(void **state)
{
	struct workdir *dir = *state;
	char path[128], found[4096], item[256], wrong[128];

	compile_library(dir, "libcuda.so.1", SOURCE, "", path, sizeof(path));
	snprintf(item, sizeof(item), "/nowhere:%s;/usr/lib", dir->path);
	setenv("LD_LIBRARY_PATH", item, 1);
	assert_int_equal(target_default_library(found, sizeof(found)), 0);
	assert_string_equal(found, path);
	/* a file that is no 64-bit library is passed over, as ld.so does */
	snprintf(wrong, sizeof(wrong), "%s/32", dir->path);
	assert_int_equal(mkdir(wrong, 0755), 0);
	snprintf(wrong, sizeof(wrong), "%s/32/libcuda.so.1", dir->path);
	fclose(fopen(wrong, "w"));
	snprintf(item, sizeof(item), "%s/32:%s", dir->path, dir->path);
	setenv("LD_LIBRARY_PATH", item, 1);
	assert_int_equal(target_default_library(found, sizeof(found)), 0);
	assert_string_equal(found, path);
	/* an empty item is the current directory */
	assert_int_equal(chdir(dir->path), 0);
	setenv("LD_LIBRARY_PATH", ":/nowhere", 1);
	assert_int_equal(target_default_library(found, sizeof(found)), 0);
	assert_string_equal(found, "./libcuda.so.1");
	assert_int_equal(chdir("/"), 0);
	unsetenv("LD_LIBRARY_PATH");
}

#if defined(__x86_64__)
#define FLAGS 0x0303
#else
#define FLAGS 0x0a03
#endif

/* A cache of three entries as ldconfig writes it, with room for a path; its size. */
static size_t make_cache(char *cache, const char *path)
{
	static const char strings[] = "libcuda.so.1\0/nowhere/libcuda.so.1\0libfoo.so";
	const uint32_t base = 48 + 3 * 24, key = base, missing = base + 13, foo = missing + 22;
	const uint32_t there = base + sizeof(strings);
	const uint32_t entries[3][6] = {
		{ FLAGS, foo, there },
		{ FLAGS, key, missing },
		{ FLAGS, key, there },
	};
	const uint32_t counts[2] = { 3, (uint32_t)(sizeof(strings) + strlen(path) + 1) };

	memset(cache, 0, 48);
	memcpy(cache, "glibc-ld.so.cache1.1", 20);
	memcpy(cache + 20, counts, sizeof(counts));
	memcpy(cache + 48, entries, sizeof(entries));
	memcpy(cache + base, strings, sizeof(strings));
	memcpy(cache + there, path, strlen(path) + 1);
	return there + strlen(path) + 1;
}

static void library_by_cache(void **state)
{
	struct workdir *dir = *state;
	char path[128], found[256], cache[1024], old[1200] = "ld.so-1.7.0";
	uint32_t foreign = 0x0003;
	size_t size;

	compile_library(dir, "libcuda.so.1", SOURCE, "", path, sizeof(path));
	size = make_cache(cache, path);
	assert_true(target_search_cache(cache, size, "libcuda.so.1", found, sizeof(found)));
	assert_string_equal(found, path);
	assert_false(target_search_cache(cache, size, "libcuda.so", found, sizeof(found)));
	assert_false(target_search_cache(cache, size, "libcuda.so.1", found, 5)); /* no room */
	memcpy(old + 160, cache, size); /* behind one of the old format */
	assert_true(target_search_cache(old, 160 + size, "libcuda.so.1", found, sizeof(found)));
	for (size_t len = 0; len < size; len++) { /* cut off: never what it is not, never read past its end */
		char *copy = malloc(len ? len : 1);

		memcpy(copy, cache, len);
		assert_false(target_search_cache(copy, len, "libcuda.so.1", found, sizeof(found)));
		free(copy);
	}
	memcpy(cache + 48 + 2 * 24, &foreign, 4); /* a 32-bit library's entry */
	assert_false(target_search_cache(cache, size, "libcuda.so.1", found, sizeof(found)));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, workdir_make, workdir_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		TEST(library_of_a_process),
		TEST(the_caller_is_not_scanned),
		TEST(two_libraries_in_one_process),
		TEST(a_library_replaced_on_disk),
		TEST(a_device_named_like_a_library),
		TEST(another_file_at_the_path),
		TEST(devices_of_a_process),
		cmocka_unit_test(what_a_pid_can_be),
		cmocka_unit_test(a_process_in_a_namespace_of_its_own),
		TEST(library_by_search_path),
		TEST(library_by_cache),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

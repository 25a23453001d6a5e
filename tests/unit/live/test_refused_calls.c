// SPDX-License-Identifier: BSD-2-Clause
/* What the tracer may still do, and what not. Each case runs in a child, which the filter ends with. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "live/process/refused_calls.h"

static bool is_refused(long result)
{
	return result == -1 && errno == EPERM;
}

static int fails(const char *what)
{
	print_error("%s\n", what);
	return 1;
}

static int try_programs(void)
{
	char *const argv[] = { "/bin/true", NULL };

	if (!is_refused(execv(argv[0], argv)) || !is_refused(syscall(SYS_execveat, -1, argv[0], argv, NULL, 0)))
		return fails("a program was started");
	if (!is_refused(fork()) || !is_refused(syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL)))
		return fails("a process was started");
	if (syscall(SYS_clone3, NULL, 0) != -1 || errno != ENOSYS)
		return fails("clone3() is not missing");
	return 0;
}

static int try_others(void)
{
	char byte = 0;
	struct iovec iov = { &byte, 1 };

	if (!is_refused(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL)))
		return fails("ptrace");
	if (!is_refused(process_vm_writev(getpid(), &iov, 1, &iov, 1, 0)))
		return fails("another process can be written to");
	if (!is_refused(setuid(getuid())) || !is_refused(setgid(getgid())))
		return fails("another user");
	if (!is_refused(mount("", "", "", 0, NULL)) || !is_refused(umount2("", 0)) || !is_refused(chroot("/")))
		return fails("mounts");
	if (!is_refused(syscall(SYS_finit_module, -1, "", 0)) || !is_refused(syscall(SYS_unshare, 0)))
		return fails("modules or namespaces");
	return 0;
}

static int try_devices(void)
{
	if (!is_refused(socket(AF_UNIX, SOCK_STREAM, 0)) || !is_refused(socket(AF_INET, SOCK_DGRAM, 0)))
		return fails("a socket");
	if (!is_refused(syscall(SYS_io_uring_setup, 1, NULL)))
		return fails("io_uring");
	if (!is_refused(ioctl(STDIN_FILENO, TIOCSTI, "x")))
		return fails("input for the terminal");
	if (!is_refused(syscall(SYS_open_by_handle_at, -1, NULL, 0)))
		return fails("a file by its handle");
	if (!is_refused(mknod("/dev/null", 0600, 0)) || !is_refused(fchmod(STDIN_FILENO, 0777)))
		return fails("a device, or a file's mode");
	return 0;
}

/* The filter looks at the numbers alone, so a kernel that lacks a call refuses it, too. The numbers are those of Linux
 * 6.18, include/uapi/asm-generic/unistd.h. */
static int try_newer(void)
{
	static const struct { int number; const char *name; } calls[] = {
		{ 443, "quotactl_fd" }, { 448, "process_mrelease" }, { 452, "fchmodat2" },
		{ 460, "lsm_set_self_attr" }, { 463, "setxattrat" }, { 466, "removexattrat" },
		{ 467, "open_tree_attr" }, { 469, "file_setattr" },
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (!is_refused(syscall(calls[i].number, -1, "", 0, 0, 0, 0)))
			return fails(calls[i].name);
	return 0;
}

/* Attributes by the older ways, which each newer call has. */
static int try_attributes(void)
{
	struct fsxattr attributes = { 0 };
	int flags = 0;

	if (!is_refused(removexattr("/", "user.x")) || !is_refused(lremovexattr("/", "user.x")) ||
	    !is_refused(fremovexattr(STDIN_FILENO, "user.x")))
		return fails("an attribute was removed");
	if (!is_refused(ioctl(STDIN_FILENO, FS_IOC_SETFLAGS, &flags)) ||
	    !is_refused(ioctl(STDIN_FILENO, FS_IOC_FSSETXATTR, &attributes)))
		return fails("a file's flags");
	return 0;
}

static void *write_byte(void *to)
{
	*(char *)to = 1;
	return NULL;
}

/* What the tracer's own work needs. */
static int try_own(void)
{
	char byte = 0, same = 0;
	struct iovec local = { &same, 1 }, remote = { &byte, 1 };
	pthread_t thread;
	void *memory;

	if (pthread_create(&thread, NULL, write_byte, &byte) || pthread_join(thread, NULL) || !byte)
		return fails("no thread");
	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != 1 || !same)
		return fails("memory cannot be read");
	memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || open("/proc/self/maps", O_RDONLY) < 0 || kill(getpid(), 0))
		return fails("memory, files or signals");
	/* NVML's ioctls pass: only the file does not know them */
	return ioctl(open("/dev/null", O_RDWR), 0xc020462a, NULL) == -1 && errno == ENOTTY ? 0 : fails("ioctl");
}

static int status_of_child(int (*try)(void), bool refuse)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(refuse && refuse_calls() ? 2 : try());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void refuses(void **state)
{
	(void)state;
	assert_int_equal(status_of_child(try_programs, true), 0);
	assert_int_equal(status_of_child(try_others, true), 0);
	assert_int_equal(status_of_child(try_devices, true), 0);
	assert_int_equal(status_of_child(try_newer, true), 0);
	assert_int_equal(status_of_child(try_attributes, true), 0);
}

static void permits(void **state)
{
	(void)state;
	assert_int_equal(status_of_child(try_own, false), 0);
	assert_int_equal(status_of_child(try_own, true), 0);
}

static void *wait_for_end(void *pipe_end)
{
	char byte;

	return read(*(int *)pipe_end, &byte, 1) == 1 && !is_refused(fork()) ? pipe_end : NULL;
}

static int try_older_thread(void)
{
	pthread_t thread;
	void *result;
	int ends[2];

	if (pipe(ends) || pthread_create(&thread, NULL, wait_for_end, &ends[0]) || refuse_calls() ||
	    write(ends[1], "x", 1) != 1 || pthread_join(thread, &result))
		return fails("no thread");
	return result ? fails("an older thread starts processes") : 0;
}

static void reaches_all_threads(void **state)
{
	(void)state;
	assert_int_equal(status_of_child(try_older_thread, false), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses),
		cmocka_unit_test(permits),
		cmocka_unit_test(reaches_all_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * Preloaded into gpumemtrace, lets a test act between a look at a process and the pidfd of the process: at the first
 * pidfd_open() of the pid in SWAP_PID the file SWAP_NOW is made, and the call waits until the file is gone.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STEP_US 1000

static void let_test_act(const char *path)
{
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	while (!access(path, F_OK))
		usleep(STEP_US);
}

__attribute__((visibility("default"))) long syscall(long number, ...)
{
	static long (*real)(long number, ...);
	static int is_done;
	const char *pid = getenv("SWAP_PID"), *path = getenv("SWAP_NOW");
	long arguments[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		arguments[i] = va_arg(list, long);
	va_end(list);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_pidfd_open && pid && path && (int)arguments[0] == atoi(pid) && !is_done) {
		is_done = 1;
		let_test_act(path);
	}
	return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

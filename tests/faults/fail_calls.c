// SPDX-License-Identifier: BSD-2-Clause
/*
 * Preloaded into gpumemtrace, makes calls fail, as on a machine that has run out of something. fail_which.c says which.
 */
#include "fail_which.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* ---- memory: no dlsym(), which needs memory itself ---- */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *ptr, size_t size);

EXPORT void *malloc(size_t size)
{
	return fails(MALLOC, "malloc", __builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
	return fails(MALLOC, "calloc", __builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

EXPORT void *realloc(void *ptr, size_t size)
{
	return fails(MALLOC, "realloc", __builtin_return_address(0)) ? NULL : __libc_realloc(ptr, size);
}

EXPORT void *reallocarray(void *ptr, size_t count, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(count, size, &all) || fails(MALLOC, "reallocarray", __builtin_return_address(0))) {
		errno = ENOMEM;
		return NULL;
	}
	return __libc_realloc(ptr, all);
}

/* ---- calls that fail with one value: X(kind, type, name, failure, parameters, arguments) ---- */

#define CALLS(X)                                                                                                 \
	X(READ, ssize_t, read, -1, (int fd, void *to, size_t size), (fd, to, size))                              \
	X(READ, ssize_t, pread, -1, (int fd, void *to, size_t size, off_t at), (fd, to, size, at))               \
	X(READ, ssize_t, readlink, -1, (const char *path, char *to, size_t size), (path, to, size))              \
	X(READ, ssize_t, readlinkat, -1, (int at, const char *path, char *to, size_t size), (at, path, to, size)) \
	X(READ, ssize_t, process_vm_readv, -1, (pid_t pid, const struct iovec *to, unsigned long to_count,       \
	  const struct iovec *from, unsigned long from_count, unsigned long flags),                              \
	  (pid, to, to_count, from, from_count, flags))                                                          \
	X(READ, ssize_t, getrandom, -1, (void *to, size_t size, unsigned int flags), (to, size, flags))          \
	X(READ, ssize_t, recv, -1, (int fd, void *to, size_t size, int flags), (fd, to, size, flags))            \
	X(READ, ssize_t, recvmsg, -1, (int fd, struct msghdr *to, int flags), (fd, to, flags))                   \
	X(WRITE, ssize_t, write, -1, (int fd, const void *from, size_t size), (fd, from, size))                  \
	X(WRITE, ssize_t, sendmsg, -1, (int fd, const struct msghdr *from, int flags), (fd, from, flags))        \
	X(MMAP, void *, mmap, MAP_FAILED, (void *at, size_t size, int prot, int flags, int fd, off_t from),      \
	  (at, size, prot, flags, fd, from))                                                                     \
	X(MMAP, void *, mmap64, MAP_FAILED, (void *at, size_t size, int prot, int flags, int fd, off64_t from),  \
	  (at, size, prot, flags, fd, from))                                                                     \
	X(THREAD, pid_t, fork, -1, (void), ())                                                                   \
	X(WAIT, int, epoll_create1, -1, (int flags), (flags))                                                    \
	X(WAIT, int, epoll_ctl, -1, (int fd, int op, int on, struct epoll_event *event), (fd, op, on, event))    \
	X(WAIT, int, signalfd, -1, (int fd, const sigset_t *set, int flags), (fd, set, flags))                   \
	X(WAIT, int, timerfd_create, -1, (clockid_t clock, int flags), (clock, flags))                           \
	X(WAIT, int, timerfd_settime, -1, (int fd, int flags, const struct itimerspec *to, struct itimerspec *was), \
	  (fd, flags, to, was))                                                                                  \
	X(WAIT, int, eventfd, -1, (unsigned int count, int flags), (count, flags))                               \
	X(WAIT, int, socketpair, -1, (int domain, int type, int protocol, int fds[2]), (domain, type, protocol, fds)) \
	X(WAIT, int, pipe, -1, (int fds[2]), (fds))                                                              \
	X(WAIT, int, pipe2, -1, (int fds[2], int flags), (fds, flags))                                           \
	X(FILES, int, fsync, -1, (int fd), (fd))                                                                 \
	X(FILES, int, rename, -1, (const char *from, const char *to), (from, to))                                \
	X(FILES, int, renameat, -1, (int a, const char *from, int b, const char *to), (a, from, b, to))          \
	X(FILES, int, ftruncate, -1, (int fd, off_t size), (fd, size))                                           \
	X(FILES, int, unlink, -1, (const char *path), (path))                                                    \
	X(FILES, int, unlinkat, -1, (int at, const char *path, int flags), (at, path, flags))                    \
	X(FILES, int, mkdir, -1, (const char *path, mode_t mode), (path, mode))                                  \
	X(FILES, int, fstat, -1, (int fd, struct stat *to), (fd, to))                                            \
	X(FILES, int, stat, -1, (const char *path, struct stat *to), (path, to))                                 \
	X(FILES, int, lstat, -1, (const char *path, struct stat *to), (path, to))                                \
	X(FILES, int, fstatat, -1, (int at, const char *path, struct stat *to, int flags), (at, path, to, flags)) \
	X(FILES, off_t, lseek, -1, (int fd, off_t at, int whence), (fd, at, whence))                             \
	X(FILES, DIR *, fdopendir, NULL, (int fd), (fd))                                                         \
	X(FILES, int, dup2, -1, (int from, int to), (from, to))                                                  \
	X(FILES, int, dup3, -1, (int from, int to, int flags), (from, to, flags))                                \
	X(FILES, int, tcgetattr, -1, (int fd, struct termios *to), (fd, to))                                     \
	X(FILES, int, tcsetattr, -1, (int fd, int when, const struct termios *from), (fd, when, from))           \
	X(FILES, int, prctl, -1, (int op, unsigned long a, unsigned long b, unsigned long c, unsigned long d),   \
	  (op, a, b, c, d))                                                                                      \
	X(FILES, int, setrlimit, -1, (__rlimit_resource_t what, const struct rlimit *to), (what, to))            \
	X(FILES, int, setrlimit64, -1, (__rlimit_resource_t what, const struct rlimit64 *to), (what, to))        \
	X(OPEN, int, dup, -1, (int fd), (fd))                                                                    \
	X(OPEN, int, posix_openpt, -1, (int flags), (flags))                                                     \
	X(OPEN, DIR *, opendir, NULL, (const char *path), (path))                                                \
	X(OPEN, void *, dlopen, NULL, (const char *path, int mode), (path, mode))

#define X(kind, type, name, failure, parameters, arguments)                                                      \
	EXPORT type name parameters                                                                              \
	{                                                                                                        \
		static type (*real) parameters;                                                                  \
                                                                                                                 \
		if (!real)                                                                                       \
			real = (type (*) parameters)dlsym(RTLD_NEXT, #name);                                     \
		return fails(kind, #name, __builtin_return_address(0)) ? failure : real arguments;               \
	}
CALLS(X)
#undef X

/* The file is closed all the same, as Linux does. */
EXPORT int close(int fd)
{
	long got = real_syscall(SYS_close, fd, 0, 0);

	return fails(FILES, "close", __builtin_return_address(0)) ? -1 : (int)got;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (!real)
		real = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT,
												      "pthread_create");
	return fails(THREAD, "pthread_create", __builtin_return_address(0)) ? EAGAIN : real(thread, attr, run, arg);
}

/* ---- files ---- */

#define OPEN_CALL(name, parameters, last, arguments)                                                             \
	EXPORT int name parameters                                                                               \
	{                                                                                                        \
		static int (*real) parameters;                                                                   \
		va_list more;                                                                                    \
		mode_t mode;                                                                                     \
                                                                                                                 \
		va_start(more, last);                                                                            \
		mode = va_arg(more, mode_t);                                                                     \
		va_end(more);                                                                                    \
		if (!real)                                                                                       \
			real = (int (*) parameters)dlsym(RTLD_NEXT, #name);                                      \
		return fails(OPEN, #name, __builtin_return_address(0)) ? -1 : real arguments;                    \
	}
OPEN_CALL(open, (const char *path, int flags, ...), flags, (path, flags, mode))
OPEN_CALL(open64, (const char *path, int flags, ...), flags, (path, flags, mode))
OPEN_CALL(openat, (int at, const char *path, int flags, ...), flags, (at, path, flags, mode))

/* stdio reads through the calls above: what libc calls inside itself cannot be replaced. */
static ssize_t cookie_read(void *cookie, char *to, size_t size)
{
	return read((int)(intptr_t)cookie, to, size);
}

static int cookie_seek(void *cookie, off64_t *at, int whence)
{
	*at = real_syscall(SYS_lseek, (long)cookie, *at, whence);
	return *at < 0 ? -1 : 0;
}

static int cookie_close(void *cookie)
{
	return (int)real_syscall(SYS_close, (long)cookie, 0, 0);
}

static FILE *open_stream(const char *path, const char *mode, const char *function, const void *caller)
{
	static FILE *(*real)(const char *, const char *);
	long fd;

	if (fails(OPEN, function, caller))
		return NULL;
	if (!real)
		real = (FILE * (*)(const char *, const char *))dlsym(RTLD_NEXT, "fopen");
	if (!counts_kind(READ) || mode[0] != 'r')
		return real(path, mode);
	fd = real_syscall(SYS_open, (long)path, O_RDONLY | O_CLOEXEC, 0);
	return fd < 0 ? NULL : fopencookie((void *)fd, "r", (cookie_io_functions_t){ cookie_read, NULL, cookie_seek,
										     cookie_close });
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
	return open_stream(path, mode, "fopen", __builtin_return_address(0));
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
	return open_stream(path, mode, "fopen64", __builtin_return_address(0));
}

/* The commands of fcntl() that give a descriptor. */
#define FCNTL_CALL(name)                                                                                         \
	EXPORT int name(int fd, int command, ...)                                                                \
	{                                                                                                        \
		va_list more;                                                                                    \
		long arg;                                                                                        \
                                                                                                                 \
		va_start(more, command);                                                                         \
		arg = va_arg(more, long);                                                                        \
		va_end(more);                                                                                    \
		if ((command == F_DUPFD || command == F_DUPFD_CLOEXEC) &&                                        \
		    fails(OPEN, #name, __builtin_return_address(0)))                                             \
			return -1;                                                                               \
		return (int)real_syscall(SYS_fcntl, fd, command, arg);                                           \
	}
FCNTL_CALL(fcntl)
FCNTL_CALL(fcntl64)

EXPORT int clock_gettime(clockid_t clock, struct timespec *to)
{
	static int (*real)(clockid_t, struct timespec *);

	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	if (clock != CLOCK_REALTIME || !stops_clock())
		return real(clock, to);
	*to = (struct timespec){ .tv_sec = 1000000000 };
	return 0;
}

/* ---- system calls without a function of their own ---- */

static enum kind kind_of_syscall(long number)
{
	switch (number) {
	case SYS_bpf:
		return BPF;
	case SYS_perf_event_open:
		return PERF;
	case SYS_openat2:
	case SYS_pidfd_open:
		return OPEN;
	case SYS_memfd_create:
		return FILES;
	}
	return NONE;
}

EXPORT long syscall(long number, ...)
{
	static long (*real)(long, ...);
	enum kind kind = kind_of_syscall(number);
	long arg[6];
	va_list more;

	va_start(more, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(more, long);
	va_end(more);
	if (!real)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	if (kind != NONE && fails(kind, "syscall", __builtin_return_address(0)))
		return -1;
	return real(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * The binary starts where glibc is 2.28 or newer (Debian 10, RHEL 8, Ubuntu 20.04), although it is built
 * with a newer one. The linker binds a name to the newest version that the build machine's libc has:
 * `dlopen` to GLIBC_2.34, for example. Each name that would need more than 2.28 is defined here instead,
 * by the older function that glibc keeps for old programs, or by a system call.
 *
 * Definitions, unlike .symver lines in a header, also hold for libelf, libdw, libbpf and the start-up code, which come
 * compiled. All definitions are hidden: libraries that are opened do not see them. Before 2.34 dlopen() and the threads
 * were in libraries of their own, so the binary also names these two (OLD_LIBC in the Makefile). From 2.34 on the two
 * are empty. The static and the sanitized build go without this file. tests/cli/test_install.sh fails for a name that
 * is missing here.
 *
 * Versions: the symbol tables of glibc 2.36 and 2.41 (objdump -T libc.so.6).
 */
#include <stddef.h>

#define stat kernel_stat /* the C library's header defines another */
#include <asm/stat.h>
#undef stat
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* The oldest version of an architecture, and versions that only x86-64 is old enough to have. */
#if defined(__x86_64__)
#define BASE "GLIBC_2.2.5"
#define SINCE(version) "GLIBC_" version
#define JUMP_TO(name) "jmp " name "@PLT"
#elif defined(__aarch64__)
#define BASE "GLIBC_2.17"
#define SINCE(version) BASE
#define JUMP_TO(name) "b " name
#endif

/* Jumps, so that dlopen() and dlsym() see who called them. */
#define FORWARD(name, old, version)                                                                             \
	__asm__(".pushsection .text\n"                                                                         \
		".globl " #name "\n.hidden " #name "\n.type " #name ", %function\n"                             \
		#name ": " JUMP_TO("old_" #name) "\n"                                                           \
		".size " #name ", . - " #name "\n.symver old_" #name ", " #old "@" version "\n"                 \
		".popsection\n")

FORWARD(dlopen, dlopen, BASE);
FORWARD(dlsym, dlsym, BASE);
FORWARD(dlclose, dlclose, BASE);
FORWARD(dlerror, dlerror, BASE);
FORWARD(pthread_create, pthread_create, BASE);
FORWARD(pthread_join, pthread_join, BASE);
FORWARD(pthread_attr_setstacksize, pthread_attr_setstacksize, BASE);
FORWARD(pthread_setname_np, pthread_setname_np, SINCE("2.12"));
FORWARD(pthread_mutex_trylock, pthread_mutex_trylock, BASE);
FORWARD(pthread_sigmask, pthread_sigmask, BASE);
FORWARD(pthread_condattr_setclock, pthread_condattr_setclock, SINCE("2.3.3"));
FORWARD(pthread_mutexattr_init, pthread_mutexattr_init, BASE);
FORWARD(pthread_mutexattr_destroy, pthread_mutexattr_destroy, BASE);
FORWARD(pthread_mutexattr_settype, pthread_mutexattr_settype, BASE);
FORWARD(exp, exp, BASE);
FORWARD(fmod, fmod, BASE);
FORWARD(log, log, BASE);
FORWARD(log2, log2, BASE);
FORWARD(pow, pow, BASE);
FORWARD(pthread_rwlock_init, pthread_rwlock_init, BASE);
FORWARD(pthread_rwlock_destroy, pthread_rwlock_destroy, BASE);
FORWARD(pthread_rwlock_rdlock, pthread_rwlock_rdlock, BASE);
FORWARD(pthread_rwlock_tryrdlock, pthread_rwlock_tryrdlock, BASE);
FORWARD(pthread_rwlock_wrlock, pthread_rwlock_wrlock, BASE);
FORWARD(pthread_rwlock_unlock, pthread_rwlock_unlock, BASE);
/* From 2.38 on these names mean functions that also take 0b101 if the base is 0 or 2. */
FORWARD(__isoc23_strtol, strtol, BASE);
FORWARD(__isoc23_strtoll, strtoll, BASE);
FORWARD(__isoc23_strtoul, strtoul, BASE);
FORWARD(__isoc23_strtoull, strtoull, BASE);
FORWARD(__isoc23_sscanf, __isoc99_sscanf, SINCE("2.7"));
FORWARD(__isoc23_fscanf, __isoc99_fscanf, SINCE("2.7"));

/* Before 2.33 these were inline functions. On 64-bit machines the C library and the kernel have the same structure. */
#define SAME(member) (offsetof(struct stat, member) == offsetof(struct kernel_stat, member))
_Static_assert(sizeof(struct stat) == sizeof(struct kernel_stat) && SAME(st_dev) && SAME(st_ino) &&
	       SAME(st_mode) && SAME(st_nlink) && SAME(st_uid) && SAME(st_gid) && SAME(st_rdev) && SAME(st_size) &&
	       SAME(st_blocks),
	       "struct stat");

HIDDEN int fstatat(int folder, const char *restrict path, struct stat *restrict status, int flags)
{
	return (int)syscall(SYS_newfstatat, folder, path, status, flags);
}

HIDDEN int stat(const char *restrict path, struct stat *restrict status)
{
	return fstatat(AT_FDCWD, path, status, 0);
}

HIDDEN int lstat(const char *restrict path, struct stat *restrict status)
{
	return fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

HIDDEN int fstat(int fd, struct stat *status)
{
	return (int)syscall(SYS_fstat, fd, status);
}

/* The same for files of any size, which other libraries ask for: on 64-bit machines there is no difference. */
_Static_assert(sizeof(struct stat64) == sizeof(struct stat), "struct stat64");

HIDDEN int stat64(const char *restrict path, struct stat64 *restrict status)
{
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, status, 0);
}

HIDDEN int lstat64(const char *restrict path, struct stat64 *restrict status)
{
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

HIDDEN int fstat64(int fd, struct stat64 *status)
{
	return (int)syscall(SYS_fstat, fd, status);
}

/*
 * Start-up code for 2.34 or newer leaves the constructors to libc; an older libc calls the function that it gets. A
 * newer libc does the same in its older function, which is called here. Destructors are ld.so's.
 */
typedef int main_fn(int argc, char **argv, char **environment);
typedef void init_fn(int argc, char **argv, char **environment);

extern init_fn *const __init_array_start[] HIDDEN, *const __init_array_end[] HIDDEN; /* the linker's */
extern init_fn _init;                                                                  /* crti.o's */

int old_start_main(main_fn *main, int argc, char **argv, init_fn *init, void (*fini)(void), void (*rtld_fini)(void),
		   void *stack_end);
__asm__(".symver old_start_main, __libc_start_main@" BASE);

static void run_constructors(int argc, char **argv, char **environment)
{
	_init(argc, argv, environment);
	for (init_fn *const *init = __init_array_start; init < __init_array_end; init++)
		(*init)(argc, argv, environment);
}

int __libc_start_main(main_fn *main, int argc, char **argv, init_fn *init, void (*fini)(void), void (*rtld_fini)(void),
		      void *stack_end);
HIDDEN int __libc_start_main(main_fn *main, int argc, char **argv, init_fn *init, void (*fini)(void),
			     void (*rtld_fini)(void), void *stack_end)
{
	return old_start_main(main, argc, argv, init ?: run_constructors, fini, rtld_fini, stack_end);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes privileges from the calling process for good: its user, capabilities, resources and system calls. Each function
 * takes what it is permitted to take, and its answer says whether that was all: a container or a plain user may lack
 * the permission. The functions need nothing but libc.
 *
 * Order: confine_capabilities(CONFINE_FOR_USER), confine_user(), confine_capabilities(0), the others, and the filter
 * last. The bounding set can be cut only before the user changes, and the filter may forbid the other calls.
 */
#ifndef GPUMEMTRACE_BASE_CONFINE_H
#define GPUMEMTRACE_BASE_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

/* ---- user and capabilities ---- */

/* The kernel's default for a user without a name (fs.overflowuid, /proc/sys/kernel/overflowuid). */
#define CONFINE_NOBODY 65534

/* The capabilities that confine_user() needs: CAP_SETGID and CAP_SETUID. */
#define CONFINE_FOR_USER (1ull << 6 | 1ull << 7)

/* Becomes another user and group, without other groups. The process must have one thread. 0 or -errno. */
int confine_user(uint32_t uid, uint32_t gid);

/* Keeps the named capabilities (bit N: capability N of linux/capability.h) where the process has them, and drops all
 * others from every set, the bounding set included. A thread has its own capabilities: threads that were started
 * before keep theirs. 0; -errno: a part was refused, the rest was done. */
int confine_capabilities(uint64_t keep);

/* The capabilities that the calling thread may use now. */
uint64_t confine_effective(void);

/* Changes only what the calling thread may use now, for a trial: of the named capabilities, those that the process
 * has. 0 or -errno. */
int confine_set_effective(uint64_t capabilities);

/* ---- what an execve() may give, and who may look ---- */

/* No execve() gives privileges from now on. 0 or -errno. */
int confine_no_new_privileges(void);

/* No core dump, and no other process of the user can read the memory. 0 or -errno. */
int confine_no_dump(void);

/* The kernel sends SIGKILL when the thread that forked this process ends. Call after confine_user(), which undoes
 * it. `parent`: the pid that forked. 0; -ESRCH: the parent has ended already; else -errno. */
int confine_die_with(int parent);

/* All of the above in their order, for a process that needs nothing: the user CONFINE_NOBODY where that is permitted,
 * no capability, no new privileges, no dump. What is not permitted is left. */
void confine_as_nobody(void);

/* ---- resources ---- */

struct confine_limit {
	int resource;            /* RLIMIT_AS ... */
	rlim_t most;             /* becomes the soft and the hard limit, unless the hard limit is lower already */
};

int confine_limits(const struct confine_limit *limits, size_t count);

/* Closes every descriptor from `first` on; before Linux 5.9 those below 4096. */
void confine_close_from(int first);

/* ---- system calls ---- */

/* A rule matches a system call by its number and, if `mask` is not 0, by 32 bits of one argument:
 * (args[arg] & mask) == value. */
struct confine_call {
	int number;              /* __NR_...; a negative number matches nothing: this machine lacks the call */
	uint8_t arg;             /* 0 to 5 */
	uint32_t mask, value;
};

#define CONFINE_CALLS_MAX 256

enum confine_action {
	CONFINE_ALLOW,
	CONFINE_REFUSE,          /* the call returns -EPERM */
	CONFINE_MISS,            /* the call returns -ENOSYS: libc tries an older call */
	CONFINE_KILL,            /* SIGSYS ends the process */
};

struct confine_filter {
	const struct confine_call *calls;
	size_t count;            /* at most CONFINE_CALLS_MAX */
	enum confine_action matched, other;
};

/* Filters the system calls of this thread and of all that it starts: the first rule that matches decides. With
 * `all_threads` the process's other threads get the filter, too. Calls of another machine type or of the x32 ABI are
 * killed. Needs no_new_privs or CAP_SYS_ADMIN. 0; -EINVAL: this kernel has no filters; else -errno. */
int confine_calls(const struct confine_filter *filter, bool all_threads);

#endif

// SPDX-License-Identifier: BSD-2-Clause
#include "base/confine.h"

#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAPABILITIES 64          /* bits of struct __user_cap_data_struct [2] */
#define X32_BIT 0x40000000u      /* __X32_SYSCALL_BIT, asm/unistd.h: the same calls, another ABI */

#if defined(__x86_64__)
#define OUR_MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE AUDIT_ARCH_AARCH64
#else
#error "name this machine as linux/audit.h does"
#endif

/* ---- user and capabilities ---- */

_Static_assert(CONFINE_FOR_USER == (1ull << CAP_SETGID | 1ull << CAP_SETUID), "the two that the kernel asks for");

int confine_user(uint32_t uid, uint32_t gid)
{
	if (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return -errno;
	return 0;
}

static int read_capabilities(struct __user_cap_data_struct sets[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &header, sets) ? -errno : 0;
}

int confine_capabilities(uint64_t keep)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2];
	int err = 0, failed;

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	/* The first number that the kernel does not know ends the list. */
	for (int cap = 0; cap < CAPABILITIES && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (!(keep >> cap & 1) && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
			err = -errno;
	failed = read_capabilities(sets);
	if (failed)
		return failed;
	for (int i = 0; i < 2; i++) {
		sets[i].permitted &= (uint32_t)(keep >> 32 * i);
		sets[i].effective = sets[i].permitted;
		sets[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, sets) ? -errno : err;
}

uint64_t confine_effective(void)
{
	struct __user_cap_data_struct sets[2];

	return read_capabilities(sets) ? 0 : sets[0].effective | (uint64_t)sets[1].effective << 32;
}

int confine_set_effective(uint64_t capabilities)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2];
	int err = read_capabilities(sets);

	if (err)
		return err;
	for (int i = 0; i < 2; i++)
		sets[i].effective = sets[i].permitted & (uint32_t)(capabilities >> 32 * i);
	return syscall(SYS_capset, &header, sets) ? -errno : 0;
}

/* ---- what an execve() may give, and who may look ---- */

int confine_no_new_privileges(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}

int confine_no_dump(void)
{
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ? -errno : 0;
}

int confine_die_with(int parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		return -errno;
	return getppid() == parent ? 0 : -ESRCH;
}

void confine_as_nobody(void)
{
	confine_capabilities(CONFINE_FOR_USER);
	if (confine_effective() & CONFINE_FOR_USER)
		confine_user(CONFINE_NOBODY, CONFINE_NOBODY);
	confine_capabilities(0);
	confine_no_new_privileges();
	confine_no_dump();
}

/* ---- resources ---- */

int confine_limits(const struct confine_limit *limits, size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count; i++) {
		struct rlimit limit;

		if (getrlimit(limits[i].resource, &limit)) {
			err = -errno;
			continue;
		}
		if (limit.rlim_max > limits[i].most)
			limit.rlim_max = limits[i].most;
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(limits[i].resource, &limit))
			err = -errno;
	}
	return err;
}

#define CLOSED_MOST 4096

void confine_close_from(int first)
{
	if (!syscall(SYS_close_range, (unsigned int)first, ~0u, 0))
		return;
	for (int fd = first; fd < CLOSED_MOST; fd++)
		close(fd);
}

/* ---- system calls ---- */

static uint32_t code_of_action(enum confine_action action)
{
	switch (action) {
	case CONFINE_ALLOW:
		return SECCOMP_RET_ALLOW;
	case CONFINE_REFUSE:
		return SECCOMP_RET_ERRNO | EPERM;
	case CONFINE_MISS:
		return SECCOMP_RET_ERRNO | ENOSYS;
	case CONFINE_KILL:
		break;
	}
	return SECCOMP_RET_KILL_PROCESS;
}

#define LOAD(field_offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(field_offset))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, code_of_action(action))
#define JUMP_IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)

/* Before and behind a rule, the accumulator holds the number of the call. */
static size_t add_rule(struct sock_filter *to, const struct confine_call *call, enum confine_action action)
{
	/* the low half of a 64-bit argument comes first: both machines are little-endian */
	const struct sock_filter whole[] = {
		JUMP_IF_EQUAL((uint32_t)call->number, 0, 1),
		RETURN(action),
	};
	const struct sock_filter part[] = {
		JUMP_IF_EQUAL((uint32_t)call->number, 0, 5),
		LOAD(offsetof(struct seccomp_data, args) + sizeof(uint64_t) * call->arg),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, call->mask),
		JUMP_IF_EQUAL(call->value, 0, 1),
		RETURN(action),
		LOAD(offsetof(struct seccomp_data, nr)),
	};
	const struct sock_filter *from = call->mask ? part : whole;
	size_t count = call->mask ? sizeof(part) / sizeof(*part) : sizeof(whole) / sizeof(*whole);

	for (size_t i = 0; i < count; i++)
		to[i] = from[i];
	return count;
}

int confine_calls(const struct confine_filter *filter, bool all_threads)
{
	const struct sock_filter head[] = {
		LOAD(offsetof(struct seccomp_data, arch)),
		JUMP_IF_EQUAL(OUR_MACHINE, 1, 0),
		RETURN(CONFINE_KILL),
		LOAD(offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1),
		RETURN(CONFINE_KILL),
	};
	struct sock_filter code[6 + 6 * CONFINE_CALLS_MAX + 1];
	struct sock_fprog program = { .filter = code };
	unsigned int flags = all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0;
	size_t used = sizeof(head) / sizeof(*head);
	long failed;

	if (filter->count > CONFINE_CALLS_MAX)
		return -E2BIG;
	for (size_t i = 0; i < used; i++)
		code[i] = head[i];
	for (size_t i = 0; i < filter->count; i++)
		if (filter->calls[i].number >= 0)
			used += add_rule(code + used, &filter->calls[i], filter->matched);
	code[used++] = (struct sock_filter)RETURN(filter->other);
	program.len = (unsigned short)used;
	failed = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	return failed < 0 ? -errno : failed ? -EBUSY : 0; /* positive: a thread that has another filter */
}

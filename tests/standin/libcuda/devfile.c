/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device files. <root>/dev/nvidiactl and <root>/dev/nvidia-uvm are links to character devices
 * that every machine has; no kernel driver answers there, so a seccomp filter makes ioctl() return 0
 * on exactly these two descriptors. The system call still leaves through the sys_exit tracepoint
 * with its number and arguments, which is what tracers of the real driver look at.
 *
 * Invariant: ioctl on any other descriptor is untouched.
 */
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "standin.h"

/* Out of the way of programs that count on low numbers, below RLIMIT_NOFILE's usual 1024. */
#define HIGH_FD 900

#ifdef __aarch64__
#define THIS_ARCH AUDIT_ARCH_AARCH64
#else
#define THIS_ARCH AUDIT_ARCH_X86_64
#endif

static struct { int ctl, uvm; } fds = { -1, -1 };

static int open_high(const char *name)
{
	char path[sizeof(g.root) + 64];
	int low, high;

	snprintf(path, sizeof(path), "%s/dev/%s", g.root, name);
	low = open(path, O_RDWR | O_CLOEXEC);
	if (low < 0)
		return -1;
	high = fcntl(low, F_DUPFD_CLOEXEC, HIGH_FD);
	if (high < 0)
		return low;
	close(low);
	return high;
}

static int install_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCH, 0, 6),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)fds.ctl, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)fds.uvm, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	if (!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
		return 0;
	/* Without CAP_SYS_ADMIN a filter is allowed only to those who give up privileges. */
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

void devfile_open(void)
{
	fds.ctl = open_high("nvidiactl");
	fds.uvm = open_high("nvidia-uvm");
	if (fds.ctl < 0 || fds.uvm < 0)
		return; /* a machine without the kernel driver's files: no ioctls, the API still works */
	if (install_filter())
		fprintf(stderr, "stand-in libcuda: no seccomp filter: ioctls will fail with ENOTTY\n");
}

void devfile_ctl(unsigned long command, void *argument)
{
	if (fds.ctl >= 0)
		ioctl(fds.ctl, command, argument);
}

void devfile_uvm(unsigned long command, void *argument)
{
	if (fds.uvm >= 0)
		ioctl(fds.uvm, command, argument);
}

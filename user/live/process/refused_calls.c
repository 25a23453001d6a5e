// SPDX-License-Identifier: BSD-2-Clause
/*
 * A list of what is refused, not of what is permitted: NVML is NVIDIA's library and may call what the next release of
 * the driver needs, and each libc has its own calls. A refused call returns EPERM, so that a library goes on.
 */
#include "live/process/refused_calls.h"

#include <linux/fs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "base/confine.h"
#include "base/count.h"

#define CALL(name) { .number = __NR_##name }
#define CALL_IF(name, argument, bits, is) { .number = __NR_##name, .arg = argument, .mask = bits, .value = is }

/* A filter cannot look at what clone3() points to: libc then uses clone(). */
static const struct confine_call missing[] = { CALL(clone3) };

/* The numbers of calls that are newer than a header of ours, the same on all machines
 * (include/uapi/asm-generic/unistd.h of Linux 6.18). The list leaves out newer calls that only read, or that change
 * only what is the caller's own. */
#ifndef __NR_pidfd_getfd
#define __NR_pidfd_getfd 438
#endif
#ifndef __NR_mount_setattr
#define __NR_mount_setattr 442
#endif
#ifndef __NR_quotactl_fd
#define __NR_quotactl_fd 443
#endif
#ifndef __NR_process_mrelease
#define __NR_process_mrelease 448
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif
#ifndef __NR_lsm_set_self_attr
#define __NR_lsm_set_self_attr 460
#endif
#ifndef __NR_setxattrat
#define __NR_setxattrat 463
#endif
#ifndef __NR_removexattrat
#define __NR_removexattrat 466
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467
#endif
#ifndef __NR_file_setattr
#define __NR_file_setattr 469
#endif

static const struct confine_call refused[] = {
	/* another program, another process; a thread is permitted */
	CALL(execve), CALL(execveat), CALL_IF(clone, 0, CLONE_THREAD, 0),
#ifdef __NR_fork
	CALL(fork), CALL(vfork),
#endif
	/* other processes' memory, descriptors, registers, pages; to read memory is what tracing needs */
	CALL(ptrace), CALL(process_vm_writev), CALL(pidfd_getfd), CALL(process_madvise), CALL(move_pages),
	CALL(migrate_pages), CALL(process_mrelease), CALL(kcmp),
	/* another user, another label of a security module */
	CALL(setuid), CALL(setgid), CALL(setreuid), CALL(setregid), CALL(setresuid), CALL(setresgid), CALL(setfsuid),
	CALL(setfsgid), CALL(setgroups), CALL(capset), CALL(lsm_set_self_attr),
	/* mounts and namespaces */
	CALL(mount), CALL(umount2), CALL(pivot_root), CALL(chroot), CALL(move_mount), CALL(open_tree), CALL(fsopen),
	CALL(fsconfig), CALL(fsmount), CALL(fspick), CALL(mount_setattr), CALL(open_tree_attr), CALL(unshare),
	CALL(setns),
	/* the kernel, and the machine */
	CALL(init_module), CALL(finit_module), CALL(delete_module), CALL(kexec_load), CALL(reboot), CALL(swapon),
	CALL(swapoff), CALL(acct), CALL(quotactl), CALL(quotactl_fd), CALL(syslog), CALL(settimeofday),
	CALL(clock_settime), CALL(adjtimex), CALL(clock_adjtime), CALL(sethostname), CALL(setdomainname),
	CALL(add_key), CALL(request_key), CALL(keyctl), CALL(userfaultfd), CALL(personality),
#ifdef __NR_kexec_file_load
	CALL(kexec_file_load),
#endif
#ifdef __NR_iopl
	CALL(iopl), CALL(ioperm), CALL(modify_ldt),
#endif
	/* files that no path leads to, devices, and owners, modes and attributes of files; linkat() gives a whole
	 * output its name */
	CALL(open_by_handle_at), CALL(mknodat), CALL(symlinkat), CALL(fchmod), CALL(fchmodat),
	CALL(fchmodat2), CALL(fchown), CALL(fchownat), CALL(setxattr), CALL(lsetxattr), CALL(fsetxattr),
	CALL(setxattrat), CALL(removexattr), CALL(lremovexattr), CALL(fremovexattr), CALL(removexattrat),
	CALL(file_setattr), CALL_IF(ioctl, 1, 0xffffffff, FS_IOC_SETFLAGS),
	CALL_IF(ioctl, 1, 0xffffffff, FS_IOC_FSSETXATTR),
#ifdef __NR_mknod
	CALL(mknod), CALL(link), CALL(symlink), CALL(chmod), CALL(chown), CALL(lchown),
#endif
	/* the network, and the services of this machine, which trust root */
	CALL(socket), CALL(connect), CALL(bind), CALL(listen), CALL(accept), CALL(accept4),
	/* a way around this list */
	CALL(io_uring_setup), CALL(io_uring_enter), CALL(io_uring_register),
	/* input for the terminal's shell */
	CALL_IF(ioctl, 1, 0xffffffff, TIOCSTI), CALL_IF(ioctl, 1, 0xffffffff, TIOCLINUX),
};

int refuse_calls(void)
{
	const struct confine_filter filters[] = {
		{ missing, COUNT(missing), CONFINE_MISS, CONFINE_ALLOW },
		{ refused, COUNT(refused), CONFINE_REFUSE, CONFINE_ALLOW },
	};
	int err = confine_no_new_privileges();

	for (size_t i = 0; i < COUNT(filters) && !err; i++)
		err = confine_calls(&filters[i], true);
	return err;
}

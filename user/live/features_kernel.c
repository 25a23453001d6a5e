// SPDX-License-Identifier: BSD-2-Clause
/* See features.h. What the kernel has and lets be used. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "live/features_checks.h"
#include "live/watch.h"

#define KERNEL(a, b, c) ((a) * 1000000L + (b) * 1000L + (c))

void features_judge_kernel(struct feature *feature, const char *release)
{
	int a = 0, b = 0, c = 0;
	long version;

	if (sscanf(release, "%d.%d.%d", &a, &b, &c) < 2) {
		feature_say(feature, FEATURE_WARN, "%s: not a version", release);
		return;
	}
	version = KERNEL(a, b, c);
	if (version < KERNEL(5, 15, 0)) {
		/* bpf_task_pt_regs(): 5.15; BPF_MAP_TYPE_TASK_STORAGE for tracing programs: 5.11 */
		feature_say(feature, FEATURE_MISSING, "%s is too old: 5.15 is the oldest with all that is used",
		    release);
		feature_advise(feature, "Boot a kernel of 5.15 or newer; 6.6 or newer attaches fastest");
	} else if (version >= KERNEL(6, 11, 0) && version < KERNEL(6, 13, 3) &&
		   !(a == 6 && b == 12 && c >= 14)) {
		/* uretprobe(2) met seccomp filters until cf6cb56ef244 ("seccomp: passthrough uretprobe
		 * systemcall without filtering", 6.14-rc2, in 6.13.3 and 6.12.14) */
		feature_say(feature, FEATURE_WARN,
		    "%s: return probes use a system call that seccomp filters may refuse, which kills the "
		    "target",
		    release);
		feature_advise(feature,
		       "Do not trace processes under a seccomp filter (containers, services) on this "
		       "kernel; 6.12.14, 6.13.3 and newer are good, some distributions' older ones too");
	} else if (version < KERNEL(6, 6, 0)) {
		feature_say(feature, FEATURE_OK,
		    "%s (before 6.6: one perf event for each probe, attaching is slower)", release);
	} else {
		feature_say(feature, FEATURE_OK, "%s", release);
	}
}

void feature_check_kernel(struct feature *feature, const struct features_where *where)
{
	struct utsname name;

	(void)where;
	if (uname(&name))
		feature_say(feature, FEATURE_WARN, "uname: %s", strerror(errno));
	else
		features_judge_kernel(feature, name.release);
}

void feature_check_btf(struct feature *feature, const struct features_where *where)
{
	(void)where;
	if (!access("/sys/kernel/btf/vmlinux", R_OK)) {
		feature_say(feature, FEATURE_OK, "/sys/kernel/btf/vmlinux");
		return;
	}
	feature_say(feature, FEATURE_MISSING, "/sys/kernel/btf/vmlinux: %s", strerror(errno));
	feature_advise(feature, errno == ENOENT ? "Boot a kernel built with CONFIG_DEBUG_INFO_BTF=y (and mount /sys)"
					: "Run it with sudo");
}

void features_judge_bpf(struct feature *feature, int err)
{
	if (!err) {
		feature_say(feature, FEATURE_OK, "maps and ring buffers can be made");
		return;
	}
	feature_say(feature, FEATURE_MISSING, "a ring buffer cannot be made: %s", strerror(err));
	if (err == EPERM)
		feature_advise(feature, "Run it with sudo; if it is root already, a container's seccomp filter or a "
				"security module refuses bpf(2): use --privileged");
	else if (err == EINVAL)
		feature_advise(feature, "Boot a kernel of 5.15 or newer");
	else if (err == ENOSYS)
		feature_advise(feature, "Boot a kernel built with CONFIG_BPF_SYSCALL=y");
	else
		feature_advise(feature, "Raise the memory limit of the service or container");
}

void feature_check_bpf(struct feature *feature, const struct features_where *where)
{
	union bpf_attr attr;
	int fd;

	(void)where;
	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_RINGBUF;
	attr.max_entries = (unsigned int)sysconf(_SC_PAGESIZE);
	fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	features_judge_bpf(feature, fd < 0 ? errno : 0);
	if (fd >= 0)
		close(fd);
}

void feature_check_jit(struct feature *feature, const struct features_where *where)
{
	char text[32];

	(void)where;
	if (!feature_text("/proc/sys/net/core/bpf_jit_enable", text, sizeof(text))) {
		feature_say(feature, FEATURE_OK, "no switch: always on, or not for this user to see");
	} else if (strcmp(text, "0")) {
		feature_say(feature, FEATURE_OK, "on");
	} else {
		feature_say(feature, FEATURE_WARN, "off: each probe takes several times as long");
		feature_advise(feature, "sysctl net.core.bpf_jit_enable=1");
	}
}

void feature_check_uprobes(struct feature *feature, const struct features_where *where)
{
	char text[32];

	(void)where;
	if (feature_text("/sys/bus/event_source/devices/uprobe/type", text, sizeof(text))) {
		feature_say(feature, FEATURE_OK, "perf event type %s", text);
		return;
	}
	feature_say(feature, FEATURE_MISSING, "the kernel has no uprobe events");
	feature_advise(feature, "Boot a kernel built with CONFIG_UPROBE_EVENTS=y (and mount /sys)");
}

void features_judge_lockdown(struct feature *feature, const char *text)
{
	if (!text) {
		feature_say(feature, FEATURE_OK, "not active, or /sys/kernel/security is not mounted");
	} else if (strstr(text, "[confidentiality]")) {
		/* LOCKDOWN_BPF_READ_KERNEL, include/linux/security.h: the programs do not load */
		feature_say(feature, FEATURE_MISSING, "confidentiality: BPF programs may not read kernel memory");
		feature_advise(feature, "Boot with lockdown=integrity, or without Secure Boot's lockdown");
	} else {
		feature_say(feature, FEATURE_OK, "%s",
		    strstr(text, "[integrity]") ? "integrity (no hindrance)" : "none");
	}
}

void feature_check_lockdown(struct feature *feature, const struct features_where *where)
{
	char text[128];

	(void)where;
	features_judge_lockdown(feature, feature_text("/sys/kernel/security/lockdown", text, sizeof(text)));
}

void feature_check_watch(struct feature *feature, const struct features_where *where)
{
	struct watch *watch;
	int err = watch_open(&watch);

	(void)where;
	watch_close(watch);
	if (!err) {
		feature_say(feature, FEATURE_OK, "newly loaded libcuda files are seen at once");
		return;
	}
	feature_say(feature, FEATURE_WARN, "mappings cannot be watched (%s): processes are scanned instead",
	    strerror(-err));
	feature_advise(feature, "Run it with sudo; a new libcuda file is traced a moment later otherwise");
}

void feature_check_sysctls(struct feature *feature, const struct features_where *where)
{
	char bpf[32], perf[32];
	const char *bpf_text = feature_text("/proc/sys/kernel/unprivileged_bpf_disabled", bpf, sizeof(bpf));
	const char *perf_text = feature_text("/proc/sys/kernel/perf_event_paranoid", perf, sizeof(perf));

	(void)where;
	feature_say(feature, FEATURE_OK,
	    "kernel.unprivileged_bpf_disabled=%s kernel.perf_event_paranoid=%s (no hindrance to root)",
	    bpf_text ? bpf_text : "?", perf_text ? perf_text : "?");
}

void feature_check_tracefs(struct feature *feature, const struct features_where *where)
{
	bool mounted = !access("/sys/kernel/tracing/events", F_OK) ||
		       !access("/sys/kernel/debug/tracing/events", F_OK);

	(void)where;
	feature_say(feature, FEATURE_OK, "%s",
	    mounted ? "mounted" : "not mounted, and not needed: raw tracepoints serve");
}

void feature_check_memlock(struct feature *feature, const struct features_where *where)
{
	struct rlimit limit;

	(void)where;
	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		feature_say(feature, FEATURE_WARN, "%s", strerror(errno));
	else if (limit.rlim_cur == RLIM_INFINITY)
		feature_say(feature, FEATURE_OK, "unlimited");
	else
		feature_say(feature, FEATURE_OK, "%llu KiB (BPF maps are not counted against it from 5.11 on)",
		    (unsigned long long)limit.rlim_cur / 1024);
}

/* bpf_loop() walks a stack, bpf_find_vma() says where it ends: both are of Linux 5.17. */
void feature_check_stacks(struct feature *feature, const struct features_where *where)
{
	(void)where;
	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_loop, NULL) == 1) {
		feature_say(feature, FEATURE_OK, "walked in the kernel, native and Python frames");
		return;
	}
	feature_say(feature, FEATURE_WARN,
	    "the kernel has no bpf_loop(), or may not be asked: most will be incomplete");
	feature_advise(feature, "Boot a kernel of 5.17 or newer for stacks with all their frames");
}

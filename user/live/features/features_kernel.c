// SPDX-License-Identifier: BSD-2-Clause
/*
 * Checks the features of the kernel, and the permission to use them. Distributions add features and fixes to kernels of
 * any version, so each feature is tried or looked up; the version is only shown.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <gpumemtrace/stackmap.h>

#include "live/features/features_checks.h"
#include "live/probe/trial.h"
#include "live/probe/uprobe.h"
#include "live/probe/mmap_watch.h"

/* ---- which kernel ---- */

/*
 * WSL: uname -r of Microsoft's kernels ends in microsoft-standard-WSL2. gVisor: the marker is a file that runsc shows
 * on request (pkg/gvisordetect), and every release of gVisor names this day in its version (pkg/sentry/syscalls/linux).
 */
enum features_kernel features_kernel_of(const char *proc_version, bool has_marker)
{
	if (has_marker || (proc_version && (strstr(proc_version, "gvisor") ||
					    strstr(proc_version, "#1 SMP Sun Jan 10 15:06:54 PST 2016"))))
		return FEATURES_GVISOR;
	if (proc_version && (strstr(proc_version, "microsoft-standard") || strstr(proc_version, "WSL2")))
		return FEATURES_WSL;
	return FEATURES_LINUX;
}

enum features_kernel feature_kernel(const struct features_where *where)
{
	char text[512];

	return features_kernel_of(feature_text(where, "/proc/version", text, sizeof(text)),
				  feature_exists(where, "/proc/gvisor/kernel_is_gvisor"));
}

void features_judge_kernel(struct feature *feature, const char *release, enum features_kernel kernel)
{
	if (kernel != FEATURES_GVISOR) {
		feature_say(feature, FEATURE_OK, "%s%s", release, kernel == FEATURES_WSL ? " (WSL)" : "");
		return;
	}
	feature_say(feature, FEATURE_MISSING, "%s: this is gVisor, a sandbox whose kernel has neither BPF nor uprobes",
		    release);
	feature_advise(feature, "Run gpumemtrace outside of the sandbox, or start the container with runc");
}

void feature_check_kernel(struct feature *feature, const struct features_where *where)
{
	struct utsname name;

	if (uname(&name))
		feature_say(feature, FEATURE_WARN, "uname() failed: %s", strerror(errno));
	else
		features_judge_kernel(feature, name.release, feature_kernel(where));
}

void features_judge_btf(struct feature *feature, int err, enum features_kernel kernel)
{
	if (!err) {
		feature_say(feature, FEATURE_OK, "/sys/kernel/btf/vmlinux");
		return;
	}
	feature_say(feature, FEATURE_MISSING, "/sys/kernel/btf/vmlinux cannot be read: %s", strerror(err));
	if (err != ENOENT)
		feature_advise(feature, "Run gpumemtrace with sudo");
	else if (kernel == FEATURES_WSL)
		feature_advise(feature, "Run `wsl --update` on Windows: newer WSL kernels have BTF");
	else
		feature_advise(feature, "Boot a kernel built with CONFIG_DEBUG_INFO_BTF=y (and mount /sys)");
}

void feature_check_btf(struct feature *feature, const struct features_where *where)
{
	int err = access(feature_path(where, "/sys/kernel/btf/vmlinux").text, R_OK) ? errno : 0;

	features_judge_btf(feature, err, feature_kernel(where));
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
			    strstr(text, "[integrity]") ? "integrity (does not prevent tracing)" : "none");
	}
}

void feature_check_lockdown(struct feature *feature, const struct features_where *where)
{
	char text[128];

	features_judge_lockdown(feature, feature_text(where, "/sys/kernel/security/lockdown", text, sizeof(text)));
}

/* ---- uprobes ---- */

void features_judge_uprobes(struct feature *feature, const char *type, bool multi)
{
	if (multi) {
		feature_say(feature, FEATURE_OK, "attached many at a time (uprobe_multi)");
	} else if (type) {
		feature_say(feature, FEATURE_OK, "attached one at a time by perf events (type %s), which is slower",
			    type);
	} else {
		feature_say(feature, FEATURE_MISSING, "the kernel has no uprobe events");
		feature_advise(feature, "Boot a kernel built with CONFIG_UPROBE_EVENTS=y (and mount /sys)");
	}
}

static bool has_multi(const struct features_where *where)
{
	return !where->no_uprobe_multi && uprobe_has_multi();
}

void feature_check_uprobes(struct feature *feature, const struct features_where *where)
{
	char text[32];

	features_judge_uprobes(feature,
			       feature_text(where, "/sys/bus/event_source/devices/uprobe/type", text, sizeof(text)),
			       has_multi(where));
}

static void say_kills(struct feature *feature, const struct trial *trial)
{
	bool filter = trial->seccomp == TRIAL_KILLS;

	feature_say(feature, FEATURE_WARN,
		    "return probes kill processes %s%s%s: a libcuda that such a process maps is not probed",
		    filter ? "under a seccomp filter" : "",
		    filter && trial->shadow_stack == TRIAL_KILLS ? " and " : "",
		    trial->shadow_stack == TRIAL_KILLS ? "with a shadow stack" : "");
	feature_advise(feature, "Use Linux 6.12.14, 6.13.3 or newer. If such a process maps a probed libcuda later, "
		       "the probes are removed within about 0.1 seconds; until then a call of libcuda kills the "
		       "process");
}

void features_judge_return_probes(struct feature *feature, const struct trial *trial)
{
	if (trial->seccomp == TRIAL_KILLS || trial->shadow_stack == TRIAL_KILLS) {
		say_kills(feature, trial);
	} else if (trial_harms(trial->seccomp) || trial_harms(trial->shadow_stack)) {
		feature_say(feature, FEATURE_WARN, "the effect on processes under a seccomp filter or with a "
			    "shadow stack could not be tried (%s)", trial->why);
		feature_advise(feature, "Run gpumemtrace with sudo. Without the trial gpumemtrace probes no libcuda "
			       "that such a process maps");
	} else {
		feature_say(feature, FEATURE_OK, "a child under a seccomp filter survived a return probe%s; "
			    "C++ exceptions cannot pass a call of libcuda while it is traced (see the manual page)",
			    trial->shadow_stack == TRIAL_ABSENT ? "; this machine has no shadow stacks" :
			    ", and a child with a shadow stack, too");
	}
}

void feature_check_return_probes(struct feature *feature, const struct features_where *where)
{
	struct trial trial;

	if (where->return_probes)
		trial_assume(&trial, where->return_probes);
	else
		trial_run(&trial, has_multi(where));
	features_judge_return_probes(feature, &trial);
}

/* ---- BPF ---- */

void features_judge_bpf(struct feature *feature, int err, uint64_t memlock)
{
	char limit[64] = "";

	if (!err) {
		feature_say(feature, FEATURE_OK, "maps and ring buffers can be created");
		return;
	}
	if ((err == EPERM || err == ENOMEM) && memlock != RLIM_INFINITY)
		snprintf(limit, sizeof(limit), ", with %llu KiB of memlock", (unsigned long long)memlock / 1024);
	feature_say(feature, FEATURE_MISSING, "a ring buffer cannot be created: %s%s", strerror(err), limit);
	if (limit[0])
		feature_advise(feature, "Before Linux 5.11 maps count as locked memory: use `ulimit -l unlimited`, or "
			       "LimitMEMLOCK=infinity in the service. On newer kernels a container's seccomp filter or "
			       "a security module refuses bpf(2): use --privileged");
	else if (err == EPERM)
		feature_advise(feature, "Run gpumemtrace with sudo. If it already runs as root, a container's seccomp "
			       "filter or a security module refuses bpf(2): use --privileged");
	else if (err == EINVAL)
		feature_advise(feature, "Boot Linux 5.8 or newer, which has ring buffers");
	else if (err == ENOSYS)
		feature_advise(feature, "Boot a kernel built with CONFIG_BPF_SYSCALL=y");
	else
		feature_advise(feature, "Raise the memory limit of the service or container");
}

void feature_check_bpf(struct feature *feature, const struct features_where *where)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY }, limit = unlimited;
	int fd;

	(void)where;
	/* attach_open() raises the limit, too: only a limit that cannot be raised is in the way. */
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	getrlimit(RLIMIT_MEMLOCK, &limit);
	fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, NULL, 0, 0, (unsigned int)sysconf(_SC_PAGESIZE), NULL);
	features_judge_bpf(feature, fd < 0 ? -fd : 0, limit.rlim_cur);
	if (fd >= 0)
		close(fd);
}

void features_judge_jit(struct feature *feature, const char *text, int compiled)
{
	bool off = text && !strcmp(text, "0");

	if (compiled > 0 || (compiled < 0 && !off)) {
		feature_say(feature, FEATURE_OK, compiled > 0 ? "on" : "could not be tried");
	} else {
		feature_say(feature, FEATURE_MISSING,
			    "%s, but the BPF programs use callbacks and shared code, which need the JIT",
			    off ? "off" : "none");
		feature_advise(feature, "Run `sysctl net.core.bpf_jit_enable=1`%s",
			       off ? "" : " on the host, or boot a kernel built with CONFIG_BPF_JIT=y");
	}
}

/* 1 if the kernel compiles a program to machine code, else 0; -1: the kernel loads no program. */
static int try_compiler(void)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", code, sizeof(code) / sizeof(code[0]), NULL);
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);
	int result = -1;

	if (fd < 0)
		return -1;
	if (!bpf_obj_get_info_by_fd(fd, &info, &size))
		result = info.jited_prog_len > 0;
	close(fd);
	return result;
}

/* Only the first network namespace shows the switch. */
void feature_check_jit(struct feature *feature, const struct features_where *where)
{
	char text[32];

	features_judge_jit(feature, feature_text(where, "/proc/sys/net/core/bpf_jit_enable", text, sizeof(text)),
			   where->system[0] ? -1 : try_compiler());
}

/* The helpers that the programs always call. */
static const struct {
	enum bpf_func_id id;
	const char *name;
	bool reads_kernel;
} helpers[] = {
	{ BPF_FUNC_probe_read_kernel, "bpf_probe_read_kernel", true },
	{ BPF_FUNC_probe_read_user, "bpf_probe_read_user", false },
	{ BPF_FUNC_ringbuf_output, "bpf_ringbuf_output", false },
	{ BPF_FUNC_get_current_task_btf, "bpf_get_current_task_btf", false },
	{ BPF_FUNC_task_storage_get, "bpf_task_storage_get", false },
	{ BPF_FUNC_get_attach_cookie, "bpf_get_attach_cookie", false },
	{ BPF_FUNC_task_pt_regs, "bpf_task_pt_regs", false },
};

void features_judge_helper(struct feature *feature, const char *missing, bool reads_kernel)
{
	if (!missing) {
		feature_say(feature, FEATURE_OK, "the kernel has all that gpumemtrace uses");
		return;
	}
	feature_say(feature, FEATURE_MISSING, "the kernel has no %s() for uprobes%s", missing,
		    reads_kernel ? ", or lockdown forbids the function" : "");
	feature_advise(feature, "Boot Linux 5.15 or newer, which has all functions that gpumemtrace uses%s",
		       reads_kernel ? ", and boot without lockdown=confidentiality" : "");
}

void feature_check_helpers(struct feature *feature, const struct features_where *where)
{
	(void)where;
	for (size_t i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++) {
		if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, helpers[i].id, NULL))
			continue;
		features_judge_helper(feature, helpers[i].name, helpers[i].reads_kernel);
		return;
	}
	features_judge_helper(feature, NULL, false);
}

/* bpf_loop() walks a stack, bpf_find_vma() finds its end: both came with Linux 5.17. */
void feature_check_stacks(struct feature *feature, const struct features_where *where)
{
	(void)where;
	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_loop, NULL) == 1) {
		feature_say(feature, FEATURE_OK, "native and Python frames, walked in the kernel");
		return;
	}
	feature_say(feature, FEATURE_WARN,
	    "the kernel has no bpf_loop(), or does not permit the check: most stack traces will be incomplete");
	feature_advise(feature, "Boot Linux 5.17 or newer for complete stack traces");
}

/* ---- the rest ---- */

void feature_check_watch(struct feature *feature, const struct features_where *where)
{
	struct watch *watch;
	int err = watch_open(&watch);

	(void)where;
	watch_close(watch);
	if (!err) {
		feature_say(feature, FEATURE_OK, "libraries that are loaded later are noticed at once");
		return;
	}
	feature_say(feature, FEATURE_WARN,
	    "mappings cannot be watched (%s): libraries that are loaded later are not noticed",
	    strerror(-err));
	feature_advise(feature, "Run gpumemtrace with sudo, or start it after the programs have loaded libcuda");
}

void feature_check_sysctls(struct feature *feature, const struct features_where *where)
{
	char bpf[32], perf[32];
	const char *bpf_text = feature_text(where, "/proc/sys/kernel/unprivileged_bpf_disabled", bpf, sizeof(bpf));
	const char *perf_text = feature_text(where, "/proc/sys/kernel/perf_event_paranoid", perf, sizeof(perf));

	feature_say(feature, FEATURE_OK,
	    "kernel.unprivileged_bpf_disabled=%s kernel.perf_event_paranoid=%s (root is not affected)",
	    bpf_text ? bpf_text : "?", perf_text ? perf_text : "?");
}

void feature_check_tracefs(struct feature *feature, const struct features_where *where)
{
	bool mounted = feature_exists(where, "/sys/kernel/tracing/events") ||
		       feature_exists(where, "/sys/kernel/debug/tracing/events");

	feature_say(feature, FEATURE_OK, "%s",
	    mounted ? "mounted" : "not mounted, and not needed: gpumemtrace uses raw tracepoints");
}

void feature_check_memlock(struct feature *feature, const struct features_where *where)
{
	struct rlimit limit;

	(void)where;
	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		feature_say(feature, FEATURE_WARN, "the limit cannot be read: %s", strerror(errno));
	else if (limit.rlim_cur == RLIM_INFINITY)
		feature_say(feature, FEATURE_OK, "unlimited");
	else
		feature_say(feature, FEATURE_OK, "%llu KiB (limits BPF maps only before Linux 5.11)",
		    (unsigned long long)limit.rlim_cur / 1024);
}

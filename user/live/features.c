// SPDX-License-Identifier: BSD-2-Clause
/* See features.h. One function a check; the table at the end is the order they are shown in. */
#include "live/features.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "live/driver.h"
#include "live/library.h"
#include "live/nvml.h"
#include "live/procfs.h"
#include "live/target.h"
#include "live/watch.h"

#define KERNEL(a, b, c) ((a) * 1000000L + (b) * 1000L + (c))

__attribute__((format(printf, 3, 4))) static void say(struct feature *feature, enum feature_state state,
						      const char *format, ...)
{
	va_list args;

	feature->state = state;
	va_start(args, format);
	vsnprintf(feature->detail, sizeof(feature->detail), format, args);
	va_end(args);
}

__attribute__((format(printf, 2, 3))) static void advise(struct feature *feature, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(feature->remedy, sizeof(feature->remedy), format, args);
	va_end(args);
}

/* A small file's text without its last newline; NULL if it cannot be read. */
static const char *text_of(const char *path, char *buf, size_t size)
{
	ssize_t len = procfs_read(path, buf, size);

	if (len < 0)
		return NULL;
	if (len && buf[len - 1] == '\n')
		buf[len - 1] = '\0';
	return buf;
}

/* ---- kernel ---- */

void features_judge_kernel(struct feature *feature, const char *release)
{
	int a = 0, b = 0, c = 0;
	long version;

	if (sscanf(release, "%d.%d.%d", &a, &b, &c) < 2) {
		say(feature, FEATURE_WARN, "%s: not a version", release);
		return;
	}
	version = KERNEL(a, b, c);
	if (version < KERNEL(5, 15, 0)) {
		/* bpf_task_pt_regs(): 5.15; BPF_MAP_TYPE_TASK_STORAGE for tracing programs: 5.11 */
		say(feature, FEATURE_MISSING, "%s is too old: 5.15 is the oldest with all that is used",
		    release);
		advise(feature, "Boot a kernel of 5.15 or newer; 6.6 or newer attaches fastest");
	} else if (version >= KERNEL(6, 11, 0) && version < KERNEL(6, 13, 3) &&
		   !(a == 6 && b == 12 && c >= 14)) {
		/* uretprobe(2) met seccomp filters until cf6cb56ef244 ("seccomp: passthrough uretprobe
		 * systemcall without filtering", 6.14-rc2, in 6.13.3 and 6.12.14) */
		say(feature, FEATURE_WARN,
		    "%s: return probes use a system call that seccomp filters may refuse, which kills the "
		    "target",
		    release);
		advise(feature,
		       "Do not trace processes under a seccomp filter (containers, services) on this "
		       "kernel; 6.12.14, 6.13.3 and newer are good, some distributions' older ones too");
	} else if (version < KERNEL(6, 6, 0)) {
		say(feature, FEATURE_OK,
		    "%s (before 6.6: one perf event for each probe, attaching is slower)", release);
	} else {
		say(feature, FEATURE_OK, "%s", release);
	}
}

static void check_kernel(struct feature *feature, const struct features_where *where)
{
	struct utsname name;

	(void)where;
	if (uname(&name))
		say(feature, FEATURE_WARN, "uname: %s", strerror(errno));
	else
		features_judge_kernel(feature, name.release);
}

#define HAS(caps, cap) ((caps) >> (cap) & 1)

void features_judge_capabilities(struct feature *feature, uint64_t effective, bool initial_user_ns)
{
	bool admin = HAS(effective, CAP_SYS_ADMIN);

	if (!initial_user_ns) {
		say(feature, FEATURE_MISSING,
		    "in a user namespace: its capabilities do not count for tracing");
		advise(feature, "Run it outside of rootless containers and user namespaces");
	} else if (!admin && !(HAS(effective, CAP_BPF) && HAS(effective, CAP_PERFMON))) {
		say(feature, FEATURE_MISSING, "%s",
		    effective ? "neither CAP_SYS_ADMIN nor both of CAP_BPF and CAP_PERFMON"
			      : "none: not root");
		advise(feature, "Run it with sudo, or give it CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE and "
				"CAP_CHECKPOINT_RESTORE");
	} else if (!HAS(effective, CAP_SYS_PTRACE)) {
		say(feature, FEATURE_WARN, "no CAP_SYS_PTRACE: other users' processes cannot be looked at");
		advise(feature, "Run it with sudo, or add CAP_SYS_PTRACE");
	} else if (!admin && !HAS(effective, CAP_CHECKPOINT_RESTORE)) {
		say(feature, FEATURE_WARN,
		    "no CAP_CHECKPOINT_RESTORE: libraries replaced on disk are not found");
		advise(feature, "Run it with sudo, or add CAP_CHECKPOINT_RESTORE");
	} else {
		say(feature, FEATURE_OK, "%s",
		    admin ? "CAP_SYS_ADMIN" : "CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE");
	}
}

static void check_privileges(struct feature *feature, const struct features_where *where)
{
	struct procfs_status status;
	char map[64];
	unsigned long inside, outside, count;
	bool initial;

	(void)where;
	if (procfs_status(getpid(), &status)) {
		say(feature, FEATURE_WARN, "/proc/self/status cannot be read");
		advise(feature, "Mount /proc");
		return;
	}
	/* the initial user namespace maps all ids to themselves */
	initial = !text_of("/proc/self/uid_map", map, sizeof(map)) ||
		  (sscanf(map, "%lu %lu %lu", &inside, &outside, &count) == 3 && !outside &&
		   count == UINT32_MAX);
	features_judge_capabilities(feature, status.cap_effective, initial);
}

static void check_btf(struct feature *feature, const struct features_where *where)
{
	(void)where;
	if (!access("/sys/kernel/btf/vmlinux", R_OK)) {
		say(feature, FEATURE_OK, "/sys/kernel/btf/vmlinux");
		return;
	}
	say(feature, FEATURE_MISSING, "/sys/kernel/btf/vmlinux: %s", strerror(errno));
	advise(feature, errno == ENOENT ? "Boot a kernel built with CONFIG_DEBUG_INFO_BTF=y (and mount /sys)"
					: "Run it with sudo");
}

void features_judge_bpf(struct feature *feature, int err)
{
	if (!err) {
		say(feature, FEATURE_OK, "maps and ring buffers can be made");
		return;
	}
	say(feature, FEATURE_MISSING, "a ring buffer cannot be made: %s", strerror(err));
	if (err == EPERM)
		advise(feature, "Run it with sudo; if it is root already, a container's seccomp filter or a "
				"security module refuses bpf(2): use --privileged");
	else if (err == EINVAL)
		advise(feature, "Boot a kernel of 5.15 or newer");
	else if (err == ENOSYS)
		advise(feature, "Boot a kernel built with CONFIG_BPF_SYSCALL=y");
	else
		advise(feature, "Raise the memory limit of the service or container");
}

static void check_bpf(struct feature *feature, const struct features_where *where)
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

static void check_jit(struct feature *feature, const struct features_where *where)
{
	char text[32];

	(void)where;
	if (!text_of("/proc/sys/net/core/bpf_jit_enable", text, sizeof(text))) {
		say(feature, FEATURE_OK, "no switch: always on, or not for this user to see");
	} else if (strcmp(text, "0")) {
		say(feature, FEATURE_OK, "on");
	} else {
		say(feature, FEATURE_WARN, "off: each probe takes several times as long");
		advise(feature, "sysctl net.core.bpf_jit_enable=1");
	}
}

static void check_uprobes(struct feature *feature, const struct features_where *where)
{
	char text[32];

	(void)where;
	if (text_of("/sys/bus/event_source/devices/uprobe/type", text, sizeof(text))) {
		say(feature, FEATURE_OK, "perf event type %s", text);
		return;
	}
	say(feature, FEATURE_MISSING, "the kernel has no uprobe events");
	advise(feature, "Boot a kernel built with CONFIG_UPROBE_EVENTS=y (and mount /sys)");
}

void features_judge_lockdown(struct feature *feature, const char *text)
{
	if (!text) {
		say(feature, FEATURE_OK, "not active, or /sys/kernel/security is not mounted");
	} else if (strstr(text, "[confidentiality]")) {
		/* LOCKDOWN_BPF_READ_KERNEL, include/linux/security.h: the programs do not load */
		say(feature, FEATURE_MISSING, "confidentiality: BPF programs may not read kernel memory");
		advise(feature, "Boot with lockdown=integrity, or without Secure Boot's lockdown");
	} else {
		say(feature, FEATURE_OK, "%s",
		    strstr(text, "[integrity]") ? "integrity (no hindrance)" : "none");
	}
}

static void check_lockdown(struct feature *feature, const struct features_where *where)
{
	char text[128];

	(void)where;
	features_judge_lockdown(feature, text_of("/sys/kernel/security/lockdown", text, sizeof(text)));
}

static void check_watch(struct feature *feature, const struct features_where *where)
{
	struct watch *watch;
	int err = watch_open(&watch);

	(void)where;
	watch_close(watch);
	if (!err) {
		say(feature, FEATURE_OK, "newly loaded libcuda files are seen at once");
		return;
	}
	say(feature, FEATURE_WARN, "mappings cannot be watched (%s): processes are scanned instead",
	    strerror(-err));
	advise(feature, "Run it with sudo; a new libcuda file is traced a moment later otherwise");
}

static void check_sysctls(struct feature *feature, const struct features_where *where)
{
	char bpf[32], perf[32];
	const char *bpf_text = text_of("/proc/sys/kernel/unprivileged_bpf_disabled", bpf, sizeof(bpf));
	const char *perf_text = text_of("/proc/sys/kernel/perf_event_paranoid", perf, sizeof(perf));

	(void)where;
	say(feature, FEATURE_OK,
	    "kernel.unprivileged_bpf_disabled=%s kernel.perf_event_paranoid=%s (no hindrance to root)",
	    bpf_text ? bpf_text : "?", perf_text ? perf_text : "?");
}

static void check_tracefs(struct feature *feature, const struct features_where *where)
{
	bool mounted = !access("/sys/kernel/tracing/events", F_OK) ||
		       !access("/sys/kernel/debug/tracing/events", F_OK);

	(void)where;
	say(feature, FEATURE_OK, "%s",
	    mounted ? "mounted" : "not mounted, and not needed: raw tracepoints serve");
}

static void check_memlock(struct feature *feature, const struct features_where *where)
{
	struct rlimit limit;

	(void)where;
	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		say(feature, FEATURE_WARN, "%s", strerror(errno));
	else if (limit.rlim_cur == RLIM_INFINITY)
		say(feature, FEATURE_OK, "unlimited");
	else
		say(feature, FEATURE_OK, "%llu KiB (BPF maps are not counted against it from 5.11 on)",
		    (unsigned long long)limit.rlim_cur / 1024);
}

/* bpf_loop() walks a stack, bpf_find_vma() says where it ends: both are of Linux 5.17. */
static void check_stacks(struct feature *feature, const struct features_where *where)
{
	(void)where;
	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_loop, NULL) == 1) {
		say(feature, FEATURE_OK, "walked in the kernel, native and Python frames");
		return;
	}
	say(feature, FEATURE_WARN, "the kernel has no bpf_loop(), or may not be asked: most will be incomplete");
	advise(feature, "Boot a kernel of 5.17 or newer for stacks with all their frames");
}

/* ---- NVIDIA ---- */

static void check_driver(struct feature *feature, const struct features_where *where)
{
	struct driver_info info;

	driver_probe(where->root, &info);
	if (!info.present) {
		say(feature, FEATURE_WARN, "%s", info.reason);
		advise(feature, "Calls of the CUDA API are traced all the same; physical memory is not");
	} else if (!info.layout_verified) {
		say(feature, FEATURE_WARN,
		    "%s: the layout of its ioctl structures was not verified, the nearest known is used",
		    info.version[0] ? info.version : "unknown version");
		advise(feature, "Compare the physical column with nvidia-smi; verified are 535 to 595");
	} else {
		say(feature, FEATURE_OK, "%s, ioctl layouts verified", info.version);
	}
}

static void check_uvm(struct feature *feature, const struct features_where *where)
{
	struct driver_info info;

	driver_probe(where->root, &info);
	if (info.uvm_major || info.uvm_rdev) {
		say(feature, FEATURE_OK, "character device %u",
		    info.uvm_major ? info.uvm_major : info.uvm_rdev >> 20);
		return;
	}
	say(feature, FEATURE_WARN, "not loaded%s", info.present ? " (the first CUDA program loads it)" : "");
	if (info.present)
		advise(feature, "modprobe nvidia-uvm, before tracing starts");
}

static void check_nvml(struct feature *feature, const struct features_where *where)
{
	char why[sizeof(feature->detail)];
	struct nvml *nvml;
	size_t count;
	int err = nvml_open(where->nvml, where->root, &nvml, why, sizeof(why));

	if (!err) {
		nvml_gpus(nvml, &count);
		say(feature, FEATURE_OK, "%s: %zu GPU%s or MIG instance%s", nvml_path(nvml), count,
		    count == 1 ? "" : "s", count == 1 ? "" : "s");
		nvml_close(nvml);
		return;
	}
	say(feature, FEATURE_WARN, "%s", why);
	advise(feature,
	       "%s; without NVML nothing is compared with nvidia-smi, and what was used before attaching "
	       "is unknown",
	       err == -ENOENT ? "Install the driver's user-space libraries" : "Load the NVIDIA driver");
}

static void check_libcuda(struct feature *feature, const struct features_where *where)
{
	struct library library;
	char path[PATH_MAX];

	(void)where;
	if (target_default_library(NULL, path, sizeof(path))) {
		say(feature, FEATURE_WARN,
		    "no libcuda.so.1 for programs started here (containers bring their own)");
		advise(feature, "Install the driver's user-space libraries, or set LD_LIBRARY_PATH");
	} else if (library_open(path, LIBRARY_CUDA, &library) || !library.is_one) {
		say(feature, FEATURE_WARN, "%.90s: %s", path,
		    library.why[0] ? library.why : "not a CUDA driver library");
	} else {
		say(feature, FEATURE_OK, "%.120s: %u probe points, %u absent", path, library.probe_count,
		    library.absent + library.aliased);
	}
}

/* ---- surroundings ---- */

static void check_pid_namespace(struct feature *feature, const struct features_where *where)
{
	(void)where;
	if (target_pids_are_initial()) {
		say(feature, FEATURE_OK, "the initial one");
		return;
	}
	say(feature, FEATURE_WARN,
	    "a nested one: the kernel's pids cannot be translated, -p cannot find its process");
	advise(feature,
	       "Start the container with the host's pid namespace (docker run --pid=host, hostPID: true)");
}

static void check_container(struct feature *feature, const struct features_where *where)
{
	static const struct {
		const char *path, *name;
	} signs[] = {
		{ "/.dockerenv", "Docker" },
		{ "/run/.containerenv", "Podman" },
		{ "/var/run/secrets/kubernetes.io", "Kubernetes" },
		{ "/run/systemd/container", "a container" },
	};

	(void)where;
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		if (access(signs[i].path, F_OK))
			continue;
		say(feature, FEATURE_OK, "in %s", signs[i].name);
		if (!target_pids_are_initial())
			advise(feature, "To see the whole machine: --privileged --pid=host");
		return;
	}
	say(feature, FEATURE_OK, "none noticed");
}

static const struct check {
	const char *name;
	void (*run)(struct feature *feature, const struct features_where *where);
	bool can_block; /* FEATURE_MISSING is among its answers */
} checks[] = {
	{ "privileges", check_privileges, true },
	{ "kernel", check_kernel, true },
	{ "BTF", check_btf, true },
	{ "uprobes", check_uprobes, true },
	{ "lockdown", check_lockdown, true },
	{ "BPF", check_bpf, true },
	{ "BPF JIT", check_jit, false },
	{ "stacks", check_stacks, false },
	{ "mapping events", check_watch, false },
	{ "tracefs", check_tracefs, false },
	{ "sysctls", check_sysctls, false },
	{ "memlock", check_memlock, false },
	{ "pid namespace", check_pid_namespace, false },
	{ "container", check_container, false },
	{ "NVIDIA driver", check_driver, false },
	{ "nvidia-uvm", check_uvm, false },
	{ "NVML", check_nvml, false },
	{ "libcuda", check_libcuda, false },
};
#define CHECKS (sizeof(checks) / sizeof(checks[0]))
_Static_assert(CHECKS <= FEATURES_MAX, "callers' arrays hold every check");

static void run_check(const struct check *check, const struct features_where *where, struct feature *feature)
{
	memset(feature, 0, sizeof(*feature));
	feature->name = check->name;
	check->run(feature, where);
}

size_t features_probe(const struct features_where *where, struct feature out[FEATURES_MAX])
{
	for (size_t i = 0; i < CHECKS; i++)
		run_check(&checks[i], where, &out[i]);
	return CHECKS;
}

bool features_blocker(struct feature *out)
{
	static const struct features_where nowhere = { .root = "" };

	for (size_t i = 0; i < CHECKS; i++) {
		if (!checks[i].can_block)
			continue;
		run_check(&checks[i], &nowhere, out);
		if (out->state == FEATURE_MISSING)
			return true;
	}
	return false;
}

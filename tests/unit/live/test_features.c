// SPDX-License-Identifier: BSD-2-Clause
/* What is concluded from files, capabilities and errors, and that every fact is filled in. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <unistd.h>

#include "compile.h"
#include "live/features/features.h"
#include "live/probe/trial.h"
#include "parse/kinds.h"

static struct feature empty(void)
{
	return (struct feature){ .name = "x", .state = (enum feature_state)-1 };
}

static void is(const struct feature *feature, enum feature_state wanted, const char *detail, const char *remedy)
{
	if (feature->state != wanted || !strstr(feature->detail, detail) || !strstr(feature->remedy, remedy))
		fail_msg("state %d: %s; %s", (int)feature->state, feature->detail, feature->remedy);
	assert_int_equal(wanted == FEATURE_OK, !feature->remedy[0]);
	assert_true(strlen(feature->detail) + 1 < sizeof(feature->detail)); /* not cut off */
	assert_true(strlen(feature->remedy) + 1 < sizeof(feature->remedy));
}

/* The version is shown, and decides nothing. */
static void kernels(void **state)
{
	static const char *const releases[] = { "4.18.0-553.el8_10.x86_64", "5.14.0", "6.11.0-29-generic", "6.12.13",
						"6.13.2", "7.0.0", "strange" };
	static const struct {
		const char *version;
		bool marker;
		enum features_kernel wanted;
	} rows[] = {
		{ NULL, false, FEATURES_LINUX },
		{ NULL, true, FEATURES_GVISOR },
		{ "Linux version 6.1.0-32-amd64 (debian-kernel@lists.debian.org) #1 SMP Debian 6.1.129-1", false,
		  FEATURES_LINUX },
		{ "Linux version 5.15.0-1080-azure (buildd@lcy02-amd64-048) #89-Ubuntu SMP", false, FEATURES_LINUX },
		{ "Linux version 5.15.167.4-microsoft-standard-WSL2 (root@f9c826d3017f) #1 SMP", false, FEATURES_WSL },
		{ "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016", false, FEATURES_GVISOR },
		{ "Linux version 4.19.0-gvisor #1 SMP Sun Jan 10 15:06:54 PST 2016", false, FEATURES_GVISOR },
	};
	struct feature feature = empty();

	(void)state;
	for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++) {
		features_judge_kernel(&feature, releases[i], FEATURES_LINUX);
		is(&feature, FEATURE_OK, releases[i], "");
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(features_kernel_of(rows[i].version, rows[i].marker), rows[i].wanted);
	features_judge_kernel(&feature, "4.4.0", FEATURES_GVISOR);
	is(&feature, FEATURE_MISSING, "gVisor", "outside of the sandbox");
}

#define CAP(name) (1ull << CAP_##name)

static void capabilities(uint64_t effective, bool initial, enum feature_state wanted)
{
	struct feature feature = empty();

	for (int root = 0; root < 2; root++) {
		feature = empty();
		features_judge_capabilities(&feature, effective, initial, root);
		if (feature.state != wanted)
			fail_msg("%llx: state %d", (unsigned long long)effective, (int)feature.state);
		is(&feature, wanted, "", "");
	}
}

static void privileges(void **state)
{
	struct feature feature = empty();

	(void)state;
	capabilities(0x1ffffffffff, true, FEATURE_OK);
	capabilities(0x1ffffffffff, false, FEATURE_MISSING);
	capabilities(0, true, FEATURE_MISSING);
	capabilities(CAP(SYS_ADMIN) | CAP(SYS_PTRACE) | CAP(DAC_READ_SEARCH), true, FEATURE_OK);
	capabilities(CAP(SYS_ADMIN) | CAP(SYS_PTRACE), true, FEATURE_WARN);
	capabilities(CAP(SYS_ADMIN), true, FEATURE_WARN);
	capabilities(CAP(BPF) | CAP(SYS_PTRACE), true, FEATURE_MISSING);
	capabilities(CAP(PERFMON) | CAP(SYS_PTRACE), true, FEATURE_MISSING);
	capabilities(CAP(BPF) | CAP(PERFMON), true, FEATURE_WARN);
	capabilities(CAP(BPF) | CAP(PERFMON) | CAP(SYS_PTRACE), true, FEATURE_WARN);
	capabilities(CAP(BPF) | CAP(PERFMON) | CAP(SYS_PTRACE) | CAP(CHECKPOINT_RESTORE), true, FEATURE_WARN);
	capabilities(CAP(BPF) | CAP(PERFMON) | CAP(SYS_PTRACE) | CAP(CHECKPOINT_RESTORE) | CAP(DAC_READ_SEARCH), true,
		     FEATURE_OK);
	/* each that is missing is named, with the remedy */
	features_judge_capabilities(&feature, CAP(BPF) | CAP(PERFMON), true, false);
	is(&feature, FEATURE_WARN, "no CAP_SYS_PTRACE: processes of other users cannot be inspected; no CAP_CHECKPOINT_RESTORE",
	   "add CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE, CAP_DAC_READ_SEARCH");
	assert_non_null(strstr(feature.detail, "; no CAP_DAC_READ_SEARCH: files below other users' private directories cannot"));
	/* root cannot become more by sudo */
	features_judge_capabilities(&feature, 0xa80425fb /* Docker's */, true, true);
	is(&feature, FEATURE_MISSING, "root, but", "--privileged");
	assert_null(strstr(feature.remedy, "sudo"));
	features_judge_capabilities(&feature, 0, true, false);
	is(&feature, FEATURE_MISSING, "not root", "sudo");
}

static void lockdown(const char *text, enum feature_state wanted)
{
	struct feature feature = empty();

	features_judge_lockdown(&feature, text);
	assert_int_equal(feature.state, wanted);
}

static void lockdowns(void **state)
{
	(void)state;
	lockdown("[none] integrity confidentiality", FEATURE_OK);
	lockdown("none [integrity] confidentiality", FEATURE_OK);
	lockdown("none integrity [confidentiality]", FEATURE_MISSING);
	lockdown(NULL, FEATURE_OK);
}

#define UNLIMITED UINT64_MAX

static void bpf_errors(void **state)
{
	static const struct {
		int err;
		uint64_t memlock;
		const char *detail, *remedy;
	} rows[] = {
		{ EPERM, UNLIMITED, "not permitted", "security module" },
		{ EPERM, 65536, "with 64 KiB of memlock", "ulimit -l unlimited" },
		{ ENOMEM, 65536, "with 64 KiB of memlock", "LimitMEMLOCK=infinity" },
		{ EINVAL, UNLIMITED, "Invalid", "5.8 or newer" },
		{ EINVAL, 65536, "Invalid", "5.8 or newer" },
		{ ENOSYS, UNLIMITED, "not implemented", "CONFIG_BPF_SYSCALL=y" },
		{ ENOMEM, UNLIMITED, "memory", "memory limit" },
	};
	struct feature feature = empty();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		features_judge_bpf(&feature, rows[i].err, rows[i].memlock);
		is(&feature, FEATURE_MISSING, rows[i].detail, rows[i].remedy);
	}
	feature = empty();
	features_judge_bpf(&feature, 0, 65536); /* newer kernels do not count */
	is(&feature, FEATURE_OK, "", "");
}

static void parts_of_the_kernel(void **state)
{
	struct feature f = empty();

	(void)state;
	features_judge_jit(&f, "1", 1);
	is(&f, FEATURE_OK, "on", "");
	features_judge_jit(&f, NULL, 1); /* the switch is not seen in a network namespace */
	is(&f, FEATURE_OK, "on", "");
	features_judge_jit(&f, NULL, -1);
	is(&f, FEATURE_OK, "could not be tried", "");
	features_judge_jit(&f, "0", -1);
	is(&f, FEATURE_MISSING, "off", "sysctl net.core.bpf_jit_enable=1");
	features_judge_jit(&f, "0", 0);
	is(&f, FEATURE_MISSING, "off", "sysctl net.core.bpf_jit_enable=1");
	features_judge_jit(&f, NULL, 0);
	is(&f, FEATURE_MISSING, "none", "CONFIG_BPF_JIT=y");
	f = empty();
	features_judge_uprobes(&f, NULL, true); /* /sys is not mounted */
	is(&f, FEATURE_OK, "uprobe_multi", "");
	features_judge_uprobes(&f, "7", false);
	is(&f, FEATURE_OK, "slower", "");
	features_judge_uprobes(&f, NULL, false);
	is(&f, FEATURE_MISSING, "no uprobe", "CONFIG_UPROBE_EVENTS=y");
	f = empty();
	features_judge_btf(&f, 0, FEATURES_LINUX);
	is(&f, FEATURE_OK, "", "");
	features_judge_btf(&f, ENOENT, FEATURES_LINUX);
	is(&f, FEATURE_MISSING, "/sys/kernel/btf", "CONFIG_DEBUG_INFO_BTF=y");
	features_judge_btf(&f, ENOENT, FEATURES_WSL);
	is(&f, FEATURE_MISSING, "/sys/kernel/btf", "wsl --update");
	features_judge_btf(&f, EACCES, FEATURES_LINUX);
	is(&f, FEATURE_MISSING, "denied", "sudo");
	f = empty();
	features_judge_helper(&f, NULL, false);
	is(&f, FEATURE_OK, "", "");
	features_judge_helper(&f, "bpf_task_pt_regs", false);
	is(&f, FEATURE_MISSING, "bpf_task_pt_regs()", "5.15");
	features_judge_helper(&f, "bpf_probe_read_kernel", true);
	is(&f, FEATURE_MISSING, "lockdown forbids", "lockdown=confidentiality");
}

static void return_probes(void **state)
{
	static const struct {
		struct trial trial;
		enum feature_state wanted;
		const char *detail, *remedy;
	} rows[] = {
		{ { TRIAL_SAFE, TRIAL_ABSENT, "" }, FEATURE_OK, "no shadow stacks", "" },
		{ { TRIAL_SAFE, TRIAL_SAFE, "" }, FEATURE_OK, "with a shadow stack, too", "" },
		{ { TRIAL_KILLS, TRIAL_ABSENT, "" }, FEATURE_WARN, "processes under a seccomp filter:", "6.12.14" },
		{ { TRIAL_SAFE, TRIAL_KILLS, "" }, FEATURE_WARN, "processes with a shadow stack:", "6.12.14" },
		{ { TRIAL_KILLS, TRIAL_KILLS, "" }, FEATURE_WARN, "filter and with a shadow", "6.12.14" },
		{ { TRIAL_UNKNOWN, TRIAL_ABSENT, "why" }, FEATURE_WARN, "could not be tried (why)", "sudo" },
		{ { TRIAL_SAFE, TRIAL_UNKNOWN, "why" }, FEATURE_WARN, "could not be tried (why)", "sudo" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct feature feature = empty();

		features_judge_return_probes(&feature, &rows[i].trial);
		is(&feature, rows[i].wanted, rows[i].detail, rows[i].remedy);
	}
}

/* ---- places that lack something: a machine made of files, good but for one ---- */

static const struct file {
	const char *path, *text; /* NULL: there is none */
} good[] = {
	{ "/proc/version", "Linux version 6.1.0 (builder) #1 SMP\n" },
	{ "/proc/self/status", "Tgid:\t1\nPPid:\t1\nUid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\n" },
	{ "/proc/self/uid_map", "         0          0 4294967295\n" },
	{ "/proc/sys/net/core/bpf_jit_enable", "1\n" },
	{ "/proc/gvisor/kernel_is_gvisor", NULL },
	{ "/sys/kernel/btf/vmlinux", "" },
	{ "/sys/kernel/security/lockdown", "[none] integrity confidentiality\n" },
	{ "/sys/bus/event_source/devices/uprobe/type", "7\n" },
};

static void put_file(const char *root, const struct file *file)
{
	char command[512];

	if (file->text)
		snprintf(command, sizeof(command), "mkdir -p $(dirname %s%s) && printf '%s' > %s%s", root, file->path,
			 file->text, root, file->path);
	else
		snprintf(command, sizeof(command), "rm -f %s%s", root, file->path);
	assert_int_equal(run_shell(command), 0);
}

static void unusual_places(void **state)
{
	static const struct {
		struct file file;
		bool no_multi;
		const char *name, *detail, *remedy; /* of what is in the way; NULL: nothing is */
	} rows[] = {
		{ good[0], false, NULL, NULL, NULL },
		{ good[0], true, NULL, NULL, NULL },
		{ { "/proc/version", "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n" }, false, "kernel", "gVisor",
		  "outside" },
		{ { "/proc/gvisor/kernel_is_gvisor", "1" }, false, "kernel", "gVisor", "outside" },
		{ { "/proc/self/status", "Tgid:\t1\nPPid:\t1\nUid:\t0\t0\t0\t0\nCapEff:\t00000000a80425fb\n" }, false,
		  "privileges", "root, but", "--privileged" },
		{ { "/proc/self/uid_map", "         0       1000          1\n" }, false, "privileges", "user namespace",
		  "rootless" },
		{ { "/sys/kernel/btf/vmlinux", NULL }, false, "BTF", "No such file", "CONFIG_DEBUG_INFO_BTF=y" },
		{ { "/sys/bus/event_source/devices/uprobe/type", NULL }, true, "uprobes", "no uprobe events",
		  "CONFIG_UPROBE_EVENTS=y" },
		{ { "/sys/kernel/security/lockdown", "none [integrity] confidentiality\n" }, false, NULL, NULL, NULL },
		{ { "/sys/kernel/security/lockdown", "none integrity [confidentiality]\n" }, false, "lockdown",
		  "kernel memory", "lockdown=integrity" },
		{ { "/proc/sys/net/core/bpf_jit_enable", "0\n" }, false, "BPF JIT", "off",
		  "sysctl net.core.bpf_jit_enable=1" },
	};
	const struct workdir *dir = *state;

	if (geteuid())
		skip();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct features_where where = { .root = "", .system = dir->path, .no_uprobe_multi = rows[i].no_multi };
		struct feature blocker;
		bool found;

		for (size_t k = 0; k < sizeof(good) / sizeof(good[0]); k++)
			put_file(dir->path, &good[k]);
		put_file(dir->path, &rows[i].file);
		found = features_blocker(&where, &blocker);
		if (found != (rows[i].name != NULL) || (found && strcmp(blocker.name, rows[i].name)))
			fail_msg("row %zu: %s: %s", i, found ? blocker.name : "nothing", found ? blocker.detail : "");
		if (found)
			is(&blocker, FEATURE_MISSING, rows[i].detail, rows[i].remedy);
	}
}

/* WSL is no hindrance: Windows has the driver. */
static void windows(void **state)
{
	const struct workdir *dir = *state;
	const struct features_where where = { .root = dir->path, .system = dir->path, .nvml = "/nowhere/nvml" };
	const struct file version = { "/proc/version", "Linux version 5.15.167.4-microsoft-standard-WSL2 #1 SMP\n" };
	struct feature facts[FEATURES_MAX];
	unsigned int met = 0;
	size_t count;

	put_file(dir->path, &version);
	count = features_probe(&where, facts);
	for (size_t i = 0; i < count; i++) {
		met += !strcmp(facts[i].name, "kernel") || !strcmp(facts[i].name, "NVIDIA driver");
		if (!strcmp(facts[i].name, "kernel"))
			is(&facts[i], FEATURE_OK, "(WSL)", "");
		if (!strcmp(facts[i].name, "NVIDIA driver"))
			is(&facts[i], FEATURE_WARN, "Windows", "still traced");
	}
	assert_int_equal(met, 2);
}

static void every_fact_is_filled_in(void **state)
{
	const struct features_where where = { .root = "", .system = "", .nvml = "/nowhere/libnvidia-ml.so.1" };
	struct feature facts[FEATURES_MAX], blocker;
	const struct feature *first_missing = NULL;
	size_t count;

	(void)state;
	memset(facts, 0xff, sizeof(facts));
	count = features_probe(&where, facts);
	assert_true(count >= 15 && count <= FEATURES_MAX);
	for (size_t i = 0; i < count; i++) {
		assert_true(facts[i].state <= FEATURE_MISSING);
		assert_true(strlen(facts[i].detail) > 0);
		assert_true(memchr(facts[i].remedy, 0, sizeof(facts[i].remedy)) != NULL);
		if (facts[i].state == FEATURE_MISSING) {
			assert_string_not_equal(facts[i].remedy, "");
			first_missing = first_missing ? first_missing : &facts[i];
		}
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(facts[i].name, facts[k].name);
		if (!strcmp(facts[i].name, "NVML")) {
			assert_int_equal(facts[i].state, FEATURE_WARN);
			assert_non_null(strstr(facts[i].detail, "/nowhere"));
		}
	}
	/* what stands in the way is the first thing missing of all: nothing else may be missing */
	assert_int_equal(features_blocker(&where, &blocker), first_missing != NULL);
	if (first_missing)
		assert_string_equal(blocker.name, first_missing->name);
}

static void without_privileges(void **state)
{
	const struct features_where where = { .root = "", .system = "" };
	struct feature blocker;

	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(seteuid(65534), 0); /* drops the effective capabilities */
	assert_true(features_blocker(&where, &blocker));
	assert_string_equal(blocker.name, "privileges");
	assert_non_null(strstr(blocker.remedy, "sudo"));
	assert_int_equal(seteuid(0), 0);
}

static void readers(void **state)
{
	struct parse_status status = { .uid = 65534, .no_new_privileges = 1, .has_filter = 1 };
	struct feature f = empty();

	(void)state;
	features_judge_readers(&f, 0, &status);
	is(&f, FEATURE_OK, "user 65534, without capabilities, under a filter", "");
	status.uid = 0;
	features_judge_readers(&f, 0, &status);
	is(&f, FEATURE_WARN, "as root", "CAP_SETUID");
	status.has_filter = 0;
	features_judge_readers(&f, 0, &status);
	is(&f, FEATURE_WARN, "without a seccomp filter", "CONFIG_SECCOMP_FILTER");
	features_judge_readers(&f, -EAGAIN, &status);
	is(&f, FEATURE_MISSING, "does not start", "RLIMIT_NPROC");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels),
		cmocka_unit_test(privileges),
		cmocka_unit_test(lockdowns),
		cmocka_unit_test(bpf_errors),
		cmocka_unit_test(parts_of_the_kernel),
		cmocka_unit_test(return_probes),
		cmocka_unit_test(readers),
		cmocka_unit_test_setup_teardown(unusual_places, workdir_make, workdir_remove),
		cmocka_unit_test_setup_teardown(windows, workdir_make, workdir_remove),
		cmocka_unit_test(every_fact_is_filled_in),
		cmocka_unit_test(without_privileges),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

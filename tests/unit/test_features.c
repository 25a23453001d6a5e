// SPDX-License-Identifier: BSD-2-Clause
/* What is concluded from kernel versions, capabilities and errors, and that every fact is filled in. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <unistd.h>

#include "live/features.h"

static struct feature empty(void)
{
	return (struct feature){ .name = "x", .state = (enum feature_state)-1 };
}

static void kernel(const char *release, enum feature_state wanted)
{
	struct feature feature = empty();

	features_judge_kernel(&feature, release);
	if (feature.state != wanted)
		fail_msg("%s: state %d: %s", release, (int)feature.state, feature.detail);
	assert_non_null(strstr(feature.detail, release));
	if (wanted == FEATURE_MISSING)
		assert_string_not_equal(feature.remedy, "");
}

static void kernels(void **state)
{
	struct feature feature = empty();

	(void)state;
	kernel("4.18.0-553.el8_10.x86_64", FEATURE_MISSING);
	kernel("5.10.239-amd64", FEATURE_MISSING);
	kernel("5.14.0", FEATURE_MISSING);
	kernel("5.15.0", FEATURE_OK);
	kernel("5.15.0-1080-aws", FEATURE_OK);
	kernel("6.5.13", FEATURE_OK);
	kernel("6.6.0", FEATURE_OK);
	kernel("6.10.14", FEATURE_OK);
	kernel("6.11.0-29-generic", FEATURE_WARN);
	kernel("6.12.13", FEATURE_WARN);
	kernel("6.12.14", FEATURE_OK);
	kernel("6.12.43+deb13-amd64", FEATURE_OK);
	kernel("6.13.2", FEATURE_WARN);
	kernel("6.13.3", FEATURE_OK);
	kernel("6.14.0-rc2", FEATURE_OK);
	kernel("7.0.0", FEATURE_OK);
	kernel("strange", FEATURE_WARN);
	features_judge_kernel(&feature, "6.5.13");
	assert_non_null(strstr(feature.detail, "slower"));
}

#define CAP(name) (1ull << CAP_##name)

static void capabilities(uint64_t effective, bool initial, enum feature_state wanted)
{
	struct feature feature = empty();

	features_judge_capabilities(&feature, effective, initial);
	if (feature.state != wanted)
		fail_msg("%llx: state %d", (unsigned long long)effective, (int)feature.state);
	assert_int_equal(wanted == FEATURE_OK, !feature.remedy[0]);
}

static void privileges(void **state)
{
	(void)state;
	capabilities(0x1ffffffffff, true, FEATURE_OK);
	capabilities(0x1ffffffffff, false, FEATURE_MISSING);
	capabilities(0, true, FEATURE_MISSING);
	capabilities(CAP(SYS_ADMIN) | CAP(SYS_PTRACE), true, FEATURE_OK);
	capabilities(CAP(SYS_ADMIN), true, FEATURE_WARN);
	capabilities(CAP(BPF) | CAP(SYS_PTRACE), true, FEATURE_MISSING);
	capabilities(CAP(PERFMON) | CAP(SYS_PTRACE), true, FEATURE_MISSING);
	capabilities(CAP(BPF) | CAP(PERFMON), true, FEATURE_WARN);
	capabilities(CAP(BPF) | CAP(PERFMON) | CAP(SYS_PTRACE), true, FEATURE_WARN);
	capabilities(CAP(BPF) | CAP(PERFMON) | CAP(SYS_PTRACE) | CAP(CHECKPOINT_RESTORE), true, FEATURE_OK);
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

static void bpf_errors(void **state)
{
	static const int errors[] = { EPERM, EINVAL, ENOSYS, ENOMEM };
	char last[256] = "";

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct feature feature = empty();

		features_judge_bpf(&feature, errors[i]);
		assert_int_equal(feature.state, FEATURE_MISSING);
		assert_non_null(strstr(feature.detail, strerror(errors[i])));
		assert_string_not_equal(feature.remedy, last); /* each its own */
		memcpy(last, feature.remedy, sizeof(last));
	}
}

static void every_fact_is_filled_in(void **state)
{
	const struct features_where where = { .root = "", .nvml = "/nowhere/libnvidia-ml.so.1" };
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
	assert_int_equal(features_blocker(&blocker), first_missing != NULL);
	if (first_missing)
		assert_string_equal(blocker.name, first_missing->name);
}

static void without_privileges(void **state)
{
	struct feature blocker;

	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(seteuid(65534), 0); /* drops the effective capabilities */
	assert_true(features_blocker(&blocker));
	assert_string_equal(blocker.name, "privileges");
	assert_non_null(strstr(blocker.remedy, "sudo"));
	assert_int_equal(seteuid(0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels),
		cmocka_unit_test(privileges),
		cmocka_unit_test(lockdowns),
		cmocka_unit_test(bpf_errors),
		cmocka_unit_test(every_fact_is_filled_in),
		cmocka_unit_test(without_privileges),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

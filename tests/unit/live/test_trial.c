// SPDX-License-Identifier: BSD-2-Clause
/* Whether return probes kill: what a child's end says, and, as root, the trial on this kernel. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/probe/trial.h"
#include "live/probe/uprobe.h"

#define EXITED(code) ((code) << 8) /* as wait(2) has them */

static void ends_of_a_child(void **state)
{
	static const struct {
		int err, status;
		uint64_t runs;
		enum trial_result wanted;
		const char *why; /* a word of it; NULL: none is given */
	} rows[] = {
		{ 0, EXITED(TRIAL_CHILD_LIVED), 1, TRIAL_SAFE, NULL },
		{ 0, SIGSYS, 0, TRIAL_KILLS, NULL },			  /* the filter met uretprobe */
		{ 0, SIGSEGV, 1, TRIAL_KILLS, NULL },			  /* the shadow stack said another address */
		{ 0, SIGILL, 1, TRIAL_KILLS, NULL },
		{ 0, SIGSYS | 0x80, 0, TRIAL_KILLS, NULL },		  /* with a core, as bit 7 says */
		{ 0, SIGKILL, 0, TRIAL_UNKNOWN, "did not end" },	  /* ours, as time was up */
		{ 0, EXITED(TRIAL_CHILD_LIVED), 0, TRIAL_UNKNOWN, "0 times" }, /* it tried nothing */
		{ 0, EXITED(TRIAL_CHILD_LIVED), 2, TRIAL_UNKNOWN, "2 times" },
		{ 0, EXITED(TRIAL_CHILD_LIVED + 1), 0, TRIAL_UNKNOWN, "filter" },
		{ 0, EXITED(0), 1, TRIAL_UNKNOWN, "filter" },
		{ -EPERM, EXITED(TRIAL_CHILD_LIVED), 0, TRIAL_UNKNOWN, "not permitted" },
		{ -EINVAL, SIGSYS, 0, TRIAL_UNKNOWN, "Invalid" },	  /* it was never probed */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char why[96] = "";
		enum trial_result got = trial_judge(rows[i].err, rows[i].status, rows[i].runs, why, sizeof(why));

		if (got != rows[i].wanted || !rows[i].why != !why[0] || (rows[i].why && !strstr(why, rows[i].why)))
			fail_msg("row %zu: %d, %s", i, (int)got, why);
	}
}

static void what_harms(void **state)
{
	struct trial trial;

	(void)state;
	assert_true(trial_harms(TRIAL_UNKNOWN));
	assert_true(trial_harms(TRIAL_KILLS));
	assert_false(trial_harms(TRIAL_SAFE));
	assert_false(trial_harms(TRIAL_ABSENT));
	trial_assume(&trial, "seccomp");
	assert_int_equal(trial.seccomp, TRIAL_KILLS);
	assert_int_equal(trial.shadow_stack, TRIAL_SAFE);
	trial_assume(&trial, "shstk");
	assert_int_equal(trial.seccomp, TRIAL_SAFE);
	assert_int_equal(trial.shadow_stack, TRIAL_KILLS);
	trial_assume(&trial, "whatever");
	assert_int_equal(trial.seccomp, TRIAL_UNKNOWN);
	assert_int_equal(trial.shadow_stack, TRIAL_UNKNOWN);
	assert_string_not_equal(trial.why, "");
}

static unsigned int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void nothing_is_left(const struct trial *trial, unsigned int files)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(open_files(), files);
	assert_true(trial->seccomp != TRIAL_ABSENT);
}

static void this_kernel(void **state)
{
	unsigned int files = open_files();
	struct trial trial;

	(void)state;
	if (geteuid())
		skip();
	for (int multi = 0; multi <= (int)uprobe_has_multi(); multi++) {
		trial_run(&trial, multi);
		nothing_is_left(&trial, files);
		print_message("%s: under a filter %d, with a shadow stack %d %s\n", multi ? "uprobe_multi" : "perf events",
			      (int)trial.seccomp, (int)trial.shadow_stack, trial.why);
		assert_string_equal(trial.why, "");
		assert_true(trial.seccomp == TRIAL_SAFE || trial.seccomp == TRIAL_KILLS);
		assert_true(trial.shadow_stack != TRIAL_UNKNOWN);
	}
}

static void without_privileges(void **state)
{
	unsigned int files = open_files();
	struct trial trial;

	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(seteuid(65534), 0);
	trial_run(&trial, false);
	assert_int_equal(seteuid(0), 0);
	nothing_is_left(&trial, files);
	assert_int_equal(trial.seccomp, TRIAL_UNKNOWN);
	assert_string_not_equal(trial.why, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_of_a_child),
		cmocka_unit_test(what_harms),
		cmocka_unit_test(this_kernel),
		cmocka_unit_test(without_privileges),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

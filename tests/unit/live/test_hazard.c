// SPDX-License-Identifier: BSD-2-Clause
/* Which processes forbid return probes in the files that they map. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compile.h"
#include "live/probe/hazard.h"
#include "live/probe/library.h"
#include "live/process/procfs.h"
#include "live/probe/trial.h"

#define SOURCE "int cuInit(void) { return 0; } int cuMemCreate(void) { return 0; } int cuMemAlloc_v2(void) { return 0; }"

static void verdicts(void **state)
{
	static const struct {
		enum trial_result seccomp, shadow_stack;
		unsigned int mode;
		bool has_shadow_stack;
		enum hazard_verdict wanted;
	} rows[] = {
		{ TRIAL_SAFE, TRIAL_ABSENT, 2, true, HAZARD_FREE },
		{ TRIAL_SAFE, TRIAL_SAFE, 1, true, HAZARD_FREE },
		{ TRIAL_KILLS, TRIAL_ABSENT, 0, false, HAZARD_FREE },
		{ TRIAL_KILLS, TRIAL_ABSENT, 1, false, HAZARD_SECCOMP },
		{ TRIAL_KILLS, TRIAL_ABSENT, 2, false, HAZARD_SECCOMP },
		{ TRIAL_UNKNOWN, TRIAL_ABSENT, 2, false, HAZARD_SECCOMP },
		{ TRIAL_UNKNOWN, TRIAL_UNKNOWN, 0, false, HAZARD_FREE },
		{ TRIAL_KILLS, TRIAL_SAFE, 0, true, HAZARD_FREE },
		{ TRIAL_SAFE, TRIAL_KILLS, 2, false, HAZARD_FREE },
		{ TRIAL_SAFE, TRIAL_KILLS, 0, true, HAZARD_SHADOW_STACK },
		{ TRIAL_SAFE, TRIAL_UNKNOWN, 0, true, HAZARD_SHADOW_STACK },
		{ TRIAL_KILLS, TRIAL_KILLS, 2, true, HAZARD_SECCOMP },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct trial trial = { .seccomp = rows[i].seccomp, .shadow_stack = rows[i].shadow_stack };
		struct procfs_status status = { .seccomp = rows[i].mode, .shadow_stack = rows[i].has_shadow_stack };

		if (hazard_judge(&trial, &status) != rows[i].wanted)
			fail_msg("row %zu: %d", i, (int)hazard_judge(&trial, &status));
	}
}

static void enter_filter(void)
{
	struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { 1, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(9);
}

enum who { NOBODY, MAIN, THREAD };

struct thread {
	enum who who;
	int ready;
};

static void *filtered_thread(void *arg)
{
	struct thread *thread = arg;

	if (thread->who == THREAD)
		enter_filter();
	if (write(thread->ready, "r", 1) != 1)
		_exit(8);
	pause();
	return NULL;
}

/* A child with two threads that maps a file, or none (NULL), one of them under a filter; it waits to be killed. */
static pid_t child_with(const char *library, enum who who)
{
	struct thread thread = { .who = who };
	pthread_t id;
	int ready[2];
	char byte;
	pid_t child;

	assert_int_equal(pipe(ready), 0);
	thread.ready = ready[1];
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
		if (library && !dlopen(library, RTLD_NOW))
			_exit(1);
		if (pthread_create(&id, NULL, filtered_thread, &thread))
			_exit(2);
		if (who == MAIN)
			enter_filter();
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	/* The thread may be ready before the main one is under its filter. */
	for (struct procfs_status status = { 0 }; who == MAIN && !status.seccomp;)
		assert_int_equal(procfs_status(child, &status), 0);
	return child;
}

static void reap(pid_t child)
{
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static const struct trial kills = { .seccomp = TRIAL_KILLS, .shadow_stack = TRIAL_ABSENT };
static const struct trial safe = { .seccomp = TRIAL_SAFE, .shadow_stack = TRIAL_SAFE };
static const struct trial unknown = { .why = "no reason" };

/* What a child that maps a file says of a library: the same whether it is asked itself or all processes are. */
static int guard(const struct trial *trial, const struct library *library, const char *mapped, enum who who,
		 char cause[512])
{
	pid_t child = child_with(mapped, who);
	char number[32];
	int err;

	*cause = '\0';
	err = hazard_process(trial, library, child, cause, 512);
	snprintf(number, sizeof(number), "process %d ", (int)child);
	assert_int_equal(err != 0, strstr(cause, number) != NULL);
	if (!geteuid()) { /* others may hide from anybody else */
		assert_int_equal(hazard_library(trial, library, cause, 512), err);
		assert_int_equal(err != 0, strstr(cause, number) != NULL);
	}
	reap(child);
	return err;
}

static void processes(void **state)
{
	char path[128], other[128], renamed[128], cause[512];
	const struct workdir *dir = *state;
	struct library library;

	compile_library(dir, "libcuda.so.535", SOURCE, "", other, sizeof(other));
	compile_library(dir, "renamed.so", SOURCE, "", renamed, sizeof(renamed));
	compile_library(dir, "libcuda.so.1", SOURCE, "", path, sizeof(path));
	assert_int_equal(library_open(path, &library_cuda, &library), 0);
	assert_int_equal(guard(&kills, &library, path, NOBODY, cause), 0);
	assert_int_equal(guard(&kills, &library, path, MAIN, cause), -ECANCELED);
	assert_non_null(strstr(cause, path));
	assert_non_null(strstr(cause, "test_hazard"));
	assert_non_null(strstr(cause, "would kill"));
	assert_non_null(strstr(cause, "6.12.14"));
	assert_int_equal(guard(&kills, &library, path, THREAD, cause), -ECANCELED);
	assert_int_equal(guard(&unknown, &library, path, THREAD, cause), -ECANCELED);
	assert_non_null(strstr(cause, "could not be tried (no reason)"));
	assert_int_equal(guard(&safe, &library, path, MAIN, cause), 0);
	/* another file of that name, or none */
	assert_int_equal(guard(&kills, &library, other, MAIN, cause), 0);
	assert_int_equal(guard(&kills, &library, NULL, MAIN, cause), 0);
	/* one that --libcuda named */
	assert_int_equal(library_open(renamed, &library_cuda, &library), 0);
	assert_int_equal(guard(&kills, &library, renamed, MAIN, cause), -ECANCELED);
	assert_int_equal(guard(&kills, &library, path, MAIN, cause), 0);
}

/* What may not be looked at counts if it is under a filter: it may map the file. */
static void hidden(void **state)
{
	const struct workdir *dir = *state;
	char path[128], cause[512] = "";
	struct library library;
	pid_t child;

	if (geteuid())
		skip();
	compile_library(dir, "libcuda.so.1", SOURCE, "", path, sizeof(path));
	assert_int_equal(library_open(path, &library_cuda, &library), 0);
	for (enum who who = NOBODY; who <= MAIN; who++) {
		child = child_with(path, who);
		assert_int_equal(seteuid(65534), 0);
		assert_int_equal(hazard_process(&kills, &library, child, cause, sizeof(cause)),
				 who == MAIN ? -ECANCELED : 0);
		assert_int_equal(seteuid(0), 0);
		reap(child);
	}
	assert_non_null(strstr(cause, "cannot be inspected"));
	assert_non_null(strstr(cause, "CAP_SYS_PTRACE"));
	assert_int_equal(hazard_process(&kills, &library, child, cause, sizeof(cause)), 0); /* gone */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdicts),
		cmocka_unit_test_setup_teardown(processes, workdir_make, workdir_remove),
		cmocka_unit_test_setup_teardown(hidden, workdir_make, workdir_remove),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

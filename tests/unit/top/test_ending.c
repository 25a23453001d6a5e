// SPDX-License-Identifier: BSD-2-Clause
/* The thread that ends a process, where the last words hang. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ending.h"
#include "live/stream.h"

/* No step of these tests has a limit of time. */
uint64_t stream_now_ns(void)
{
	return 1;
}

static void hang(void)
{
	for (;;)
		pause();
}

static void return_at_once(void)
{
}

/* The status of a process that gets two signals. */
static int end_with(void (*leave)(void))
{
	struct ending_options options = { .signals = 1, .leave = leave };
	struct signalfd_siginfo info;
	struct ending *ending;
	sigset_t old;
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		signal(SIGALRM, SIG_IGN);
		if (ending_open(&ending, &options, &old))
			_exit(1);
		kill(getpid(), SIGINT);
		while (!ending_take(ending, &info))
			usleep(1000);
		kill(getpid(), SIGTERM);
		hang();
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void a_second_signal_is_the_status(void **state)
{
	int status = end_with(return_at_once);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 128 + SIGTERM);
}

static void a_process_that_cannot_leave_ends_by_the_alarm(void **state)
{
	int status = end_with(hang);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGALRM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_second_signal_is_the_status),
		cmocka_unit_test(a_process_that_cannot_leave_ends_by_the_alarm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

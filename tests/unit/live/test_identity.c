// SPDX-License-Identifier: BSD-2-Clause
/* The identity of a process: with a pidfd, and with the start time alone. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/process/identity.h"

static pid_t start_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static void end_child(pid_t pid)
{
	siginfo_t info;

	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

static void ends_with_process(uint32_t held, uint64_t by_start)
{
	struct identities identities = { .held = held };
	struct identity identity, other;
	pid_t pid = start_child();

	assert_int_equal(identity_take(&identities, pid, &identity), 0);
	assert_int_equal(identities.by_start, by_start);
	assert_int_equal(identities.held, by_start ? held : held + 1);
	assert_true(identity_is_there(&identity));
	other = identity;
	other.start_ticks++;
	assert_false(identity_is_there(&other));
	end_child(pid);
	assert_false(identity_is_there(&identity)); /* a zombie */
	assert_int_equal(identity_take(&identities, pid, &other), -ESRCH);
	waitpid(pid, NULL, 0);
	assert_false(identity_is_there(&identity));
	assert_int_equal(identity_take(&identities, pid, &other), -ESRCH);
	identity_drop(&identities, &identity);
	assert_int_equal(identities.held, held);
}

static void test_held(void **state)
{
	(void)state;
	ends_with_process(0, 0);
}

/* Beyond the bound no descriptor is taken, which is counted. */
static void test_bound(void **state)
{
	(void)state;
	ends_with_process(IDENTITY_MOST, 1);
}

/* The pidfd decides where the start time says nothing, as after a pid is used again within a hundredth of a second. */
static void test_descriptor_decides(void **state)
{
	struct identities identities = { 0 };
	struct identity identity, later;
	pid_t first = start_child(), second = start_child();

	(void)state;
	assert_int_equal(identity_take(&identities, first, &identity), 0);
	assert_int_equal(identity_take(&identities, second, &later), 0);
	end_child(first);
	later = (struct identity){ later.pid, identity.fd, later.start_ticks };
	assert_false(identity_is_there(&later));
	end_child(second);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_descriptor_decides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

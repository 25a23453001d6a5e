// SPDX-License-Identifier: BSD-2-Clause
/* The holder of probes, which shares the tracer's descriptors, while the tracer lives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/probe/holder.h"
#include "live/process/procfs.h"

/* What went wrong in a tracer; each is its exit status. */
enum { NO_HOLDER = 1, NOT_FOUND, NOT_STOPPED, NOT_READ, LOST_DESCRIPTORS, HAS_ENDED };

/* The only child of this process; 0: there is none. */
static pid_t only_child(void)
{
	char path[64];
	FILE *file;
	int pid = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%d", &pid) != 1)
		pid = 0;
	fclose(file);
	return pid;
}

/* Waits until the process waits again, or has ended. */
static char state_after_continue(pid_t pid)
{
	struct procfs_stat stat;

	do {
		sched_yield();
		if (procfs_stat(pid, &stat))
			return 0;
	} while (stat.state == 'R' || stat.state == 'T');
	return stat.state;
}

/* Stops and continues the holder, as a frozen cgroup does, or a machine that is suspended. */
static int stop_holder(int fd)
{
	struct holder *holder = NULL;
	pid_t pid;
	char now;

	if (holder_start(&holder))
		return NO_HOLDER;
	pid = only_child();
	if (!pid || state_after_continue(pid) != 'S')
		return NOT_FOUND;
	kill(pid, SIGSTOP);
	if (waitpid(pid, NULL, __WALL | WUNTRACED) != pid)
		return NOT_STOPPED;
	kill(pid, SIGCONT);
	now = state_after_continue(pid);
	if (!now)
		return NOT_READ;
	if (fcntl(fd, F_GETFD) < 0)
		return LOST_DESCRIPTORS;
	if (now != 'S')
		return HAS_ENDED;
	holder_free(holder);
	return fcntl(fd, F_GETFD) < 0 ? LOST_DESCRIPTORS : 0;
}

/* In a process of its own, whose descriptors are at stake. */
static void stopped_and_continued(void **state)
{
	pid_t tracer = fork();
	int status;

	(void)state;
	if (!tracer)
		_exit(stop_holder(open("/dev/null", O_RDONLY | O_CLOEXEC)));
	assert_int_equal(waitpid(tracer, &status, 0), tracer);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stopped_and_continued),
	};

	return cmocka_run_group_tests_name("holder", tests, NULL, NULL);
}

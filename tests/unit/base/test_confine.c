// SPDX-License-Identifier: BSD-2-Clause
/* What a child process has lost after it confined itself. Each case runs in a child of its own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confine.h"
#include "patience.h"

#define RIGHT 0
#define WRONG 1

/* The sanitizer of addresses needs more addresses than a limit leaves, and makes system calls of its own. */
#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

/* The wait status of a child that runs the case. */
static int run_child(int (*child)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		alarm(PATIENCE);
		_exit(child());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void assert_right(int (*child)(void))
{
	assert_int_equal(run_child(child), RIGHT);
}

/* A field of /proc/self/status as a number. */
static uint64_t status_field(const char *name, int base)
{
	uint64_t value = UINT64_MAX;
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':')
			value = strtoull(line + strlen(name) + 1, NULL, base);
	if (file)
		fclose(file);
	return value;
}

static int lose_everything(void)
{
	bool is_root = !geteuid();

	if (is_root && (confine_capabilities(CONFINE_FOR_USER) || confine_user(CONFINE_NOBODY, CONFINE_NOBODY)))
		return WRONG;
	confine_capabilities(0); /* the bounding set is refused: to a user without privileges, or as it was cut before */
	if (is_root && status_field("CapBnd", 16) != CONFINE_FOR_USER)
		return WRONG;
	if (confine_no_new_privileges() || confine_effective())
		return WRONG;
	if (is_root && (getuid() != CONFINE_NOBODY || getegid() != CONFINE_NOBODY || getgroups(0, NULL)))
		return WRONG;
	return status_field("CapEff", 16) || status_field("CapPrm", 16) || status_field("CapInh", 16) ||
	       status_field("CapAmb", 16) || status_field("NoNewPrivs", 10) != 1;
}

static int keep_one(void)
{
	uint64_t had = confine_effective(), want = had & 1ull << CAP_SYS_PTRACE;

	if (confine_capabilities(1ull << CAP_SYS_PTRACE) && !geteuid())
		return WRONG;
	if (confine_effective() != want || status_field("CapPrm", 16) != want)
		return WRONG;
	return !geteuid() && status_field("CapBnd", 16) & ~want;
}

static int take_limits(void)
{
	static const struct confine_limit limits[] = {
		{ RLIMIT_AS, 64 << 20 }, { RLIMIT_CORE, 0 }, { RLIMIT_NOFILE, 8 },
	};
	struct rlimit limit;

	if (confine_limits(limits, 3) || getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_max != 8)
		return WRONG;
	/* A lower limit stays. */
	if (confine_limits(&(struct confine_limit){ RLIMIT_NOFILE, 100 }, 1) || getrlimit(RLIMIT_NOFILE, &limit) ||
	    limit.rlim_cur != 8)
		return WRONG;
	return malloc(128 << 20) != NULL;
}

static int close_all(void)
{
	int fd = dup(0), far = fcntl(0, F_DUPFD, 200);

	confine_close_from(3);
	return fcntl(fd, F_GETFD) >= 0 || fcntl(far, F_GETFD) >= 0 || fcntl(0, F_GETFD) < 0;
}

static int set_filter(const struct confine_call *calls, size_t count, enum confine_action matched, enum confine_action other)
{
	struct confine_filter filter = { calls, count, matched, other };

	return confine_no_new_privileges() || confine_calls(&filter, true);
}

static int allow_few(void)
{
	static const struct confine_call few[] = {
		{ .number = __NR_getpid }, { .number = __NR_exit_group }, { .number = __NR_exit },
	};

	if (set_filter(few, 3, CONFINE_ALLOW, CONFINE_REFUSE))
		return WRONG;
	return getpid() <= 0 || syscall(SYS_getppid) != -1 || errno != EPERM;
}

static int kill_others(void)
{
	static const struct confine_call few[] = { { .number = __NR_exit_group } };

	if (set_filter(few, 1, CONFINE_ALLOW, CONFINE_KILL))
		return WRONG;
	getppid();
	return WRONG;
}

static int refuse_some(void)
{
	static const struct confine_call some[] = {
		{ .number = -1 },
		{ .number = __NR_socket, .arg = 0, .mask = UINT32_MAX, .value = AF_UNIX },
		{ .number = __NR_dup, .arg = 0, .mask = 4, .value = 4 },
	};

	if (set_filter(some, 3, CONFINE_MISS, CONFINE_ALLOW) || status_field("Seccomp", 10) != 2)
		return WRONG;
	if (socket(AF_UNIX, SOCK_STREAM, 0) != -1 || errno != ENOSYS || socket(AF_INET, SOCK_STREAM, 0) == -1)
		return WRONG;
	return dup(4) != -1 || errno != ENOSYS || dup(0) < 0;
}

static int x32_call(void)
{
	static const struct confine_call none[] = { { .number = -1 } };

	if (set_filter(none, 1, CONFINE_ALLOW, CONFINE_ALLOW))
		return WRONG;
	syscall(0x40000000 | __NR_getpid);
	return WRONG;
}

static int orphan(void)
{
	return confine_die_with(getppid()) || confine_die_with(1) != (getppid() == 1 ? 0 : -ESRCH);
}

static void privileges(void **state)
{
	(void)state;
	assert_right(lose_everything);
	assert_right(keep_one);
}

static void limits(void **state)
{
	(void)state;
	if (!IS_SANITIZED)
		assert_right(take_limits);
	assert_right(close_all);
	assert_right(orphan);
}

static void calls(void **state)
{
	int status;

	(void)state;
	if (!IS_SANITIZED)
		assert_right(allow_few);
	assert_right(refuse_some);
	status = run_child(kill_others);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	status = run_child(x32_call);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(privileges),
		TEST(limits),
		TEST(calls),
	};

	return cmocka_run_group_tests_name("confine", tests, NULL, NULL);
}

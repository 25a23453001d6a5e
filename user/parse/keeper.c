// SPDX-License-Identifier: BSD-2-Clause
#include "parse/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/confine.h"
#include "parse/channel.h"
#include "parse/kinds.h"
#include "parse/worker.h"

#define WORKERS_MAX 32

/* The sanitizers of addresses and threads lay shadows over terabytes of addresses, which a limit would refuse. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ADDRESSES_MAX RLIM_INFINITY
#else
#define ADDRESSES_MAX PARSE_MEMORY
#endif

#define KEEPER_NAME "gmt-parser"

struct child {
	uint32_t number;
	pid_t pid;               /* 0: none, or it has ended: */
	int status;              /* waitpid(2)'s */
	bool was_ordered;        /* its end */
};

#define END_WAIT_NS 1000000       /* between looks whether a worker has ended whose socket is closed, */
#define END_WAITS 100             /* and so many looks: a worker that was overpowered may live on */

/* The environment may hold secrets. Nothing here reads it. */
static void forget_environment(void)
{
	for (char **variable = environ; variable && *variable; variable++)
		memset(*variable, 0, strlen(*variable));
	clearenv();
}

/* Standard streams lead nowhere, the socket becomes CHANNEL_FD, and no other descriptor stays open. */
static void keep_socket(int control)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* Above the numbers that are about to be replaced. */
	control = fcntl(control, F_DUPFD, CHANNEL_FD + 1);
	for (int fd = 0; fd < CHANNEL_FD && null >= 0; fd++)
		dup2(null, fd);
	dup2(control, CHANNEL_FD);
	confine_close_from(CHANNEL_FD + 1);
}

static void lose_privileges(pid_t parent)
{
	static const struct confine_limit limits[] = {
		{ RLIMIT_AS, ADDRESSES_MAX }, { RLIMIT_CORE, 0 }, { RLIMIT_FSIZE, 0 }, { RLIMIT_NOFILE, 512 },
	};

	/* What is not permitted, is left: parse_status() says what a worker still has. */
	confine_as_nobody();
	confine_limits(limits, sizeof(limits) / sizeof(*limits));
	if (confine_die_with(parent) == -ESRCH)
		_exit(0);
}

static struct child *find_child(struct child *children, uint32_t number)
{
	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (children[i].pid && children[i].number == number)
			return &children[i];
	return NULL;
}

static void reap_children(struct child *children)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (size_t i = 0; i < WORKERS_MAX; i++)
			if (children[i].pid == pid) {
				children[i].pid = 0;
				children[i].status = status;
			}
}

static void kill_child(struct child *child)
{
	child->was_ordered = true;
	kill(child->pid, SIGKILL);
}

static void kill_children(struct child *children)
{
	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (children[i].pid)
			kill_child(&children[i]);
}

/* Says which signal ended a worker that closed its socket. */
static void tell_signal(struct child *children, uint32_t number, int fd)
{
	struct channel_reply reply = { 0 };
	struct iovec part = { &reply, sizeof(reply) };
	struct child *child = NULL;

	for (int i = 0; i < END_WAITS && find_child(children, number); i++) {
		nanosleep(&(struct timespec){ .tv_nsec = END_WAIT_NS }, NULL);
		reap_children(children);
	}
	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (children[i].number == number && !children[i].pid)
			child = &children[i];
	if (child && !child->was_ordered && WIFSIGNALED(child->status))
		reply.status = WTERMSIG(child->status);
	channel_send(fd, &part, 1, (const int[PARSE_FDS]){ -1, -1 });
}

static void refuse_child(int fd)
{
	struct channel_reply reply = { .status = -ENOBUFS };
	struct iovec part = { &reply, sizeof(reply) };

	channel_send(fd, &part, 1, (const int[PARSE_FDS]){ -1, -1 });
}

/* Without room or without memory there is no worker: the asker finds the answer, and the end of its socket. */
static void start_child(struct child *children, uint32_t number, int fd, const struct parse_table *table)
{
	pid_t keeper = getpid(), pid;

	/* Not the room of the newest end: somebody may ask about that. */
	for (size_t i = 0; i < WORKERS_MAX; i++) {
		struct child *child = &children[(number + i) % WORKERS_MAX];

		if (child->pid)
			continue;
		pid = fork();
		if (!pid) {
			if (dup2(fd, CHANNEL_FD) < 0 || confine_die_with(keeper))
				_exit(1);
			close(fd);
			worker_run(table);
		}
		if (pid < 0)
			break;
		*child = (struct child){ .number = number, .pid = pid };
		return;
	}
	refuse_child(fd);
}

_Noreturn void keeper_run(int control, pid_t parent, const struct parse_table *table)
{
	struct child children[WORKERS_MAX] = { 0 }, *child;
	struct channel_command command;
	int fds[PARSE_FDS];

	setsid(); /* a terminal's signals are for the tracer */
	prctl(PR_SET_NAME, KEEPER_NAME);
	forget_environment();
	keep_socket(control);
	lose_privileges(parent);
	while (!channel_receive(CHANNEL_FD, &command, sizeof(command), fds)) {
		reap_children(children);
		child = find_child(children, command.number);
		if (command.order == CHANNEL_START && fds[0] >= 0)
			start_child(children, command.number, fds[0], table);
		else if (command.order == CHANNEL_KILL && child)
			kill_child(child);
		else if (command.order == CHANNEL_KILL_ALL)
			kill_children(children);
		else if (command.order == CHANNEL_ASK_END && fds[0] >= 0)
			tell_signal(children, command.number, fds[0]);
		for (size_t i = 0; i < PARSE_FDS; i++)
			if (fds[i] >= 0)
				close(fds[i]);
	}
	_exit(0);
}

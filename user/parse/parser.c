// SPDX-License-Identifier: BSD-2-Clause
/* The tracer's side of the keeper. */
#include "parse/parser.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "parse/channel.h"
#include "parse/keeper.h"

#define END_WAIT_SECONDS 2

struct parser {
	pid_t pid;
	int control;             /* packets: each is sent whole, by any thread */
	int cancelled;           /* an eventfd, which can be read once all waiting has ended */
	atomic_uint numbers;     /* given to workers */
	atomic_uint kills;       /* of all workers */
};

int parser_start(struct parser **parser, const struct parse_table *table)
{
	int ends[2], cancelled = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pid_t self = getpid(), pid;

	*parser = NULL;
	if (cancelled < 0)
		return -errno;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		int err = -errno;

		close(cancelled);
		return err;
	}
	pid = fork();
	if (!pid)
		keeper_run(ends[1], self, table);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		close(cancelled);
		return -EAGAIN;
	}
	*parser = xcalloc(1, sizeof(**parser));
	**parser = (struct parser){ .pid = pid, .control = ends[0], .cancelled = cancelled };
	return 0;
}

void parser_free(struct parser *parser)
{
	if (!parser)
		return;
	close(parser->control);
	kill(parser->pid, SIGKILL);
	waitpid(parser->pid, NULL, 0);
	close(parser->cancelled);
	free(parser);
}

void parser_cancel(struct parser *parser)
{
	if (parser)
		eventfd_write(parser->cancelled, 1);
}

pid_t parser_keeper(const struct parser *parser)
{
	return parser ? parser->pid : 0;
}

/* The kernel closes the sockets of a process before it ends the process's children. */
bool parser_has_ended(const struct parser *parser)
{
	struct pollfd control = { .fd = parser->control };

	return poll(&control, 1, 0) == 1;
}

int parser_cancelled(const struct parser *parser)
{
	return parser->cancelled;
}

/* Sends an order with one end of a new socket, the other end of which the caller gets. */
static int send_with_socket(struct parser *parser, struct channel_command command, int *socket)
{
	struct iovec part = { &command, sizeof(command) };
	int ends[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return errno == ENOMEM ? -ENOBUFS : -errno;
	err = channel_send(parser->control, &part, 1, (const int[PARSE_FDS]){ ends[1], -1 });
	close(ends[1]);
	if (err) {
		close(ends[0]);
		return -ECHILD;
	}
	*socket = ends[0];
	return 0;
}

int parser_start_worker(struct parser *parser, uint32_t *number, int *socket)
{
	*number = atomic_fetch_add(&parser->numbers, 1) + 1; /* the keeper has none with number 0 */
	return send_with_socket(parser, (struct channel_command){ CHANNEL_START, *number }, socket);
}

int parser_ended_by(struct parser *parser, uint32_t number)
{
	struct channel_reply reply = { 0 };
	int fds[PARSE_FDS], socket;

	if (send_with_socket(parser, (struct channel_command){ CHANNEL_ASK_END, number }, &socket))
		return 0;
	setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){ END_WAIT_SECONDS, 0 }, sizeof(struct timeval));
	if (channel_receive(socket, &reply, sizeof(reply), fds)) /* the keeper has ended, or does not answer */
		reply.status = 0;
	close(socket);
	return reply.status;
}

static void send_order(struct parser *parser, struct channel_command command)
{
	struct iovec part = { &command, sizeof(command) };

	channel_send(parser->control, &part, 1, (const int[PARSE_FDS]){ -1, -1 });
}

void parser_kill_worker(struct parser *parser, uint32_t number)
{
	send_order(parser, (struct channel_command){ .order = CHANNEL_KILL, .number = number });
}

void parser_kill_workers(struct parser *parser)
{
	if (!parser)
		return;
	atomic_fetch_add(&parser->kills, 1);
	send_order(parser, (struct channel_command){ .order = CHANNEL_KILL_ALL });
}

unsigned int parser_kills(const struct parser *parser)
{
	return atomic_load(&parser->kills);
}

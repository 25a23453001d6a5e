// SPDX-License-Identifier: BSD-2-Clause
#include "live/process/relay_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/count.h"
#include "base/human.h"

#define RELAY_NAME "gmt-output"
#define NOTE_BYTES 128
#define PIECE_BYTES 256          /* a terminal that is ready takes as much, as a rule */
#define ANSWER_AFTER RELAY_BYTES /* bytes: a command that writes for ever must not delay the answer for ever */

enum { CONTROL_FD = 3, MASTER_FD, TERMINAL_FD, FDS_END };

struct relay_state {
	struct relay_shared *shared;
	uint64_t begin;          /* the first byte of the text that is to be written */
	uint64_t lost;           /* bytes that had no room */
	char front[RELAY_LEAVING + NOTE_BYTES]; /* written before the text */
	size_t front_size, front_done;
	uint64_t answer_by;      /* the order to pass is answered at this byte of the text at the latest */
	unsigned int answers;    /* to orders to pass, which are due */
	unsigned int master_errors, control_errors, terminal_errors; /* in a row */
	bool is_held;
	bool is_alone;           /* the tracer has ended */
	bool is_over;            /* no process has the pseudo terminal */
	bool is_deaf;            /* the terminal takes nothing any more: the text goes nowhere */
};

static uint64_t text_end(const struct relay_state *relay)
{
	return atomic_load_explicit(&relay->shared->end, memory_order_relaxed);
}

static bool has_unwritten(const struct relay_state *relay)
{
	return relay->front_done < relay->front_size || relay->begin < text_end(relay);
}

/* ---- the command's text ---- */

/* Gives up the oldest bytes, and the rest of the line that they cut. */
static void drop_oldest_text(struct relay_state *relay, uint64_t end)
{
	uint64_t begin, line;

	if (end <= relay->begin + RELAY_BYTES)
		return;
	begin = line = end - RELAY_BYTES;
	while (line < end && line < begin + RELAY_READ && relay->shared->bytes[line % RELAY_BYTES] != '\n')
		line++;
	if (line < end && relay->shared->bytes[line % RELAY_BYTES] == '\n')
		begin = line + 1;
	relay->lost += begin - relay->begin;
	relay->begin = begin;
}

static bool wants_text(const struct relay_state *relay)
{
	return !relay->is_over && (relay->is_held || relay->is_deaf ||
				   text_end(relay) - relay->begin <= RELAY_BYTES - RELAY_READ);
}

/* Whether a call has failed for good. */
static bool failed_for_good(ssize_t got, unsigned int *errors)
{
	if (got >= 0 || errno == EAGAIN || errno == EINTR)
		*errors = 0;
	else
		++*errors;
	return *errors >= RELAY_TRIES;
}

/* Whether there was text. The kernel says that there is none only when all that was written before has arrived
 * (n_tty_read() of drivers/tty/n_tty.c in Linux 6.18). */
static bool take_command_text(struct relay_state *relay)
{
	uint64_t end = text_end(relay), at = end % RELAY_BYTES;
	size_t room = RELAY_BYTES - at < RELAY_READ ? RELAY_BYTES - at : RELAY_READ;
	ssize_t size;

	if (!wants_text(relay))
		return false;
	/* The bytes that are about to be replaced. */
	if (relay->is_held || relay->is_deaf)
		drop_oldest_text(relay, end + room);
	size = read(MASTER_FD, relay->shared->bytes + at, room);
	relay->is_over = failed_for_good(size, &relay->master_errors);
	if (size <= 0)
		return !relay->is_over && relay->master_errors;
	atomic_store_explicit(&relay->shared->end, end + (uint64_t)size, memory_order_release);
	return true;
}

/* ---- the terminal ---- */

static void drop_unwritten(struct relay_state *relay)
{
	relay->front_done = relay->front_size;
	relay->begin = text_end(relay);
}

/* One piece, to a terminal that is ready. */
static void write_text_piece(struct relay_state *relay)
{
	const char *from = relay->front + relay->front_done;
	size_t size = relay->front_size - relay->front_done;
	bool is_front = size;
	ssize_t done;

	if (!is_front) {
		uint64_t at = relay->begin % RELAY_BYTES, left = text_end(relay) - relay->begin;

		from = relay->shared->bytes + at;
		size = left < RELAY_BYTES - at ? left : RELAY_BYTES - at;
	}
	done = write(TERMINAL_FD, from, size < PIECE_BYTES ? size : PIECE_BYTES);
	relay->is_deaf = failed_for_good(done, &relay->terminal_errors);
	if (done < 0)
		return;
	if (is_front)
		relay->front_done += (size_t)done;
	else
		relay->begin += (uint64_t)done;
}

/* ---- orders ---- */

static void hold_text(struct relay_state *relay)
{
	relay->is_held = true;
}

static void pass_text(struct relay_state *relay, const char *leaving, size_t size)
{
	if (!relay->is_held)
		return;
	relay->is_held = false;
	/* What an earlier order left there has been on the terminal's screen for longer than the text. */
	memmove(relay->front, relay->front + relay->front_done, relay->front_size - relay->front_done);
	relay->front_size -= relay->front_done;
	relay->front_done = 0;
	if (relay->front_size + size + NOTE_BYTES > sizeof(relay->front))
		relay->front_size = 0;
	memcpy(relay->front + relay->front_size, leaving, size);
	relay->front_size += size;
	if (relay->lost)
		relay->front_size += (size_t)snprintf(relay->front + relay->front_size, NOTE_BYTES,
						      "(%s bytes before this are left out)\n",
						      human_count(relay->lost).s);
	relay->lost = 0;
}

/* A tracer that was killed has left its screen on the terminal. One that lives sees the end of this side, and waits for
 * no answer. */
static void lose_tracer(struct relay_state *relay)
{
	relay->is_alone = true;
	close(CONTROL_FD);
	pass_text(relay, relay->shared->leaving, relay->shared->leaving_size);
}

static void answer_order(struct relay_state *relay, char order)
{
	for (int i = 0; i < RELAY_TRIES && !relay->is_alone; i++)
		if (write(CONTROL_FD, &order, 1) == 1)
			return;
	if (!relay->is_alone)
		lose_tracer(relay);
}

/* The end of the orders is the end of the tracer. */
static void take_order(struct relay_state *relay)
{
	char order;
	ssize_t size = read(CONTROL_FD, &order, 1);
	bool is_lost = failed_for_good(size, &relay->control_errors);

	if (size < 0 && !is_lost)
		return;
	if (size <= 0) {
		lose_tracer(relay);
	} else if (order == RELAY_HOLD) {
		hold_text(relay);
		answer_order(relay, RELAY_HOLD);
	} else if (order == RELAY_PASS) {
		pass_text(relay, "", 0);
		relay->answers++;
		relay->answer_by = text_end(relay) + ANSWER_AFTER;
	}
}

/* No text: all that was written before the order has arrived. */
static void answer_passed(struct relay_state *relay, bool has_text)
{
	bool is_done = !has_text && !has_unwritten(relay);

	if (!is_done && !relay->is_held && relay->begin < relay->answer_by)
		return;
	for (; relay->answers; relay->answers--)
		answer_order(relay, RELAY_PASS);
}

/* ---- the process ---- */

static void wait_for_text(struct relay_state *relay)
{
	struct pollfd fds[] = {
		{ .fd = relay->is_alone ? -1 : CONTROL_FD, .events = POLLIN },
		{ .fd = wants_text(relay) ? MASTER_FD : -1, .events = POLLIN },
		{ .fd = !relay->is_held && !relay->is_deaf && has_unwritten(relay) ? TERMINAL_FD : -1,
		  .events = POLLOUT },
	};

	if (poll(fds, COUNT(fds), -1) < 0)
		return;
	if (fds[0].revents)
		take_order(relay);
	/* Not after an order that has just forbidden to write. */
	if (fds[2].revents & (POLLERR | POLLHUP | POLLNVAL))
		relay->is_deaf = true;
	else if (fds[2].revents && !relay->is_held)
		write_text_piece(relay);
}

/* The signals of the terminal and of the tracer's end are not for this process. A process in the background that
 * ignores SIGTTOU may write to the terminal. */
static void ignore_signals(void)
{
	static const int ignored[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGTSTP, SIGTTOU, SIGTTIN };

	for (size_t i = 0; i < COUNT(ignored); i++)
		signal(ignored[i], SIG_IGN);
}

/* Whether all are where they belong. */
static bool move_descriptors(int control, int master, int terminal)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), fds[] = { control, master, terminal };

	/* Above the numbers that are about to be replaced. */
	for (size_t i = 0; i < COUNT(fds); i++)
		if ((fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, FDS_END)) < 0)
			return false;
	for (int fd = 0; fd < CONTROL_FD && null >= 0; fd++)
		dup2(null, fd);
	for (size_t i = 0; i < COUNT(fds); i++)
		if (dup2(fds[i], CONTROL_FD + (int)i) < 0)
			return false;
	confine_close_from(FDS_END);
	return true;
}

static void lose_all_privileges(void)
{
	static const struct confine_call calls[] = {
		{ .number = __NR_read }, { .number = __NR_write }, { .number = __NR_ppoll }, { .number = __NR_close },
#ifdef __NR_poll
		{ .number = __NR_poll },
#endif
		{ .number = __NR_restart_syscall }, { .number = __NR_rt_sigreturn }, { .number = __NR_exit_group },
	};
	static const struct confine_filter filter = { calls, COUNT(calls), CONFINE_ALLOW, CONFINE_REFUSE };

	/* What is not permitted, is left. */
	confine_as_nobody();
	confine_calls(&filter, false);
}

_Noreturn void relay_run(int control, int master, int terminal, struct relay_shared *shared)
{
	struct relay_state relay = { .shared = shared };

	/* What is sent to the tracer's group, SIGKILL above all, is not for this process. */
	setpgid(0, 0);
	prctl(PR_SET_NAME, RELAY_NAME);
	ignore_signals();
	if (!move_descriptors(control, master, terminal))
		_exit(1);
	lose_all_privileges();
	answer_order(&relay, RELAY_READY);
	while (!relay.is_alone || !relay.is_over || (has_unwritten(&relay) && !relay.is_deaf)) {
		wait_for_text(&relay);
		answer_passed(&relay, take_command_text(&relay));
		if (relay.is_deaf)
			drop_unwritten(&relay);
	}
	_exit(0);
}

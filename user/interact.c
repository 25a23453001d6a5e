// SPDX-License-Identifier: BSD-2-Clause
#include "interact.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/count.h"
#include "base/out.h"
#include "display.h"
#include "dumping.h"
#include "events.h"
#include "outputs.h"
#include "say.h"
#include "screen/stage.h"
#include "setup.h"

/* ---- the terminal's signals ---- */

/* The signal does now what it would have done: the process stops here, until the shell lets it go on. */
static int stop_until_continued(struct session *session)
{
	const struct timespec at_once = { 0, 0 };
	sigset_t stop, go_on;

	display_leave(session->display);
	interact_tick(session);
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	kill(getpid(), SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, NULL);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	sigemptyset(&go_on);
	sigaddset(&go_on, SIGCONT);
	sigtimedwait(&go_on, NULL, &at_once);
	return display_redraw(session->display);
}

/* After SIGSTOP the modes are the shell's: the screen takes the terminal again, if the terminal is the screen's. */
static int begin_again(struct session *session)
{
	int err = display_leave(session->display);

	return display_redraw(session->display) ?: err;
}

static int fit_screen(struct session *session)
{
	display_fit(session->display);
	return display_redraw(session->display);
}

bool interact_signal(struct session *session, int number, int *err)
{
	static const struct { int number; int (*act)(struct session *session); } acts[] = {
		{ SIGWINCH, fit_screen }, { SIGTSTP, stop_until_continued }, { SIGCONT, begin_again },
	};

	for (size_t i = 0; display_screen(session->display) && i < COUNT(acts); i++) {
		if (acts[i].number != number)
			continue;
		*err = acts[i].act(session);
		return true;
	}
	return false;
}

/* ---- keys ---- */

void interact_tick(struct session *session)
{
	struct stage *screen = display_screen(session->display);
	int fd = screen ? stage_keys_fd(screen) : -1;
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = SESSION_EVENT(SESSION_KEYS, fd) };

	if (fd == session->keys_fd)
		return;
	if (session->keys_fd >= 0)
		epoll_ctl(session->epoll_fd, EPOLL_CTL_DEL, session->keys_fd, NULL);
	session->keys_fd = fd >= 0 && !epoll_ctl(session->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? fd : -1;
}

void interact_hangup(struct session *session)
{
	stage_lose_keys(display_screen(session->display));
	interact_tick(session);
}

static void show_verdict(struct session *session)
{
	static const char none[] = "Since the attach no request for memory has failed, or a retry met each request.\n";
	struct stage *screen = display_screen(session->display);
	const struct oom *oom = dumping_newest_oom(session->dumping);
	struct out out;
	char *text;

	if (oom) {
		text = outputs_verdict(session->stream.pipeline, session->options, session->attribution, oom);
		stage_read(screen, "The newest request for memory that failed (q, Esc or Enter: back)", text);
		return;
	}
	out_init_mem(&out);
	out_text(&out, none);
	stage_read(screen, "No failed request (q, Esc or Enter: back)", out_take(&out));
}

#define DUMP_EVERY_NS 1000000000ULL

/* A pasted text has many keys. */
static void dump_in_turn(struct session *session)
{
	uint64_t now_ns = stream_now_ns();

	if (now_ns >= session->next_dump_ns) {
		session->next_dump_ns = now_ns + DUMP_EVERY_NS;
		session->told_dump = false;
		dumping_ask(session->dumping, now_ns);
	} else if (!session->told_dump) {
		session->told_dump = true;
		say("the key d writes one dump a second at most");
	}
}

/* What the screen asks for and the session need not know. */
static bool obey_screen(struct session *session, enum screen_action action)
{
	if (action == SCREEN_DUMP)
		dump_in_turn(session);
	else if (action == SCREEN_VERDICT)
		show_verdict(session);
	else
		return action == SCREEN_REDRAW;
	return true;
}

#define KEYS_MAX 16          /* in one call: records must not wait for a text that was pasted */

enum screen_action interact_key(struct session *session, int *err)
{
	struct stage *screen = display_screen(session->display);
	enum screen_action action;
	unsigned int taken = 0;

	*err = 0;
	session->has_more_keys = false;
	/* Reading in the background would stop this process. */
	if (!stage_is_ours(screen)) {
		*err = display_leave(session->display);
		interact_tick(session);
		return SCREEN_NONE;
	}
	do {
		action = stage_key(screen);
		taken += action != SCREEN_NONE;
	} while (obey_screen(session, action) && taken < KEYS_MAX);
	session->has_more_keys = action != SCREEN_NONE;
	if (taken)
		*err = display_redraw(session->display);
	return action;
}

// SPDX-License-Identifier: BSD-2-Clause
#include "events.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/count.h"
#include "cli/cli.h"
#include "display.h"
#include "ending.h"
#include "live/bpf/ring.h"
#include "live/probe/mmap_watch.h"
#include "say.h"
#include "session_state.h"

int events_add(struct session *session, int fd, enum session_source source)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = SESSION_EVENT(source, fd) };

	return epoll_ctl(session->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* On the thread of ending.h. */
static void tell_stuck(void *arg, const char *step)
{
	struct session *session = arg;
	const char *path = session->options->output;
	int err = stream_end_recording(&session->stream, NULL, SESSION_THREADS_NS);

	if (!path)
		say("the end takes too long: gpumemtrace hangs while it %s; there is no report", step);
	else if (err == -ETIMEDOUT)
		say("the end takes too long: %s takes no more data; the recording can be read up to there, and there"
		    " is no report", path);
	else
		say("the end takes too long: gpumemtrace hangs while it %s; there is no report, but the recording %s"
		    " has all records up to now", step, path);
}

/* With a command, the command gets the first signal. */
static int open_ending(struct session *session)
{
	struct ending_options options = {
		.signals = session->options->child ? 2 : 1,
		.stuck_status = session_failure(session, GMT_EXIT_FAILURE),
		.stuck = tell_stuck,
		.leave = display_leave_at_once,
		.arg = session,
	};
	int err = ending_open(&session->ending, &options, &session->old_mask);

	if (!err)
		return 0;
	say("cannot wait for signals: %s", strerror(-err));
	return session_failure(session, GMT_EXIT_FAILURE);
}

static int open_sources(struct session *session)
{
	struct itimerspec period = { .it_interval.tv_nsec = SESSION_TICK_NS, .it_value.tv_nsec = SESSION_TICK_NS };
	static const int wanted[] = { SIGCHLD, SIGUSR1, SIGUSR2 };
	sigset_t signals;
	int err;

	sigemptyset(&signals);
	for (size_t i = 0; i < COUNT(wanted); i++)
		sigaddset(&signals, wanted[i]);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	session->signal_fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	session->tick_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	session->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (session->signal_fd < 0 || session->tick_fd < 0 || session->epoll_fd < 0 ||
	    timerfd_settime(session->tick_fd, 0, &period, NULL) ||
	    events_add(session, session->signal_fd, SESSION_SIGNAL) ||
	    events_add(session, ending_fd(session->ending), SESSION_ENDING) ||
	    events_add(session, session->tick_fd, SESSION_TICK) ||
	    events_add(session, ring_epoll_fd(session->ring), SESSION_RING)) {
		say("cannot wait for events: %s", strerror(errno));
		return session_failure(session, GMT_EXIT_FAILURE);
	}
	/* Without the watch a libcuda is missed if a process maps it later from a file that is not probed yet. */
	err = watch_open(&session->watch);
	session->watch_err = err ?: events_add(session, watch_fd(session->watch), SESSION_WATCH);
	return 0;
}

int events_open(struct session *session)
{
	int status = open_ending(session);

	return status ?: open_sources(session);
}

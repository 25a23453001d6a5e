// SPDX-License-Identifier: BSD-2-Clause
#include "ending.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/count.h"
#include "base/xalloc.h"
#include "live/stream.h"

#define SIGNALS_MAX 4

#define LEAVING_S 3                /* seconds: more than `leave` and `stuck` need */
#define LOOK_MS 1000               /* the thread ends even if no notice can be given */

struct ending {
	struct ending_options options;
	pthread_t thread;
	int signal_fd;
	int news_fd;                 /* for the session: a signal has come */
	int wake_fd;                 /* for the thread: the time to be over by has changed */
	pthread_mutex_t lock;
	/* under the lock */
	struct signalfd_siginfo came[SIGNALS_MAX];
	unsigned int came_count, taken;
	unsigned int left;           /* signals that the session still gets */
	uint64_t over_by_ns;         /* 0: the session need not end */
	const char *step;
	bool is_closing;
};

static void give_notice(int fd)
{
	uint64_t one = 1;

	while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void forget_notice(int fd)
{
	uint64_t count;

	while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
}

/* ---- the thread ---- */

/* Whatever the other threads hold, the process ends: at the latest by the signal of alarm(2). */
static void leave_at_once(const struct ending *ending)
{
	sigset_t alarm_only;

	signal(SIGALRM, SIG_DFL);
	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
	alarm(LEAVING_S);
	ending->options.leave();
}

static void take_signal(struct ending *ending, const struct signalfd_siginfo *info)
{
	pthread_mutex_lock(&ending->lock);
	if (!ending->left) {
		pthread_mutex_unlock(&ending->lock);
		leave_at_once(ending);
		_exit(128 + (int)info->ssi_signo);
	}
	ending->came[ending->came_count++] = *info;
	if (!--ending->left && !ending->over_by_ns)
		ending->over_by_ns = stream_now_ns() + ENDING_STUCK_NS;
	pthread_mutex_unlock(&ending->lock);
	give_notice(ending->news_fd);
}

/* How long the thread may sleep, in milliseconds. Ends a session that is stuck. */
static int time_left_ms(struct ending *ending)
{
	uint64_t now_ns = stream_now_ns(), left_ns = 0;
	const char *step;
	bool is_due;

	pthread_mutex_lock(&ending->lock);
	step = ending->step;
	is_due = ending->over_by_ns;
	if (ending->over_by_ns > now_ns)
		left_ns = ending->over_by_ns - now_ns;
	pthread_mutex_unlock(&ending->lock);
	if (!is_due)
		return LOOK_MS;
	if (left_ns)
		return (int)(left_ns / 1000000) + 1;
	leave_at_once(ending);
	ending->options.stuck(ending->options.arg, step);
	_exit(ending->options.stuck_status);
}

static void *wait_for_signals(void *arg)
{
	struct ending *ending = arg;
	struct signalfd_siginfo info;

	pthread_setname_np(pthread_self(), "gmt-ending");
	while (!__atomic_load_n(&ending->is_closing, __ATOMIC_ACQUIRE)) {
		struct pollfd fds[] = { { .fd = ending->signal_fd, .events = POLLIN },
					{ .fd = ending->wake_fd, .events = POLLIN } };

		poll(fds, COUNT(fds), time_left_ms(ending));
		if (fds[1].revents)
			forget_notice(ending->wake_fd);
		while (read(ending->signal_fd, &info, sizeof(info)) == sizeof(info))
			take_signal(ending, &info);
	}
	return NULL;
}

/* ---- the session ---- */

/* All other signals are for other threads. 0 or -errno. */
static int start_thread(struct ending *ending)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&ending->thread, NULL, wait_for_signals, ending);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

static void free_ending(struct ending *ending)
{
	const int fds[] = { ending->signal_fd, ending->news_fd, ending->wake_fd };

	for (size_t i = 0; i < COUNT(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	pthread_mutex_destroy(&ending->lock);
	free(ending);
}

int ending_open(struct ending **out, const struct ending_options *options, sigset_t *old)
{
	struct ending *ending = xcalloc(1, sizeof(*ending));
	sigset_t ends;
	int err = 0;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigaddset(&ends, SIGQUIT);
	pthread_sigmask(SIG_BLOCK, &ends, old);
	*ending = (struct ending){ .options = *options, .step = "prepares the session", .left = options->signals };
	pthread_mutex_init(&ending->lock, NULL);
	ending->signal_fd = signalfd(-1, &ends, SFD_NONBLOCK | SFD_CLOEXEC);
	ending->news_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	ending->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (ending->signal_fd < 0 || ending->news_fd < 0 || ending->wake_fd < 0)
		err = -errno;
	else
		err = start_thread(ending);
	if (err)
		free_ending(ending);
	else
		*out = ending;
	return err;
}

void ending_close(struct ending *ending)
{
	if (!ending)
		return;
	__atomic_store_n(&ending->is_closing, true, __ATOMIC_RELEASE);
	give_notice(ending->wake_fd);
	pthread_join(ending->thread, NULL);
	free_ending(ending);
}

int ending_fd(const struct ending *ending)
{
	return ending->news_fd;
}

bool ending_take(struct ending *ending, struct signalfd_siginfo *info)
{
	bool is_there;

	forget_notice(ending->news_fd);
	pthread_mutex_lock(&ending->lock);
	is_there = ending->taken < ending->came_count;
	if (is_there)
		*info = ending->came[ending->taken++];
	pthread_mutex_unlock(&ending->lock);
	return is_there;
}

bool ending_hurries(const struct ending *ending)
{
	return __atomic_load_n(&ending->came_count, __ATOMIC_RELAXED) > ending->taken;
}

void ending_step(struct ending *ending, const char *step, uint64_t longer_ns)
{
	pthread_mutex_lock(&ending->lock);
	ending->step = step;
	ending->over_by_ns = stream_now_ns() + ENDING_STUCK_NS + longer_ns;
	pthread_mutex_unlock(&ending->lock);
	give_notice(ending->wake_fd);
}

void ending_let_go(struct ending *ending)
{
	pthread_mutex_lock(&ending->lock);
	ending->left = 0;
	ending->over_by_ns = 0;
	pthread_mutex_unlock(&ending->lock);
	give_notice(ending->wake_fd);
}

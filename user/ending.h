/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The signals that end a session (SIGINT, SIGTERM, SIGHUP, SIGQUIT), on a thread of their own: they count from the
 * first moment on, whatever the session is doing.
 *
 * The session gets the first signal, and ends in order. A later signal ends the process at once, with the status
 * 128 + signal. A session that has been told to end must come to its next step within ENDING_STUCK_NS; otherwise the
 * thread closes the recording, says what hangs, and ends the process.
 */
#ifndef GPUMEMTRACE_ENDING_H
#define GPUMEMTRACE_ENDING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/signalfd.h>

struct ending;

#define ENDING_STUCK_NS 5000000000ULL

struct ending_options {
	unsigned int signals;        /* how many the session gets, at least 1 */
	int stuck_status;            /* the exit status of a session that hangs */
	/* Called on the thread before it ends a session that hangs in `step`: it must not wait long. */
	void (*stuck)(void *arg, const char *step);
	/* Called on the thread before it ends the process, also before `stuck`: nothing that the process keeps may be
	 * used. If `leave` or `stuck` hangs, SIGALRM ends the process. */
	void (*leave)(void);
	void *arg;
};

/* Blocks the signals for this thread, and so for all threads that this thread starts later. `old`: the mask as it was.
 * 0 or -errno. */
int ending_open(struct ending **ending, const struct ending_options *options, sigset_t *old);

/* Ends the thread. The signals stay blocked. NULL is fine. */
void ending_close(struct ending *ending);

/* Readable when a signal has come for the session. */
int ending_fd(const struct ending *ending);
/* Takes the next signal of the session. False: there is none. */
bool ending_take(struct ending *ending, struct signalfd_siginfo *info);

/* The session begins a step of its end, which must be over, or followed by the next step, within ENDING_STUCK_NS and
 * `longer_ns`. `step`: what the session does, as the rest of "hangs while it ..."; kept, not copied. */
void ending_step(struct ending *ending, const char *step, uint64_t longer_ns);
/* Whether a signal has come since the session's last ending_take(). */
bool ending_hurries(const struct ending *ending);
/* Nothing needs the session any longer: each signal ends the process at once, and there is no limit of time. */
void ending_let_go(struct ending *ending);

#endif

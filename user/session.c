// SPDX-License-Identifier: BSD-2-Clause
/*
 * One session: the loop, and what each event means. setup.c has the beginning, finish.c the end.
 *
 * A timer reads the ring, because the BPF programs wake nobody for a single record. A ring that is a quarter full wakes
 * the loop earlier.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/human.h"
#include "cli/cli.h"
#include "display.h"
#include "dumping.h"
#include "ending.h"
#include "events.h"
#include "interact.h"
#include "live/probe/attach.h"
#include "live/nvidia/nvml_sampler.h"
#include "live/probe/probed_files.h"
#include "live/bpf/ring.h"
#include "live/bpf/users.h"
#include "live/process/roster.h"
#include "live/select/selection.h"
#include "live/stacks/bpf_tables.h"
#include "live/stacks/stack_thread.h"
#include "mapped.h"
#include "memory_watch.h"
#include "parse/parser.h"
#include "rescan.h"
#include "say.h"
#include "session.h"
#include "setup.h"
#include "source/recorder.h"
#include "targets.h"

static void stop_session(struct session *session, enum gmt_end_reason reason)
{
	if (session->running)
		session->end = reason;
	session->running = false;
}

static void put_losses(struct session *session)
{
	struct gmt_loss rec = { 0 };
	uint64_t ended, refused = stacking_refused(session->stacking, &ended);
	size_t unread_ended, unread = probing_unread(session->probing, &unread_ended);
	struct tables_stats stats;

	stacking_stats(session->stacking, &stats);
	attach_losses(session->attach, rec.count);
	rec.count[GMT_LOSS_STACK_LOST] += session->memory.stacks;
	rec.count[GMT_LOSS_STACK_CUT] = stats.cut_stacks;
	rec.count[GMT_LOSS_READER_ENDED] = unread_ended + ended;
	rec.count[GMT_LOSS_FILE_REFUSED] = unread + refused - rec.count[GMT_LOSS_READER_ENDED];
	if (!memcmp(rec.count, session->losses, sizeof(rec.count)))
		return;
	memcpy(session->losses, rec.count, sizeof(rec.count));
	STREAM_PUT(&session->stream, &rec, LOSS, 0);
	users_read(session->users, false);
}

/* How many files of each user cannot be read as libraries. tell_notes() names some of the files. */
static void put_unreadable(struct session *session, bool is_last)
{
	struct gmt_limit rec;

	while (probing_next_unreadable(session->probing, is_last, &rec))
		STREAM_PUT(&session->stream, &rec, LIMIT, 0);
}

/* Says once for each user what the user has used up. */
static void tell_quotas(struct session *session)
{
	struct gmt_limit rec;

	put_unreadable(session, false);
	while (users_next_limit(session->users, false, &rec) || probing_next_limit(session->probing, &rec)) {
		say("%s: %s. %s", rec.what, rec.why, rec.remedy);
		STREAM_PUT(&session->stream, &rec, LIMIT, 0);
	}
}

static void read_watch(struct session *session)
{
	mapped_read(session);
	tell_quotas(session);
}

/* ---- signals ---- */

static void child_changed(struct session *session)
{
	int status;

	if (session->command.pid <= 0 || waitpid(session->command.pid, &status, WNOHANG) != session->command.pid)
		return;
	session->command.pid = 0;
	session->command_status = command_status(status);
	stop_session(session, GMT_END_TARGETS_GONE);
}

/* The command decides when it ends. The first signal is for the command (the terminal has sent the signal to both),
 * and the second signal ends the tracing. */
static void asked_to_stop(struct session *session, const struct signalfd_siginfo *info)
{
	if (session->command.pid > 0 && !session->interrupted) {
		session->interrupted = true;
		if (info->ssi_code != SI_KERNEL)
			kill(session->command.pid, info->ssi_signo);
		return;
	}
	session->command_status = 128 + info->ssi_signo;
	stop_session(session, GMT_END_REQUESTED);
}

/* Records that were sent before the mark belong to the old window: they are taken first. */
static void put_mark(struct session *session)
{
	struct gmt_mark rec = { .number = ++session->marks };

	session_take_records(session);
	STREAM_PUT(&session->stream, &rec, MARK, 0);
	if (!session->options->quiet)
		say("mark %u: peaks and growth restart here", rec.number);
}

/* An event that cannot be read comes again at once, for ever: the session ends. */
static void cannot_read(struct session *session, const char *what)
{
	if (errno == EAGAIN || errno == EINTR)
		return;
	say("cannot read %s: %s; tracing ends here", what, strerror(errno));
	stop_session(session, GMT_END_ERROR);
}

static void note_output(struct session *session, int err)
{
	if (err == -EPIPE)
		stop_session(session, GMT_END_REQUESTED);
	session->output_error = session->output_error ?: err;
}

static void read_signals(struct session *session)
{
	struct signalfd_siginfo info;
	ssize_t size;
	int err = 0;

	while ((size = read(session->signal_fd, &info, sizeof(info))) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			child_changed(session);
		else if (info.ssi_signo == SIGUSR1)
			dumping_ask(session->dumping, stream_now_ns());
		else if (!interact_signal(session, (int)info.ssi_signo, &err))
			put_mark(session);
		note_output(session, err);
	}
	if (size < 0)
		cannot_read(session, "signals");
}

static void read_endings(struct session *session)
{
	struct signalfd_siginfo info;

	while (ending_take(session->ending, &info))
		asked_to_stop(session, &info);
}

static void read_keys(struct session *session)
{
	enum screen_action action;
	int err;

	if (!session->running) /* what was typed after q is for nobody */
		return;
	action = interact_key(session, &err);
	if (action == SCREEN_MARK)
		put_mark(session);
	else if (action == SCREEN_QUIT)
		stop_session(session, GMT_END_REQUESTED);
	note_output(session, err);
}

/* ---- time ---- */

static void show_live(struct session *session, uint64_t now_ns)
{
	session->next_show_ns = now_ns + session->options->interval_ns;
	put_losses(session);
	note_output(session, display_live(session->display, session->stream.pipeline));
}

/* A reader that takes its time. */
static void push_live(struct session *session)
{
	note_output(session, display_push(session->display));
}

static void check_recorder(struct session *session, uint64_t now_ns)
{
	stream_tick(&session->stream, now_ns);
	streamed_file_check(&session->streamed);
	if (!session->stream.recorder_error || session->recorder_warned)
		return;
	session->recorder_warned = true;
	say("%s: the recording ends here (%s); tracing continues", session->options->output,
	    strerror(-session->stream.recorder_error));
}

static void sample_nvml(struct session *session, bool is_last)
{
	struct gmt_limit rec = {
		.what = "NVML's numbers", .remedy = "Look for errors of the GPUs in the kernel's log (dmesg)",
	};

	if (meter_sample(session->meter, GMT_NVML_SAMPLE, is_last) || session->nvml_warned)
		return;
	session->nvml_warned = true;
	snprintf((char *)rec.why, sizeof(rec.why), "NVML has not answered since +%.3f s",
		 (stream_now_ns() - session->start_ns) / 1e9);
	session_limit(session, &rec);
}

static void check_readers(struct session *session)
{
	double seconds = (double)(stream_now_ns() - session->start_ns) / 1e9;
	struct gmt_limit rec = {
		.what = "programs and libraries cannot be read any more",
		.remedy = "Look who ended the process: dmesg names those that the kernel ends for lack of memory. Start"
			  " gpumemtrace again",
	};

	if (session->readers_warned || !parser_has_ended(session->parser))
		return;
	session->readers_warned = true;
	snprintf((char *)rec.why, sizeof(rec.why), "gpumemtrace's process for foreign files (pid %d) had ended by"
		 " +%.3f s, so new functions have no names and new libraries no probes",
		 (int)parser_keeper(session->parser), seconds);
	session_limit(session, &rec);
}

/* NVML is asked once a frame, within limits. */
static uint64_t sample_period(const struct options *options)
{
	if (options->interval_ns < SESSION_SAMPLE_MIN_NS)
		return SESSION_SAMPLE_MIN_NS;
	return options->interval_ns > SESSION_SAMPLE_MAX_NS ? SESSION_SAMPLE_MAX_NS : options->interval_ns;
}

static void handle_tick(struct session *session)
{
	uint64_t now_ns, expirations;

	if (read(session->tick_fd, &expirations, sizeof(expirations)) < 0) {
		cannot_read(session, "the timer");
		return;
	}
	now_ns = stream_now_ns();
	if (now_ns >= session->next_sample_ns) {
		session->next_sample_ns = now_ns + sample_period(session->options);
		sample_nvml(session, false);
		if (session_take_records(session))
			roster_reap(session->roster);
	}
	rescan_guard(session, false);
	rescan_look(session);
	targets_look(session, false);
	probing_drop_unmapped(session->probing);
	tell_quotas(session);
	check_recorder(session, now_ns);
	check_readers(session);
	if (!memory_look(session, now_ns))
		stop_session(session, GMT_END_ERROR);
	if (now_ns >= session->next_show_ns)
		show_live(session, now_ns);
	else
		push_live(session);
	interact_tick(session);
	if (session->has_more_keys)
		read_keys(session);
	if (session->deadline_ns && now_ns >= session->deadline_ns)
		stop_session(session, GMT_END_DURATION);
}

/* ---- the loop ---- */

static void target_gone(struct session *session, int fd)
{
	epoll_ctl(session->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	close(fd);
	session->targets_left--;
	/* By now the record of the process's exit is in the ring, unless the record was lost. */
	for (int i = 0; i < ROSTER_REAPS; i++)
		if (session_take_records(session))
			roster_reap(session->roster);
}

static void dispatch_event(struct session *session, const struct epoll_event *event)
{
	switch (SESSION_EVENT_SOURCE(event)) {
	case SESSION_RING:
		break; /* run_loop() reads the ring in each turn */
	case SESSION_ENDING:
		read_endings(session);
		break;
	case SESSION_WATCH:
		read_watch(session);
		break;
	case SESSION_SIGNAL:
		read_signals(session);
		break;
	case SESSION_TICK:
		handle_tick(session);
		break;
	case SESSION_KEYS:
		if (event->events & (EPOLLHUP | EPOLLERR))
			interact_hangup(session);
		else
			read_keys(session);
		break;
	case SESSION_TARGET:
		target_gone(session, SESSION_EVENT_FD(event));
		break;
	}
}

static bool targets_are_gone(const struct session *session)
{
	return cli_target_option(session->options) && !session->targets_left && !session->grouped &&
	       !roster_live_count(session->roster);
}

static void tell_notes(struct session *session)
{
	char *note;

	while ((note = probing_note(session->probing)) || (note = stacking_note(session->stacking))) {
		if (!session->options->quiet)
			say("%s", note);
		free(note);
	}
}

static void take_stacks(struct session *session)
{
	stacking_collect(session->stacking, &session->stream);
	tell_notes(session);
}

static void run_loop(struct session *session)
{
	struct epoll_event events[16];
	bool is_drained = true;

	session->running = true;
	while (session->running) {
		int n = epoll_wait(session->epoll_fd, events, 16, is_drained ? -1 : 0);

		if (n < 0 && errno != EINTR) {
			say("waiting for events failed: %s", strerror(errno));
			stop_session(session, GMT_END_ERROR);
		}
		session_take_records(session);
		for (int i = 0; i < n; i++)
			dispatch_event(session, &events[i]);
		is_drained = session_take_records(session);
		take_stacks(session);
		dumping_look(session->dumping, stream_now_ns());
		if (targets_are_gone(session))
			stop_session(session, GMT_END_TARGETS_GONE);
	}
}

/* ---- the end ---- */

/* Targets that send records faster than this process takes them would keep the session for ever. */
static void take_last_records(struct session *session)
{
	uint64_t until_ns = stream_now_ns() + SESSION_LAST_RECORDS_NS;

	while (!session_take_records(session))
		if (stream_now_ns() >= until_ns)
			break;
}

static bool is_hurried(void *arg)
{
	struct session *session = arg;

	return ending_hurries(session->ending);
}

/* Names that take longer than this are not waited for: the stack traces stay without names. */
static void take_last_names(struct session *session)
{
	bool has_time = session->end == GMT_END_TARGETS_GONE && !session->interrupted;
	struct stacking_wait wait = {
		.most_ns = has_time ? SESSION_NAMES_UNHURRIED_NS : SESSION_NAMES_NS,
		.is_over = has_time ? is_hurried : NULL,
		.arg = session,
	};
	struct gmt_limit rec = {
		.what = "names of stack traces", .remedy = "Trace for longer: the names are found meanwhile",
	};
	size_t left;

	ending_step(session->ending, "looks for names of stack traces", wait.most_ns);
	left = stacking_finish(session->stacking, &session->stream, &wait);
	parser_cancel(session->parser);
	if (!left)
		return;
	snprintf((char *)rec.why, sizeof(rec.why), "%zu %s not named when the session ended", left,
		 human_plural(left, "stack trace was", "stack traces were"));
	session_limit(session, &rec);
}

/* The limits of users that were told, with the last numbers. */
static void put_users(struct session *session)
{
	struct gmt_limit rec;

	users_read(session->users, true);
	tell_quotas(session);
	put_unreadable(session, true);
	while (users_next_limit(session->users, true, &rec))
		STREAM_PUT(&session->stream, &rec, LIMIT, 0);
}

static void put_end(struct session *session)
{
	struct gmt_end rec = { .reason = session->end };

	note_output(session, display_leave(session->display));
	ending_step(session->ending, "takes the last records", 0);
	take_last_records(session);
	ending_step(session->ending, "asks NVML", 0);
	sample_nvml(session, true);
	take_last_names(session);
	check_readers(session);
	tell_notes(session);
	ending_step(session->ending, "counts losses", 0);
	put_losses(session);
	memory_end(session);
	put_users(session);
	STREAM_PUT(&session->stream, &rec, END, 0);
}

int session_run(const struct options *options, struct attribution *attribution)
{
	struct selection selection;
	struct session session;
	int status = targets_select(&selection, options);

	if (status) {
		selection_close(&selection);
		return status;
	}
	status = session_setup(&session, options, attribution);
	session.selection = &selection;
	if (!status)
		status = targets_add(&session);
	if (!status) {
		run_loop(&session);
		put_end(&session);
		status = session_finish(&session);
	}
	if (!session_teardown(&session))
		_exit(status);
	selection_close(&selection);
	return status;
}

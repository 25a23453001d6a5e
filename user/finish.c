// SPDX-License-Identifier: BSD-2-Clause
/* The end of a session: writes the outputs, removes the probes, frees everything. */
#include "say.h"
#include "setup.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <gpumemtrace/stackmap.h>

#include "base/count.h"
#include "base/human.h"
#include "cli/cli.h"
#include "core/pipeline/pipeline.h"
#include "display.h"
#include "dumping.h"
#include "ending.h"
#include "live/probe/attach.h"
#include "live/nvidia/nvml_sampler.h"
#include "live/nvidia/nvml.h"
#include "live/probe/holder.h"
#include "live/probe/probed_files.h"
#include "live/bpf/ring.h"
#include "live/bpf/users.h"
#include "live/process/relay.h"
#include "live/process/roster.h"
#include "live/stacks/stack_thread.h"
#include "live/stacks/bpf_tables.h"
#include "live/probe/mmap_watch.h"
#include "parse/parser.h"
#include "source/recorder.h"

/* Records from before the session's start count from the start. */
static double offset_s(const struct session *session, uint64_t ts_ns)
{
	return ts_ns > session->start_ns ? (double)(ts_ns - session->start_ns) / 1e9 : 0;
}

static int close_recording(struct session *session, char *note, size_t note_size)
{
	struct recorder_stats stats;
	int err;

	if (!session->stream.recorder)
		return 0;
	err = stream_end_recording(&session->stream, &stats, UINT64_MAX);
	if (err && stats.lost_records)
		snprintf(note, note_size, "the recording %s is incomplete (%s): %llu %s from +%.3f s on",
			 session->options->output, strerror(-err), (unsigned long long)stats.lost_records,
			 human_plural(stats.lost_records, "record is missing", "records are missing"),
			 offset_s(session, stats.lost_from_ns));
	else if (err)
		snprintf(note, note_size, "the recording %s could not be closed (%s): the file has all records,"
			 " but no mark of their end", session->options->output, strerror(-err));
	return err;
}

/* No loss: a file that a process maps again is probed again. */
static void tell_dropped(const struct session *session)
{
	size_t dropped = probing_dropped(session->probing);

	say("the probes of %zu %s were removed during the session, as no process mapped them any more", dropped,
	    human_plural(dropped, "file", "files"));
}

static void tell_numbers(struct session *session)
{
	struct tables_stats stats;

	stacking_stats(session->stacking, &stats);
	say("unwinding tables: %u %s, %.1f MiB, %.0f ms (%u from the cache); %u without a table", stats.modules,
	    human_plural(stats.modules, "library", "libraries"), stats.bytes / 1048576.0, stats.build_ns / 1e6,
	    stats.cache_hits, stats.failed);
	tell_dropped(session);
}

static bool note_quota(const struct session *session, char *note, size_t size)
{
	uint64_t refused = probing_refused(session->probing);

	snprintf(note, size, "%llu %s of a library were not probed: the quota of a user, or of all, was used up",
		 (unsigned long long)refused, human_plural(refused, "mapping", "mappings"));
	return refused;
}

static bool note_failed(const struct session *session, char *note, size_t size)
{
	const char *why;
	uint64_t failed = probing_failed(session->probing, &why);

	snprintf(note, size, "%llu %s to probe libraries failed: calls of these libraries were not traced then. The"
		 " last reason: %s", (unsigned long long)failed, human_plural(failed, "attempt", "attempts"), why);
	return failed;
}

static bool note_unreadable(const struct session *session, char *note, size_t size)
{
	struct tables_stats stats;

	stacking_stats(session->stacking, &stats);
	snprintf(note, size, "the code of %u %s could not be read for lack of privileges: their stack traces are not"
		 " complete and have no names", stats.unreadable,
		 human_plural(stats.unreadable, "process", "processes"));
	return stats.unreadable;
}

static bool note_cut(const struct session *session, char *note, size_t size)
{
	struct tables_stats stats;

	stacking_stats(session->stacking, &stats);
	snprintf(note, size, "%u %s more than %d executable mappings, or too long paths of them: stack traces end in"
		 " the others", stats.cut, human_plural(stats.cut, "process had", "processes had"),
		 GMT_UNWIND_MAPPINGS_MAX);
	return stats.cut;
}

static bool note_refused_maps(const struct session *session, char *note, size_t size)
{
	struct tables_stats stats;

	stacking_stats(session->stacking, &stats);
	snprintf(note, size, "the kernel refused unwinding tables or lists of mappings (%s): most stack traces end"
		 " after their first frame. --stacks=fp needs neither, in code that has frame pointers",
		 strerror(-stats.refusal));
	return stats.refusal;
}

static bool note_late(const struct session *session, char *note, size_t size)
{
	uint64_t lost = session->rescan.lost;

	snprintf(note, size, "%llu mapping %s lost: a library that was loaded then was probed late, and calls until"
		 " then were not traced", (unsigned long long)lost, human_plural(lost, "event was", "events were"));
	return lost;
}

static bool note_late_processes(const struct session *session, char *note, size_t size)
{
	uint64_t late = session->rescan.late;

	snprintf(note, size, "%llu %s may have used CUDA before %s libcuda was probed: calls until then were not"
		 " traced", (unsigned long long)late, human_plural(late, "process", "processes"),
		 human_plural(late, "its", "their"));
	return late;
}

static bool note_by_start(const struct session *session, char *note, size_t size)
{
	uint64_t count = session->identities.by_start;

	snprintf(note, size, "%llu %s identified by the start time alone, because no pidfd could be opened",
		 (unsigned long long)count, human_plural(count, "process was", "processes were"));
	return count;
}

#define NOTES_MAX 9

/* Sentences for the report. */
struct notes {
	const char *list[NOTES_MAX];
	size_t count;
	char texts[NOTES_MAX][SESSION_CAUSE];
};

/* Adds what was not seen. */
static void add_notes(const struct session *session, struct notes *notes)
{
	static bool (*const all[])(const struct session *session, char *note, size_t size) = {
		note_unreadable, note_cut, note_refused_maps, note_quota, note_failed, note_late,
		note_late_processes, note_by_start,
	};

	_Static_assert(COUNT(all) + 1 <= NOTES_MAX, "room for all");
	for (size_t i = 0; i < COUNT(all); i++) {
		if (all[i](session, notes->texts[i], sizeof(notes->texts[i])))
			notes->list[notes->count++] = notes->texts[i];
	}
	if (session->given_up[0])
		notes->list[notes->count++] = session->given_up;
}

#define TELL_EVERY_NS 2000000000ULL

static void tell_left(void *arg, size_t left)
{
	struct session *session = arg;
	uint64_t now_ns = stream_now_ns();

	if (!left || now_ns < session->next_show_ns)
		return;
	session->next_show_ns = now_ns + TELL_EVERY_NS;
	say("%zu %s left to remove; this kernel removes probes one at a time", left,
	    human_plural(left, "probe is", "probes are"));
}

/* The command still runs: gpumemtrace waits for its end, because --duration is over, or because the reader of the
 * output has gone. A user who asked for the end does not wait: the status is the signal's then. */
static bool command_runs(const struct session *session)
{
	return session->options->child && session->command.pid > 0 &&
	       (session->end == GMT_END_DURATION ||
		(session->end == GMT_END_REQUESTED && !session->command_status));
}

static void *remove_probes(void *arg)
{
	struct session *session = arg;

	session->next_show_ns = stream_now_ns() + TELL_EVERY_NS;
	attach_detach(session->attach, tell_left, session);
	return NULL;
}

/* The kernel may take seconds to remove the probes, and a report may have to wait for its reader: neither waits for the
 * other. */
struct removal {
	pthread_t thread;
	bool has_thread;
};

static void begin_removal(struct removal *removal, struct session *session)
{
	removal->has_thread = !pthread_create(&removal->thread, NULL, remove_probes, session);
}

static void end_removal(const struct removal *removal, struct session *session)
{
	if (removal->has_thread)
		pthread_join(removal->thread, NULL);
	else
		remove_probes(session);
}

/* Whether there was nothing to trace, which is said. With -a this is nothing special. */
static bool tell_no_cuda(const struct session *session)
{
	const struct options *options = session->options;

	if (options->all || session->end == GMT_END_ERROR || roster_saw_cuda(session->roster))
		return false;
	/* The command has its own status, so the sentence is no error there. */
	if (!options->child)
		say("no traced process has used CUDA; 'gpumemtrace ps' lists the processes that do");
	else if (!options->quiet)
		say("no traced process has used CUDA");
	return true;
}

int session_finish(struct session *session)
{
	const struct options *options = session->options;
	struct notes notes = { .count = 0 };
	char note[SESSION_CAUSE] = "";
	struct removal removal;
	uint64_t lost = 0;
	bool is_idle;
	int err, shown;

	ending_step(session->ending, "closes the recording", 0);
	err = close_recording(session, note, sizeof(note));
	if (options->verbose)
		tell_numbers(session);
	add_notes(session, &notes);
	begin_removal(&removal, session);
	/* From here on a signal ends this process at once, and the kernel removes what is left of the probes. */
	ending_let_go(session->ending);
	dumping_finish(session->dumping, stream_now_ns(), SESSION_DUMPS_NS);
	if (note[0])
		notes.list[notes.count++] = note;
	display_set_notes(session->display, notes.list, notes.count, dumping_newest(session->dumping));
	shown = display_report(session->display, session->stream.pipeline, &lost);
	err = shown ?: err;
	session->output_error = session->output_error ?: err;
	/* A report that could not be written did not say the notes either. */
	for (size_t i = 0; shown && i < notes.count; i++)
		say("%s", notes.list[i]);
	if (shown)
		say("cannot write the report: %s", strerror(-shown));
	err = streamed_file_end(&session->streamed, options, session->attribution, session->stream.pipeline) ?: err;
	err = display_files(session->display, session->stream.pipeline, NULL) ?: err;
	end_removal(&removal, session);
	dumping_wait(session->dumping, SESSION_DUMPS_MOST_NS);
	is_idle = tell_no_cuda(session);
	if (options->child) {
		if (command_runs(session)) {
			session->command_status = command_wait(&session->command);
			display_leave(session->display);
		}
		if (session->end == GMT_END_ERROR)
			return GMT_EXIT_COMMAND_OURS;
		if (session->command_status)
			return session->command_status;
	}
	if (options->strict && (lost || notes.count || probing_unreadable(session->probing)))
		return GMT_EXIT_LOST;
	if (options->child)
		return 0;
	if (err || session->output_error || session->end == GMT_END_ERROR)
		return GMT_EXIT_FAILURE;
	return is_idle ? GMT_EXIT_TARGET : 0;
}

bool session_teardown(struct session *session)
{
	const int fds[] = { session->epoll_fd, session->signal_fd, session->tick_fd };

	command_cancel(&session->command);
	parser_cancel(session->parser);
	display_free(session->display);
	relay_close(session->relay);
	if (!dumping_free(session->dumping) || !meter_free(session->meter) ||
	    !stacking_free(session->stacking, SESSION_THREADS_NS))
		return false;
	if (session->watch)
		watch_close(session->watch);
	ring_close(session->ring);
	attach_close(session->attach);
	holder_free(session->holder);
	users_free(session->users);
	stream_end_recording(&session->stream, NULL, UINT64_MAX);
	ending_close(session->ending);
	if (session->nvml)
		nvml_close(session->nvml);
	probing_free(session->probing);
	parser_free(session->parser);
	roster_free(session->roster);
	pipeline_free(session->stream.pipeline);
	streamed_file_drop(&session->streamed);
	for (size_t i = 0; i < COUNT(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return true;
}

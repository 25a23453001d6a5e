// SPDX-License-Identifier: BSD-2-Clause
#include "output_files.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/human.h"
#include "base/out.h"
#include "base/out_file.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "cli/cli.h"
#include "core/history/history.h"
#include "core/ledger/ledger.h"
#include "core/ledger/process.h"
#include "core/history/window.h"
#include "core/pipeline/pipeline.h"
#include "core/view/oom_view.h"
#include "core/snapshot/snapshot.h"
#include "core/snapshot/snapshot_index.h"
#include "core/view/view_filter.h"
#include "outputs.h"
#include "say.h"
#include "sink/sink.h"

/* The sources of the files, and the file that is being written. */
struct files {
	const struct options *options;
	struct attribution *attribution;
	const struct pipeline *pipeline;
	const struct sink_opts *opts;
	const struct sink *sink;
	const char *name;        /* as given */
	const struct oom *picture; /* of a dump; NULL: the file is none, or has none */
	const struct diff *diff; /* what the files show instead of the pipeline; NULL, like the next: nothing */
	const struct ranks *ranks;
};

/* ---- files about all processes ---- */

static struct view_request request_of_file(const struct files *f)
{
	struct view_request request = outputs_request(f->options, f->attribution);

	request.over_time = f->sink->wants & SINK_WANTS_TIMELINE;
	if (f->sink->ask)
		f->sink->ask(&request, f->opts);
	return request;
}

/* Who else holds memory belongs to the picture. */
static int print_picture(const struct files *f, struct out *out, const void *none)
{
	struct view_request request = request_of_file(f);
	struct sink_opts opts = *f->opts;
	struct oom_view view;

	(void)none;
	request.pid_count = 0;
	request.gpu = NULL;
	opts.note_count = opts.picture_notes;
	oom_view_build(f->pipeline, f->picture, &request, &view);
	f->sink->write_picture(out, &view, &opts);
	oom_view_free(&view);
	return out_close(out);
}

static int print_view(const struct files *f, struct out *out, const void *none)
{
	struct view_request request = request_of_file(f);
	const char *why;
	struct view view;

	(void)none;
	view_build(f->pipeline, &request, &view);
	f->sink->write(out, &view, f->opts);
	why = f->sink->why_empty ? f->sink->why_empty(&view, f->opts) : NULL;
	if (why && !f->options->quiet)
		say("%s is empty: %s", cli_is_stdout(f->name) ? "the output" : f->name, why);
	view_free(&view);
	return out_close(out);
}

static int print_history(const struct files *f, struct out *out, const void *snapshot)
{
	struct sink_history history = {
		.snapshot = snapshot, .frames = ledger_frames(f->pipeline->ledger),
		.wall_ns = ledger_wall_ns(f->pipeline->ledger),
	};

	f->sink->write_history(out, &history, f->opts);
	return out_close(out);
}

static int print_compared(const struct files *f, struct out *out, const void *none)
{
	(void)none;
	if (f->diff)
		f->sink->write_diff(out, f->diff, f->opts);
	else
		f->sink->write_ranks(out, f->ranks, f->opts);
	return out_close(out);
}

/* of: what print() needs besides. */
static int write_output(const struct files *f, const char *path,
			int (*print)(const struct files *f, struct out *out, const void *of), const void *of)
{
	struct out_file file;
	struct out out;
	int err = out_file_begin(&file, path, false);

	if (!err) {
		out_init_fd(&out, file.fd);
		err = out_file_end(&file, print(f, &out, of));
	}
	if (err)
		say("%s: %s", path, out_file_why(err));
	return err;
}

/* ---- files about one process each ---- */

/* "run.pickle" of process 4242 is "run.4242.pickle", and of the next process of that pid "run.4242-2.pickle". */
static void make_process_path(char *to, size_t size, const char *path, uint32_t pid, unsigned int life)
{
	const char *dot = strrchr(path, '.');
	int stem = dot && dot > path_base(path) ? (int)(dot - path) : (int)strlen(path);
	char number[16] = "";

	if (life > 1)
		snprintf(number, sizeof(number), "-%u", life);
	snprintf(to, size, "%.*s.%" PRIu32 "%s%s", stem, path, pid, number, path + stem);
}

/* Finds the processes that have something to show, and that the request is for. Returns their number; any[i] is for
 * process i. */
static unsigned int find_changed(const struct pipeline *pipeline, const struct view_request *request, bool *any)
{
	const struct history *h = pipeline->history;
	unsigned int count = 0;

	for (uint64_t n = h->first; n < h->next; n++) {
		const struct history_event *e = history_event(h, n);

		any[e->process] |= n >= h->processes[e->process].since;
	}
	for (uint32_t i = 0; i < h->process_count; i++) {
		bool devices[VIEW_DEVICES] = { false };
		struct window w;

		if (!view_wants_process(request, h->processes[i].of->tgid) ||
		    (request->gpu && !view_wanted_devices(pipeline, request, h->processes[i].of, devices))) {
			any[i] = false;
			continue;
		}
		if (!any[i]) {   /* only if needed: a window has all blocks of the process */
			history_window(h, i, &w);
			any[i] = w.segments.count;
			window_free(&w);
		}
		count += any[i];
	}
	return count;
}

static int write_process(const struct files *f, const struct snapshot_index *x, uint32_t process, const char *path)
{
	struct view_request request = outputs_request(f->options, f->attribution);
	bool devices[VIEW_DEVICES] = { false };
	struct snapshot snapshot;
	int err;

	snapshot_build_from(x, process, &snapshot);
	if (request.gpu) {
		view_wanted_devices(f->pipeline, &request, x->h->processes[process].of, devices);
		snapshot_keep_devices(&snapshot, devices);
	}
	err = write_output(f, path, print_history, &snapshot);
	if (!err && snapshot.dropped && !f->options->quiet)
		say("%s lacks %" PRIu64 " older %s: give a larger --window to keep more", path, snapshot.dropped,
		    human_plural(snapshot.dropped, "event", "events"));
	snapshot_free(&snapshot);
	return err;
}

static int write_each(const struct files *f, const struct snapshot_index *x, const bool *any)
{
	const struct history *h = f->pipeline->history;
	struct hash lives;       /* unsigned int: processes so far, by pid */
	int err = 0;

	hash_init(&lives, sizeof(unsigned int));
	for (uint32_t i = 0; i < h->process_count; i++) {
		uint32_t pid = h->processes[i].of->tgid;
		unsigned int life = ++*(unsigned int *)hash_put(&lives, pid, NULL);
		char path[PATH_MAX];

		if (!any[i])
			continue;
		make_process_path(path, sizeof(path), f->name, pid, life);
		if (!f->options->quiet)
			say("the %s of process %" PRIu32 " is %s", f->sink->name, pid, path);
		err = write_process(f, x, i, path) ?: err;
	}
	hash_fini(&lives);
	return err;
}

static int write_processes(const struct files *f)
{
	bool *any = xcalloc(f->pipeline->history->process_count + 1, sizeof(*any));
	struct view_request request = outputs_request(f->options, f->attribution);
	unsigned int count = find_changed(f->pipeline, &request, any);
	struct snapshot_index x;
	uint32_t only = 0;
	int err = 0;

	snapshot_index_init(&x, f->pipeline->history);
	while (count && !any[only])
		only++;
	if (!count) {
		say("%s was not written: no process %s, or --window kept no events", f->name,
		    request.gpu ? "is known to have had device memory on this GPU" : "allocated device memory");
	} else if (count == 1) {
		err = write_process(f, &x, only, f->name);
	} else if (!strcmp(f->name, "-")) {
		say("--%s - can write only one process, and %u processes have device memory: name a file instead",
		    f->sink->name, count);
		err = -EINVAL;
	} else {
		err = write_each(f, &x, any);
	}
	snapshot_index_fini(&x);
	free(any);
	return err;
}

int output_files_write(const struct options *options, struct attribution *attribution, const struct pipeline *pipeline,
		       const struct oom *picture, const struct sink_opts *opts)
{
	struct sink_opts plain = *opts;
	struct files f = {
		.options = options, .attribution = attribution, .pipeline = pipeline, .picture = picture,
		.opts = &plain,
	};
	int err = 0;

	plain.color = false;
	for (size_t i = 0; sinks[i]; i++) {
		f.sink = sinks[i];
		f.name = options->files[i];
		if (!f.name)
			continue;
		if (picture && f.sink->write_picture)
			err = write_output(&f, f.name, print_picture, NULL) ?: err;
		else if (f.sink->write)
			err = write_output(&f, f.name, print_view, NULL) ?: err;
		if (f.sink->write_history && pipeline->history)
			err = write_processes(&f) ?: err;
	}
	return err;
}

/* ---- files about several recordings ---- */

static int write_compared(struct files *f)
{
	int err = 0;

	for (size_t i = 0; sinks[i]; i++) {
		f->sink = sinks[i];
		f->name = f->options->files[i];
		if (f->name)
			err = write_output(f, f->name, print_compared, NULL) ?: err;
	}
	return err;
}

int output_files_diff(const struct options *options, const struct diff *diff, const struct sink_opts *opts)
{
	return write_compared(&(struct files){ .options = options, .opts = opts, .diff = diff });
}

int output_files_ranks(const struct options *options, const struct ranks *ranks, const struct sink_opts *opts)
{
	return write_compared(&(struct files){ .options = options, .opts = opts, .ranks = ranks });
}

/* ---- before tracing ---- */

static int check_folder(const struct options *options)
{
	const char *named = options->oom_dir.path;
	int err = options->oom_dir.is_off ? 0 : out_file_may_fill(named ? named : ".");

	if (err && named)
		say("dumps cannot be written to %s: %s%s", named, strerror(-err), out_file_remedy(err));
	else if (err && !options->quiet)
		say("dumps cannot be written to the current directory (%s): --oom-dir DIR names another one",
		    strerror(-err));
	return named ? err : 0;
}

int output_files_check(const struct options *options)
{
	int err = check_folder(options);

	for (size_t i = 0; !err && sinks[i]; i++) {
		const char *name = options->files[i];

		err = name && strcmp(name, "-") ? out_file_may_begin(name) : 0;
		if (err)
			say("cannot write %s: %s%s", name, strerror(-err), out_file_remedy(err));
	}
	return err;
}

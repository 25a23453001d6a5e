// SPDX-License-Identifier: BSD-2-Clause
#include "outputs.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attribution.h"
#include "base/out.h"
#include "base/out_file.h"
#include "cli/cli.h"
#include "core/history/history.h"
#include "core/history/history_dump.h"
#include "core/ledger/process.h"
#include "core/oom/oom_requests.h"
#include "core/pipeline/pipeline.h"
#include "core/timeline/timeline.h"
#include "core/view/oom_view.h"
#include "say.h"
#include "sink/oom/oom_sinks.h"

#define TIMELINE_POINTS (1 << 20)     /* at most: 128 MiB, with TIMELINE_POINT_BYTES each */
#define TIMELINE_SHARE 8              /* such a part of --memory at most; lists that grow may take twice as much */

const struct sink *outputs_format(const struct options *options)
{
	const struct sink *const *sink = sinks;

	if (options->format)
		return options->format;
	while (sink[1] && (*sink)->help)
		sink++;
	return *sink;
}

int outputs_fd(const struct options *options)
{
	bool is_taken = cli_is_stdout(options->output) || (options->child && !cli_has_data_on_stdout(options));

	if (options->format_fd)
		return options->format_fd;
	for (size_t i = 0; sinks[i]; i++)
		is_taken |= cli_is_stdout(options->files[i]);
	return is_taken ? STDERR_FILENO : STDOUT_FILENO;
}

bool outputs_want(const struct options *options, enum sink_want want)
{
	for (size_t i = 0; sinks[i]; i++)
		if (options->files[i] && sinks[i]->wants & want)
			return true;
	return false;
}

/* The room for memory over time. */
static uint64_t timeline_points(const struct options *options)
{
	uint64_t points = options->memory_bytes / TIMELINE_SHARE / TIMELINE_POINT_BYTES;

	return points < TIMELINE_POINTS ? points : TIMELINE_POINTS;
}

struct pipeline *outputs_pipeline(const struct options *options)
{
	bool has_dumps = options->command == CLI_TRACE || options->command == CLI_OOM, has_pictures = false;
	struct pipeline_options wanted = {
		.watches_requests = true,   /* the report counts them */
		.history_ns = options->window.ns,
	};

	for (size_t i = 0; sinks[i]; i++) {
		wanted.keeps_ended |= options->files[i] && sinks[i]->write_history;
		has_pictures |= options->files[i] && sinks[i]->write_picture;
	}
	if (outputs_want(options, SINK_WANTS_TIMELINE))
		wanted.timeline_points = timeline_points(options);
	wanted.keeps_lives = outputs_want(options, SINK_WANTS_LIVES);
	wanted.keeps_instants = outputs_want(options, SINK_WANTS_INSTANTS);
	wanted.keeps_all_lives = options->events == CLI_EVENTS_ALL;
	if (wanted.keeps_ended || has_dumps || has_pictures)
		wanted.history_events = options->window.events;
	wanted.history_of_dumps = !wanted.keeps_ended && !has_dumps;
	return pipeline_new(&wanted);
}

static bool leads_to(const struct stat *a, int fd)
{
	struct stat b;

	return !fstat(fd, &b) && a->st_dev == b.st_dev && a->st_ino == b.st_ino;
}

bool outputs_share(const struct options *options)
{
	struct stat ours;

	if (!options->child || fstat(outputs_fd(options), &ours))
		return false;
	return leads_to(&ours, STDOUT_FILENO) || leads_to(&ours, STDERR_FILENO);
}

int outputs_open_format(struct options *options)
{
	const char *path = options->format_path;
	int fd;

	if (!path || cli_is_stdout(path))
		return 0;
	fd = out_file_open(path, false);
	if (fd < 0) {
		say("%s: %s", path, out_file_why(fd));
		return fd;
	}
	options->format_fd = fd;
	return 0;
}

int64_t outputs_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

struct sink_opts outputs_opts(const struct options *options, int fd)
{
	const char *recording = options->input ? options->input : options->output;
	/* A recording that is made now has only what is traced. */
	bool is_chosen = options->command != CLI_TRACE;
	unsigned columns = 0, lines;

	if (out_terminal_size(fd, &columns, &lines))
		columns = 0;
	return (struct sink_opts){
		.pids = is_chosen ? options->pids.list : NULL, .pid_count = is_chosen ? options->pids.count : 0,
		.gpu = options->gpu,
		.recording = recording && strcmp(recording, "-") ? recording : NULL,
		.color = cli_use_color(options, isatty(fd)),
		.columns = columns,
		.top = options->top,
		.full = options->full || options->full_stacks,
		.full_stacks = options->full_stacks,
		.verbose = options->verbose > 0,
		.source = options->source,
		.redact = options->redact,
		.folded_by = options->folded_by,
		.made_ns = outputs_now(),
	};
}

struct view_request outputs_request(const struct options *options, struct attribution *attribution)
{
	struct view_request request = {
		.top = options->top, .ages = true, .older_than_ns = options->older_than_ns,
	};

	if (options->command != CLI_TRACE) {
		request.pids = options->pids.list;
		request.pid_count = options->pids.count;
		request.gpu = options->gpu;
	}
	attribution_ask(attribution, &request);
	return request;
}

char *outputs_verdict(const struct pipeline *pipeline, const struct options *options, struct attribution *attribution,
		      const struct oom *oom)
{
	struct view_request request = outputs_request(options, attribution);
	const struct history *history = pipeline->history;
	struct sink_opts opts = { .verbose = true };
	struct oom_view view;
	struct out out;

	out_init_mem(&out);
	oom_view_build(pipeline, oom, &request, &view);
	if (history)
		history_changes(history, oom->rec.number ? oom->rec.hdr.tgid : 0, history_moment(history, &oom->rec),
				oom->rec.hdr.ts_ns, PROCESS_RECENT_NS, &view.changes);
	oom_print_next(&out, &view, &opts);
	oom_view_free(&view);
	return out_take(&out);
}

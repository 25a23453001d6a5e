// SPDX-License-Identifier: BSD-2-Clause
#include "display.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attribution.h"
#include "base/xalloc.h"
#include "base/out.h"
#include "base/out_file.h"
#include "cli.h"
#include "core/ledger/ledger.h"
#include "core/view/view.h"
#include "sink/export/folded.h"
#include "sink/sink.h"
#include "whole_file.h"

#define CAUSE_MAX 512

struct display {
	const struct options *options;
	struct attribution *attribution;
	const struct sink_ops *ops;
	struct out out;
	struct sink_opts opts;
	int fd;
	bool live;
	bool started;
	struct view previous;
	bool has_previous;
};

static const struct sink_ops *choose_sink(const struct options *options, bool terminal)
{
	if (options->json)
		return &sink_json;
	return terminal ? &sink_term : &sink_plain;
}

static bool wants_live(const struct options *options)
{
	if (options->quiet || options->live == CLI_NEVER)
		return false;
	return options->live == CLI_ALWAYS || !options->child;
}

static bool is_stdout(const char *path)
{
	return path && !strcmp(path, "-");
}

/* Standard output is the command's or a file's, where one of them uses it. */
static bool wants_stderr(const struct options *options)
{
	return (options->child && !options->json) || is_stdout(options->output) || is_stdout(options->folded) ||
	       is_stdout(options->snapshot);
}

struct display *display_new(const struct options *options)
{
	struct display *display = xcalloc(1, sizeof(*display));
	char why[CAUSE_MAX];
	bool terminal;

	display->options = options;
	/* main() has seen that the files of rules are well-formed. */
	display->attribution = attribution_new(options, why, sizeof(why));
	display->fd = wants_stderr(options) ? STDERR_FILENO : STDOUT_FILENO;
	terminal = isatty(display->fd);
	display->live = wants_live(options);
	display->ops = choose_sink(options, terminal && display->live);
	display->opts.full_stacks = options->full_stacks;
	display->opts.color = cli_use_color(options, terminal);
	out_init_fd(&display->out, display->fd);
	return display;
}

static void forget_previous(struct display *display)
{
	if (display->has_previous)
		view_free(&display->previous);
	display->has_previous = false;
}

void display_free(struct display *display)
{
	if (!display)
		return;
	if (display->started)
		sink_stop(display->ops, &display->out, &display->opts);
	forget_previous(display);
	attribution_free(display->attribution);
	out_close(&display->out);
	free(display);
}

#define LIVE_TOP 5          /* stacks of a process on a GPU that a terminal shows */

/* Live frames for people show a few stacks; the ages, which cost a look at each allocation, only programs read. */
static struct view_request request_of(const struct display *display, bool with_ages)
{
	size_t top = display->options->top;
	struct view_request request = {
		.top = with_ages || top < LIVE_TOP ? top : LIVE_TOP,
		.ages = with_ages,
		.older_than_ns = display->options->older_than_ns,
	};

	attribution_ask(display->attribution, &request);
	return request;
}

int display_live(struct display *display, const struct pipeline *pipeline)
{
	struct view_request request = request_of(display, display->options->json);
	struct view now;
	int err;

	if (!display->live)
		return 0;
	if (out_terminal_size(display->fd, &display->opts.width, &display->opts.height))
		display->opts.width = display->opts.height = 0;
	if (!display->started)
		sink_start(display->ops, &display->out, &display->opts);
	display->started = true;
	view_build(pipeline, &request, &now);
	err = sink_live(display->ops, &display->out, &now, display->has_previous ? &display->previous : NULL,
			&display->opts);
	forget_previous(display);
	display->previous = now;
	display->has_previous = true;
	return err;
}

/* All stacks, for flame graphs. */
static int write_folded(const struct display *display, const struct pipeline *pipeline)
{
	const struct options *options = display->options;
	struct view_request request = request_of(display, true);
	struct view view;
	struct out out;
	int err;

	request.top = SIZE_MAX;
	request.ages = options->folded_by == VIEW_BY_OLD;
	view_build(pipeline, &request, &view);
	out_init_mem(&out);
	folded_print(&out, &view, options->folded_by);
	view_free(&view);
	err = whole_file_write(options->folded, out.data, out.size);
	out_close(&out);
	if (err)
		fprintf(stderr, "gpumemtrace: %s: %s\n", options->folded, out_file_why(err));
	return err;
}

int display_report(struct display *display, const struct pipeline *pipeline, const char *const *notes,
		   size_t note_count, uint64_t *lost)
{
	struct view_request request = request_of(display, true);
	struct view view;
	int err;

	if (display->started)
		sink_stop(display->ops, &display->out, &display->opts);
	display->started = false;
	if (out_terminal_size(display->fd, &display->opts.width, &display->opts.height))
		display->opts.width = display->opts.height = 0;
	display->opts.notes = notes;
	display->opts.note_count = note_count;
	view_build(pipeline, &request, &view);
	*lost = view_lost(&view);
	err = sink_report(display->ops, &display->out, &view, &display->opts);
	view_free(&view);
	if (display->options->folded)
		err = write_folded(display, pipeline) ?: err;
	return err;
}

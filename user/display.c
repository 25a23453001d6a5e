// SPDX-License-Identifier: BSD-2-Clause
#include "display.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/out.h"
#include "cli.h"
#include "core/ledger.h"
#include "core/view.h"
#include "sink/sink.h"

struct display {
	const struct sink_ops *ops;
	struct out out;
	struct sink_opts opts;
	int fd;
	bool live;
	bool started;
	struct view previous;
	bool has_previous;
};

static const struct sink_ops *choose(const struct options *options, bool terminal)
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

/* Standard output is the command's, or the recording's, where one of them uses it. */
static bool wants_stderr(const struct options *options)
{
	return (options->child && !options->json) || (options->output && !strcmp(options->output, "-"));
}

struct display *display_new(const struct options *options)
{
	struct display *display = xcalloc(1, sizeof(*display));
	bool terminal;

	display->fd = wants_stderr(options) ? STDERR_FILENO : STDOUT_FILENO;
	terminal = isatty(display->fd);
	display->live = wants_live(options);
	display->ops = choose(options, terminal && display->live);
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
	out_close(&display->out);
	free(display);
}

int display_live(struct display *display, const struct ledger *ledger)
{
	struct view now;
	int err;

	if (!display->live)
		return 0;
	if (out_terminal_size(display->fd, &display->opts.width, &display->opts.height))
		display->opts.width = display->opts.height = 0;
	if (!display->started)
		sink_start(display->ops, &display->out, &display->opts);
	display->started = true;
	view_build(ledger, NULL, &now);
	err = sink_live(display->ops, &display->out, &now, display->has_previous ? &display->previous : NULL,
			&display->opts);
	forget_previous(display);
	display->previous = now;
	display->has_previous = true;
	return err;
}

int display_report(struct display *display, const struct ledger *ledger, const char *const *notes,
		   size_t note_count, uint64_t *lost)
{
	struct view view;
	int err;

	if (display->started)
		sink_stop(display->ops, &display->out, &display->opts);
	display->started = false;
	if (out_terminal_size(display->fd, &display->opts.width, &display->opts.height))
		display->opts.width = display->opts.height = 0;
	display->opts.notes = notes;
	display->opts.note_count = note_count;
	view_build(ledger, NULL, &view);
	*lost = view_lost(&view);
	err = sink_report(display->ops, &display->out, &view, &display->opts);
	view_free(&view);
	return err;
}

// SPDX-License-Identifier: BSD-2-Clause
#include "display.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "base/out.h"
#include "cli/cli.h"
#include "core/view/view.h"
#include "output_files.h"
#include "outputs.h"
#include "say.h"
#include "sink/sink.h"

struct display {
	const struct options *options;
	struct attribution *attribution;
	const struct sink *format;
	struct out out;
	struct sink_opts opts;
	int fd;
	struct out waiting;      /* the part of a frame that the reader has not taken */
	bool may_wait;           /* for the reader, however long the reader takes */
	bool live;
	bool started;
	struct view previous;    /* of the last frame, if there was one */
	bool has_previous;
};

static bool wants_live(const struct options *options)
{
	if (options->quiet || options->live == CLI_NEVER)
		return false;
	return options->live == CLI_ALWAYS || !outputs_share(options);
}

/* Nobody guesses why there are no live lines. */
static void explain_silence(const struct display *display)
{
	const struct options *options = display->options;

	if (display->live || options->quiet || options->live != CLI_AUTO || !display->format->is_data)
		return;
	say("--%s and the command write to the same file, so only the report is printed; --%s=FILE writes live"
	    " lines, too", display->format->name, display->format->name);
}

/* The reader of a frame may be slower than this, but then frames are left out. */
#define IDLE_MS 20
#define MOST_MS 200

int display_push(struct display *display)
{
	struct out *waiting = &display->waiting;
	ssize_t done;

	if (!waiting->size)
		return 0;
	done = out_write_some(display->fd, waiting->data, waiting->size, IDLE_MS, MOST_MS);
	if (done < 0)
		return (int)done;
	out_drop(waiting, (size_t)done);
	return 0;
}

/* The bytes go behind those that wait. */
static int write_text(void *arg, const void *data, size_t size)
{
	struct display *display = arg;
	bool is_held_up = display->waiting.size;
	int err;

	out_bytes(&display->waiting, data, size);
	if (!display->may_wait)
		return is_held_up ? 0 : display_push(display);
	err = out_write_fd(display->fd, display->waiting.data, display->waiting.size);
	out_drop(&display->waiting, display->waiting.size);
	return err;
}

struct display *display_new(const struct options *options, struct attribution *attribution)
{
	struct display *display = xcalloc(1, sizeof(*display));

	display->options = options;
	display->attribution = attribution;
	display->fd = outputs_fd(options);
	display->live = wants_live(options);
	display->format = outputs_format(options, isatty(display->fd) && display->live);
	display->opts = outputs_opts(options, display->fd);
	out_init(&display->out, write_text, display);
	out_init_mem(&display->waiting);
	explain_silence(display);
	return display;
}

static void forget_previous(struct display *display)
{
	if (display->has_previous)
		view_free(&display->previous);
	display->has_previous = false;
}

static void stop_live(struct display *display)
{
	if (display->started && display->format->stop)
		display->format->stop(&display->out, &display->opts);
	out_flush(&display->out);
	display->started = false;
}

void display_free(struct display *display)
{
	if (!display)
		return;
	stop_live(display);
	forget_previous(display);
	out_close(&display->out);
	out_close(&display->waiting);
	free(display);
}

#define LIVE_TOP 5          /* stacks that a terminal shows of each process on a GPU */

/* Live frames for people show a few stacks, and no ages. Ages cost a look at each allocation; only programs read
 * ages. */
static struct view_request live_request(const struct display *display)
{
	struct view_request request = outputs_request(display->options, display->attribution);

	request.ages = display->format->is_data;
	/* For programs each end is in one frame; then the process is in the sums. Times do not tell which ends a frame
	 * has: records wait in the ring while the frame is made. */
	if (display->format->is_data && display->has_previous)
		request.ends = display->previous.ends;
	if (!request.ages && request.top > LIVE_TOP)
		request.top = LIVE_TOP;
	return request;
}

int display_live(struct display *display, const struct pipeline *pipeline)
{
	struct view_request request = live_request(display);
	struct view now;
	int err = display_push(display);

	if (!display->live || display->waiting.size || err)
		return err;
	if (out_terminal_size(display->fd, &display->opts.width, &display->opts.height))
		display->opts.width = display->opts.height = 0;
	if (!display->started && display->format->start)
		display->format->start(&display->out, &display->opts);
	display->started = true;
	view_build(pipeline, &request, &now);
	display->opts.made_ns = outputs_now();
	display->format->live(&display->out, &now, display->has_previous ? &display->previous : NULL, &display->opts);
	forget_previous(display);
	display->previous = now;
	display->has_previous = true;
	return out_flush(&display->out);
}

int display_report(struct display *display, const struct pipeline *pipeline, const char *const *notes,
		   size_t note_count, const char *dump, uint64_t *lost)
{
	struct view_request request = outputs_request(display->options, display->attribution);
	struct view view;

	display->may_wait = true;
	stop_live(display);
	display->opts.width = display->opts.height = 0;
	display->opts.notes = notes;
	display->opts.note_count = note_count;
	display->opts.dump = dump;
	view_build(pipeline, &request, &view);
	*lost = view_lost(&view);
	display->opts.made_ns = outputs_now();
	display->format->report(&display->out, &view, &display->opts);
	view_free(&view);
	return out_flush(&display->out);
}

int display_files(const struct display *display, const struct pipeline *pipeline)
{
	return output_files_write(display->options, display->attribution, pipeline, &display->opts);
}

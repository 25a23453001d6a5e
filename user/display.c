// SPDX-License-Identifier: BSD-2-Clause
#include "display.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/count.h"
#include "base/xalloc.h"
#include "base/out.h"
#include "cli/cli.h"
#include "core/view/view.h"
#include "live/process/relay.h"
#include "live/stream.h"
#include "screen/stage.h"
#include "output_files.h"
#include "outputs.h"
#include "say.h"
#include "sink/sink.h"

struct display {
	const struct options *options;
	struct attribution *attribution;
	const struct sink *format;
	struct stage *screen; /* NULL: live views are lines */
	struct relay *relay;  /* of the command's output, while a screen may be there; NULL: none */
	struct out out;
	struct sink_opts opts;
	int fd;
	struct out waiting;      /* the part of a frame that the reader has not taken */
	bool may_wait;           /* for the reader, however long the reader takes */
	bool live;
	bool is_stale;           /* a picture could not be drawn, because bytes were waiting */
	struct view previous;    /* of the last frame, if there was one */
	bool has_previous;
};

static bool wants_live(const struct options *options)
{
	if (options->quiet || options->input || options->live == CLI_NEVER)
		return false;
	return options->live == CLI_ALWAYS || !outputs_share(options);
}

static bool may_have_screen(const struct options *options)
{
	return wants_live(options) && !options->format && isatty(outputs_fd(options));
}

bool display_may_cover(const struct options *options)
{
	return options->child && may_have_screen(options);
}

bool display_relays(const struct display *display)
{
	return display->relay;
}

/* Nobody guesses why there are no live lines. */
static void explain_silence(const struct display *display)
{
	const struct options *options = display->options;

	if (display->live || !options->child || options->quiet || options->live != CLI_AUTO ||
	    !display->format->is_data)
		return;
	say("--%s and the command write to the same file, so only the report is printed; --%s=FILE writes live"
	    " lines, too", display->format->name, display->format->name);
}

/* The reader of a frame may be slower than this, but then frames are left out. */
#define IDLE_MS 20
#define MOST_MS 200

static int push_bytes(struct display *display)
{
	struct out *waiting = &display->waiting;
	ssize_t done;

	if (!waiting->size)
		return 0;
	done = out_write_some(display->fd, waiting->data, waiting->size, IDLE_MS, MOST_MS);
	if (done < 0)
		return (int)done;
	out_drop(waiting, (size_t)done);
	/* The screen was left when the terminal took nothing. */
	if (!waiting->size && display->relay && !stage_is_on(display->screen))
		relay_let_go(display->relay);
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
		return is_held_up ? 0 : push_bytes(display);
	err = out_write_fd(display->fd, display->waiting.data, display->waiting.size);
	out_drop(&display->waiting, display->waiting.size);
	return err;
}

/* For display_rescue(), which is called where nothing else is at hand, on any thread. */
static struct {
	pthread_mutex_t lock;    /* held as long as a rescue uses the stage */
	struct stage *stage;
	struct relay *relay;
} rescued = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* NULL: from here on no rescue uses the stage of before. */
static void set_rescued(struct stage *stage, struct relay *relay)
{
	pthread_mutex_lock(&rescued.lock);
	rescued.stage = stage;
	rescued.relay = relay;
	pthread_mutex_unlock(&rescued.lock);
}

bool display_rescue(void)
{
	bool was_taken;

	pthread_mutex_lock(&rescued.lock);
	was_taken = rescued.stage && stage_rescue(rescued.stage);
	if (rescued.relay)
		relay_let_go(rescued.relay);
	pthread_mutex_unlock(&rescued.lock);
	return was_taken;
}

void display_leave_at_once(void)
{
	say_hurry();
	if (display_rescue())
		say_release();
}

void display_take_signals(const struct display *display, int signal_fd)
{
	static const int wanted[] = { SIGCHLD, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT };
	sigset_t signals;

	if (!display->screen)
		return;
	sigemptyset(&signals);
	for (size_t i = 0; i < COUNT(wanted); i++)
		sigaddset(&signals, wanted[i]);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signalfd(signal_fd, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
}

static void open_screen(struct display *display)
{
	char why[256] = "the terminal cannot be opened again: the live view prints lines";

	if (!may_have_screen(display->options))
		return;
	/* What is typed is for the command. */
	display->screen = stage_open(display->fd, !display->options->child, display->opts.color, why, sizeof(why));
	if (!display->screen)
		say("%s", why);
	else
		display->fd = stage_fd(display->screen);
	if (!display->screen)
		display->relay = NULL;
	set_rescued(display->screen, display->relay);
}

struct display *display_new(const struct options *options, struct attribution *attribution, struct relay *relay)
{
	struct display *display = xcalloc(1, sizeof(*display));

	display->options = options;
	display->attribution = attribution;
	display->relay = relay;
	display->fd = outputs_fd(options);
	display->live = wants_live(options);
	display->format = outputs_format(options);
	display->opts = outputs_opts(options, display->fd);
	out_init(&display->out, write_text, display);
	out_init_mem(&display->waiting);
	explain_silence(display);
	open_screen(display);
	return display;
}

static void forget_previous(struct display *display)
{
	if (display->has_previous)
		view_free(&display->previous);
	display->has_previous = false;
}

/* What the command has written comes behind what leaves the screen, and before all else. */
static void release_output(struct display *display)
{
	struct out *waiting = &display->waiting;

	if (display->may_wait && waiting->size) {
		out_write_fd(display->fd, waiting->data, waiting->size);
		out_drop(waiting, waiting->size);
	}
	if (!waiting->size)
		relay_settle(display->relay, display->may_wait ? -1 : MOST_MS);
}

int display_leave(struct display *display)
{
	int err;

	if (display->screen)
		stage_leave(display->screen, &display->out);
	err = out_flush(&display->out);
	if (display->relay)
		release_output(display);
	say_release();
	return err;
}

void display_free(struct display *display)
{
	if (!display)
		return;
	display_leave(display);
	forget_previous(display);
	set_rescued(NULL, NULL);
	stage_close(display->screen);
	out_close(&display->out);
	out_close(&display->waiting);
	free(display);
}

#define WHY_AGE_NS 60000000000ULL /* of the reason that a view for people may have for a process that fails again */
#define LIVE_TOP 100        /* stacks, and lines, of each process on a GPU that a screen can show */

/* Live frames for people show no ages. Ages cost a look at each allocation; only programs read ages. */
static struct view_request live_request(const struct display *display)
{
	struct view_request request = outputs_request(display->options, display->attribution);

	request.ages = display->format->is_data;
	/* For programs each end is in one frame; then the process is in the sums. Times do not tell which ends a frame
	 * has: records wait in the ring while the frame is made. */
	if (display->format->is_data && display->has_previous)
		request.ends = display->previous.ends;
	if (!request.ages) {
		request.top = display->screen ? LIVE_TOP : 0;
		request.why_age_ns = WHY_AGE_NS;
	}
	return request;
}

/* The view becomes the previous one. */
static void keep_view(struct display *display, const struct view *now)
{
	forget_previous(display);
	display->previous = *now;
	display->has_previous = true;
}

void display_fit(struct display *display)
{
	stage_renew(display->screen);
	if (display->relay)
		relay_fit(display->relay);
}

/* The command's output is held before anything is drawn. */
static bool enter_screen(struct display *display)
{
	const char *leaving;
	size_t size;

	if (stage_is_on(display->screen))
		return true;
	if (!stage_is_ours(display->screen))
		return false;
	leaving = stage_leaving(display->screen, &size);
	if (display->relay) {
		relay_fit(display->relay);
		relay_hold(display->relay, leaving, size);
	}
	return stage_enter(display->screen);
}

/* Draws the newest view, unless the reader still has to take what was drawn before. The shell takes the terminal from
 * a process that SIGSTOP stops, and the process hears nothing of that. */
static int draw_screen(struct display *display)
{
	struct screen_message messages[SAY_SHOWN];
	struct said said[SAY_SHOWN];
	char line[RELAY_LINE];
	struct screen_scene scene = {
		.view = display->has_previous ? &display->previous : NULL, .now_ns = stream_now_ns(),
		.messages = messages,
	};

	if (stage_is_on(display->screen) && !stage_is_ours(display->screen))
		return display_leave(display);
	display->is_stale = display->waiting.size;
	if (display->is_stale || !enter_screen(display))
		return 0;
	if (display->relay && relay_newest(display->relay, line))
		scene.output = line;
	say_keep(isatty(STDERR_FILENO));
	scene.message_count = say_newest(said);
	for (size_t i = 0; i < scene.message_count; i++)
		messages[i] = (struct screen_message){ said[i].text, said[i].at_ns };
	stage_draw(display->screen, &scene, &display->out);
	for (size_t i = 0; i < scene.message_count; i++)
		free(said[i].text);
	return out_flush(&display->out);
}

int display_redraw(struct display *display)
{
	return display->screen ? draw_screen(display) : 0;
}

int display_push(struct display *display)
{
	int err = push_bytes(display);

	return err || !display->is_stale || display->waiting.size ? err : display_redraw(display);
}

int display_live(struct display *display, const struct pipeline *pipeline)
{
	struct view_request request = live_request(display);
	struct view now;
	int err = push_bytes(display);

	if (!display->live || display->waiting.size || err)
		return err;
	if (display->screen && stage_is_paused(display->screen))
		return draw_screen(display);
	display->opts.now_ns = stream_now_ns();
	view_build(pipeline, &request, &now);
	display->opts.made_ns = outputs_now();
	if (display->screen)
		stage_see(display->screen, &now);
	else
		display->format->live(&display->out, &now, display->has_previous ? &display->previous : NULL,
				      &display->opts);
	keep_view(display, &now);
	return display->screen ? draw_screen(display) : out_flush(&display->out);
}

struct stage *display_screen(struct display *display)
{
	return display->screen;
}

#define NO_REPORT 2      /* this many -q: people want only the files */

void display_set_notes(struct display *display, const char *const *notes, size_t note_count, const char *dump)
{
	display->opts.notes = notes;
	display->opts.note_count = note_count;
	display->opts.dump = dump;
}

void display_set_picture_notes(struct display *display, size_t count)
{
	display->opts.picture_notes = count;
}

int display_report(struct display *display, const struct pipeline *pipeline, uint64_t *lost)
{
	struct view_request request = outputs_request(display->options, display->attribution);
	struct view view;

	display->may_wait = true;
	display_leave(display);
	view_build(pipeline, &request, &view);
	*lost = view_lost(&view);
	display->opts.made_ns = outputs_now();
	if (display->options->quiet < NO_REPORT || display->format->is_data)
		display->format->report(&display->out, &view, &display->opts);
	view_free(&view);
	return out_flush(&display->out);
}

int display_files(const struct display *display, const struct pipeline *pipeline, const struct oom *picture)
{
	return output_files_write(display->options, display->attribution, pipeline, picture, &display->opts);
}

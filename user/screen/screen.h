/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The live view on a terminal: takes views and keys, gives pictures and actions. What the person chose (a table, an
 * order, a filter, a place) is the screen's state; everything else in a picture comes from the view, from the messages
 * and from the clock. The caller owns the terminal.
 */
#ifndef GPUMEMTRACE_SCREEN_SCREEN_H
#define GPUMEMTRACE_SCREEN_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct curses;
struct out;
struct screen;
struct view;

/* What a key asks the caller for. REDRAW: nothing but a new picture. */
enum screen_action {
	SCREEN_NONE,
	SCREEN_REDRAW,
	SCREEN_MARK,
	SCREEN_DUMP,
	SCREEN_VERDICT,          /* screen_read() with the verdict of the newest failed request */
	SCREEN_QUIT,
};

/* What the program has said. */
struct screen_message {
	const char *text;
	uint64_t at_ns;          /* CLOCK_MONOTONIC */
};

/* What a picture shows beside the screen's own state. */
struct screen_scene {
	const struct view *view; /* NULL: there is none yet */
	uint64_t now_ns;         /* CLOCK_MONOTONIC: the clock goes on without records, too */
	const struct screen_message *messages; /* the newest last */
	size_t message_count;
	const char *output;      /* what the traced command has written last, foreign text; NULL: nothing */
};

/* The screen draws with `curses`, which stays the caller's. */
struct screen *screen_new(struct curses *curses, bool has_keys);
void screen_free(struct screen *screen);

/* Takes the next key. NONE: there is no key. */
enum screen_action screen_take_key(struct screen *screen);

/* Whether the view is to stay as it is. */
bool screen_is_paused(const struct screen *screen);

/* The view is new: keeps what the picture shows over time. */
void screen_see(struct screen *screen, const struct view *view);

/* Shows a text, one screenful at a time, until a key ends that. The screen takes the text over. */
void screen_read(struct screen *screen, const char *title, char *text);

/* Writes what turns the picture on the terminal into the new one. */
void screen_draw(struct screen *screen, const struct screen_scene *scene, struct out *out);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A terminal's screen, drawn by ncurses; no other file knows ncurses. ncurses writes into memory, and the caller sends
 * the bytes on: whoever reads them slowly holds nobody up. The caller also owns the terminal's modes and its signals.
 */
#ifndef GPUMEMTRACE_SCREEN_CURSES_H
#define GPUMEMTRACE_SCREEN_CURSES_H

#include <stdbool.h>
#include <stddef.h>

struct curses;
struct out;

/* Of the base 8 colours of terminals; without colours only bold, dim and reverse are left. */
enum curses_style {
	STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_REVERSE,
	STYLE_RED, STYLE_YELLOW, STYLE_GREEN, STYLE_CYAN, STYLE_BLUE,
	STYLE_COUNT
};

struct curses_options {
	const char *term;        /* the name of the terminal's kind, $TERM; NULL: none */
	bool is_lent;            /* privileges are not the user's own: files that the user names are not read */
	bool color;
	int keys_fd;             /* a terminal, for keys; -1: none */
};

/* NULL: there is no such screen; the sentence says why. The locale's characters are used from here on (LC_CTYPE). */
struct curses *curses_open(const struct curses_options *options, char *why, size_t size);
void curses_close(struct curses *curses);

bool curses_has_utf8(const struct curses *curses);
unsigned int curses_width(const struct curses *curses);
unsigned int curses_height(const struct curses *curses);

/* The terminal has this size now: everything is drawn anew. */
void curses_resize(struct curses *curses, unsigned int width, unsigned int height);

/* Starts a picture with nothing on it. */
void curses_clear(struct curses *curses);
/* Writes text, which may hold any bytes, at most `room` columns of it. Returns how many columns were used. */
unsigned int curses_put(struct curses *curses, unsigned int y, unsigned int x, unsigned int room,
			enum curses_style style, const char *text);
/* The same; text that has no room ends with "…". */
unsigned int curses_put_marked(struct curses *curses, unsigned int y, unsigned int x, unsigned int room,
			       enum curses_style style, const char *text);
/* Writes what turns the terminal's picture into this one; the first time it enters the alternate screen. */
void curses_draw(struct curses *curses, struct out *out);
/* Writes what leaves the alternate screen, shows the cursor and undoes styles. */
void curses_leave(struct curses *curses, struct out *out);
/* The same bytes, for who must not call ncurses. */
const char *curses_leaving(const struct curses *curses, size_t *size);

/* The next key: a character, or one of these; 0: none is there. */
enum curses_key {
	KEYS_UP = 0x110000, KEYS_DOWN, KEYS_PAGE_UP, KEYS_PAGE_DOWN, KEYS_HOME, KEYS_END, KEYS_BACKSPACE, KEYS_OTHER,
};
int curses_key(struct curses *curses);

#endif

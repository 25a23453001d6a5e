// SPDX-License-Identifier: BSD-2-Clause
/*
 * ncurses writes to a descriptor and waits there for its reader, so the descriptor is a file in memory, which is
 * emptied after each picture. ncurses therefore finds no terminal: it changes no modes and asks for no size.
 */
#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1

#include "screen/curses.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wchar.h>

#include "base/count.h"
#include "base/human.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "screen/basic_terminfo.h"

/* Last: term.h calls capabilities by short names. */
#include <term.h>
#undef columns
#undef lines

#define ESCAPE_MS 25            /* how long the rest of a key's bytes may take */
#define SIZE_MOST 1000          /* columns, and lines: a larger terminal is used in part */

struct curses {
	SCREEN *screen;
	FILE *output, *keys;
	int memory_fd;
	bool has_utf8, has_keys;
	unsigned int width, height;
	int attributes[STYLE_COUNT];
	struct out leaving;
};

/* ---- characters ---- */

/* On a machine without the locale's files, a locale that is called UTF-8 is still UTF-8. */
static bool set_characters(void)
{
	const char *name = getenv("LC_ALL");

	if (!name || !*name)
		name = getenv("LC_CTYPE");
	if (!name || !*name)
		name = getenv("LANG");
	if (!setlocale(LC_CTYPE, "") && name && (strcasestr(name, "utf-8") || strcasestr(name, "utf8")))
		setlocale(LC_CTYPE, "C.UTF-8");
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

/* ---- what the terminal can do ---- */

/* Terminals that obey the basic description, by the beginning of $TERM. */
static bool is_basic(const char *term)
{
	static const char *const names[] = {
		"xterm", "tmux", "screen", "linux", "rxvt", "alacritty", "kitty", "foot", "konsole", "gnome", "vte",
		"st-", "ghostty", "wezterm", "putty", "contour", "iterm", "ansi", "vt220", "vt102", "vt100",
		"cygwin", "mintty",
	};

	for (size_t i = 0; i < COUNT(names); i++)
		if (!strncmp(term, names[i], strlen(names[i])))
			return true;
	return false;
}

static bool can_place_cursor(void)
{
	const char *place = tigetstr("cup"), *clear = tigetstr("clear");

	return place && place != (char *)-1 && clear && clear != (char *)-1;
}

/* ncurses takes the dispositions of signals that are the session's. */
static SCREEN *keep_signals(const char *term, FILE *output, FILE *keys)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGTSTP, SIGWINCH };
	struct sigaction actions[COUNT(numbers)];
	SCREEN *screen;

	for (size_t i = 0; i < COUNT(numbers); i++)
		sigaction(numbers[i], NULL, &actions[i]);
	screen = newterm(term, output, keys);
	for (size_t i = 0; i < COUNT(numbers); i++)
		sigaction(numbers[i], &actions[i], NULL);
	return screen;
}

static SCREEN *open_basic(FILE *output, FILE *keys)
{
	char *old = getenv("TERMINFO"), *kept = old ? xstrdup(old) : NULL;
	SCREEN *screen;

	setenv("TERMINFO", BASIC_TERMINFO, 1);
	screen = keep_signals(BASIC_TERMINFO_NAME, output, keys);
	if (kept)
		setenv("TERMINFO", kept, 1);
	else
		unsetenv("TERMINFO");
	free(kept);
	return screen;
}

/* ---- opening ---- */

static void move_bytes(struct curses *c, struct out *out)
{
	char bytes[4096];
	ssize_t n;
	off_t at = 0;

	while ((n = pread(c->memory_fd, bytes, sizeof(bytes), at)) > 0) {
		out_bytes(out, bytes, (size_t)n);
		at += n;
	}
	if (n < 0)
		xalloc_failed(); /* the file is memory */
	(void)!ftruncate(c->memory_fd, 0);
	lseek(c->memory_fd, 0, SEEK_SET);
}

static bool open_files(struct curses *c, int keys_fd)
{
	int fd = keys_fd >= 0 ? dup(keys_fd) : -1;

	c->memory_fd = memfd_create("gpumemtrace-screen", MFD_CLOEXEC);
	c->output = c->memory_fd >= 0 ? fdopen(c->memory_fd, "w") : NULL;
	c->keys = fd >= 0 ? fdopen(fd, "r") : fopen("/dev/null", "r");
	c->has_keys = fd >= 0;
	if (fd >= 0 && !c->keys)
		close(fd);
	return c->output && c->keys;
}

static void set_styles(struct curses *c, bool color)
{
	static const struct { int attribute, color; } styles[STYLE_COUNT] = {
		[STYLE_PLAIN] = { A_NORMAL, -1 }, [STYLE_BOLD] = { A_BOLD, -1 }, [STYLE_DIM] = { A_DIM, -1 },
		[STYLE_REVERSE] = { A_REVERSE, -1 }, [STYLE_RED] = { A_BOLD, COLOR_RED },
		[STYLE_YELLOW] = { A_NORMAL, COLOR_YELLOW }, [STYLE_GREEN] = { A_NORMAL, COLOR_GREEN },
		[STYLE_CYAN] = { A_NORMAL, COLOR_CYAN }, [STYLE_BLUE] = { A_NORMAL, COLOR_BLUE },
	};
	bool has_colors_here = color && has_colors() && start_color() == OK;

	if (has_colors_here)
		use_default_colors();
	for (int i = 0; i < STYLE_COUNT; i++) {
		c->attributes[i] = styles[i].attribute;
		if (styles[i].color < 0 || !has_colors_here)
			continue;
		init_pair((short)(i + 1), (short)styles[i].color, -1);
		c->attributes[i] |= COLOR_PAIR(i + 1);
	}
}

/* Terminals send these whatever their description says. */
static void define_keys(void)
{
	static const struct { const char *bytes; int key; } keys[] = {
		{ "\033[A", KEY_UP }, { "\033[B", KEY_DOWN }, { "\033OA", KEY_UP }, { "\033OB", KEY_DOWN },
		{ "\033[5~", KEY_PPAGE }, { "\033[6~", KEY_NPAGE }, { "\033[H", KEY_HOME }, { "\033[F", KEY_END },
		{ "\033OH", KEY_HOME }, { "\033OF", KEY_END }, { "\033[1~", KEY_HOME }, { "\033[4~", KEY_END },
	};

	for (size_t i = 0; i < COUNT(keys); i++)
		define_key(keys[i].bytes, keys[i].key);
}

static bool start_screen(struct curses *c, const struct curses_options *options)
{
	const char *term = options->term;
	struct out unused;

	use_env(false);
	if (!options->is_lent)
		c->screen = keep_signals(term, c->output, c->keys);
	if (!c->screen && is_basic(term))
		c->screen = open_basic(c->output, c->keys);
	if (!c->screen || !can_place_cursor())
		return false;
	set_escdelay(ESCAPE_MS);
	keypad(stdscr, true);
	nodelay(stdscr, true);
	define_keys();
	curs_set(0);
	set_styles(c, options->color);
	c->width = (unsigned int)COLS;
	c->height = (unsigned int)LINES;
	/* What the first picture and the end write, once. */
	wrefresh(stdscr);
	out_init_mem(&unused);
	move_bytes(c, &unused);
	out_close(&unused);
	endwin();
	move_bytes(c, &c->leaving);
	return true;
}

struct curses *curses_open(const struct curses_options *options, char *why, size_t size)
{
	bool is_dumb = !options->term || !*options->term || !strcmp(options->term, "dumb");
	struct curses *c;

	if (is_dumb) {
		snprintf(why, size, "$TERM says that the terminal has no screen (%.32s): the live view prints lines."
			 " Set TERM=xterm if the terminal is like xterm",
			 options->term && *options->term ? options->term : "unset");
		return NULL;
	}
	c = xcalloc(1, sizeof(*c));
	out_init_mem(&c->leaving);
	c->has_utf8 = set_characters();
	if (!open_files(c, options->keys_fd)) {
		snprintf(why, size, "the screen cannot be prepared (%s): the live view prints lines", strerror(errno));
	} else if (!start_screen(c, options)) {
		snprintf(why, size, "terminfo does not describe the terminal '%.32s': the live view prints lines. Set"
			 " TERM=xterm if the terminal is like xterm", options->term);
	} else {
		return c;
	}
	curses_close(c);
	return NULL;
}

void curses_close(struct curses *c)
{
	if (!c)
		return;
	if (c->screen)
		delscreen(c->screen);
	if (c->output)
		fclose(c->output);
	else if (c->memory_fd >= 0)
		close(c->memory_fd);
	if (c->keys)
		fclose(c->keys);
	out_close(&c->leaving);
	free(c);
}

/* ---- pictures ---- */

bool curses_has_utf8(const struct curses *c)
{
	return c->has_utf8;
}

unsigned int curses_width(const struct curses *c)
{
	return c->width;
}

unsigned int curses_height(const struct curses *c)
{
	return c->height;
}

void curses_resize(struct curses *c, unsigned int width, unsigned int height)
{
	c->width = width < SIZE_MOST ? width : SIZE_MOST;
	c->height = height < SIZE_MOST ? height : SIZE_MOST;
	resize_term((int)c->height, (int)c->width);
	clearok(curscr, true);
}

void curses_clear(struct curses *c)
{
	(void)c;
	werase(stdscr);
}

/* The columns of a character; a character that the terminal may not show is a '?'. */
static unsigned int measure_character(wchar_t *wide)
{
	int columns = wcwidth(*wide);

	if (columns >= 0)
		return (unsigned int)columns;
	*wide = L'?';
	return 1;
}

/* Takes the next character of the text. Returns its columns. */
static unsigned int take_character(const char **at, wchar_t *wide)
{
	size_t bytes = human_utf8(*at, strlen(*at));
	mbstate_t state = { 0 };

	if (mbrtowc(wide, *at, bytes, &state) > bytes)
		*wide = L'?';
	*at += bytes ? bytes : 1;
	return measure_character(wide);
}

static char *clean_text(const char *text)
{
	size_t size = strlen(text);
	char *clean = xmalloc(4 * size + 4);

	human_text(clean, (unsigned int)size, text, size);
	return clean;
}

static unsigned int limit_room(const struct curses *c, unsigned int x, unsigned int room)
{
	return x < c->width ? room < c->width - x ? room : c->width - x : 0;
}

unsigned int curses_put(struct curses *c, unsigned int y, unsigned int x, unsigned int room, enum curses_style style,
			const char *text)
{
	char *clean = clean_text(text);
	unsigned int used = 0;

	room = limit_room(c, x, room);
	wattrset(stdscr, c->attributes[style]);
	if (y < c->height)
		wmove(stdscr, (int)y, (int)x);
	for (const char *at = clean; *at && y < c->height;) {
		wchar_t wide[2] = { 0 };
		unsigned int columns = take_character(&at, wide);

		if (used + columns > room)
			break;
		waddnwstr(stdscr, wide, 1);
		used += columns;
	}
	wattrset(stdscr, A_NORMAL);
	free(clean);
	return used;
}

unsigned int curses_put_marked(struct curses *c, unsigned int y, unsigned int x, unsigned int room,
			       enum curses_style style, const char *text)
{
	const char *mark = c->has_utf8 ? "…" : "...";
	unsigned int columns = 0, mark_columns = c->has_utf8 ? 1 : 3, used;
	char *clean = clean_text(text);
	wchar_t wide;

	for (const char *at = clean; *at;)
		columns += take_character(&at, &wide);
	free(clean);
	room = limit_room(c, x, room);
	if (columns <= room)
		return curses_put(c, y, x, room, style, text);
	used = curses_put(c, y, x, room > mark_columns ? room - mark_columns : 0, style, text);
	return used + curses_put(c, y, x + used, room - used, style, mark);
}

void curses_draw(struct curses *c, struct out *out)
{
	wrefresh(stdscr);
	move_bytes(c, out);
}

void curses_leave(struct curses *c, struct out *out)
{
	endwin();
	move_bytes(c, out);
}

const char *curses_leaving(const struct curses *c, size_t *size)
{
	*size = c->leaving.size;
	return c->leaving.data;
}

/* ---- keys ---- */

int curses_key(struct curses *c)
{
	static const struct { int from, to; } keys[] = {
		{ KEY_UP, KEYS_UP }, { KEY_DOWN, KEYS_DOWN }, { KEY_PPAGE, KEYS_PAGE_UP },
		{ KEY_NPAGE, KEYS_PAGE_DOWN }, { KEY_HOME, KEYS_HOME }, { KEY_END, KEYS_END },
		{ KEY_BACKSPACE, KEYS_BACKSPACE }, { KEY_ENTER, '\n' },
	};
	wint_t wide;
	int kind;

	if (!c->has_keys)
		return 0;
	kind = wget_wch(stdscr, &wide);
	if (kind == ERR)
		return 0;
	for (size_t i = 0; kind == KEY_CODE_YES && i < COUNT(keys); i++)
		if ((int)wide == keys[i].from)
			return keys[i].to;
	if (kind == KEY_CODE_YES)
		return KEYS_OTHER;
	if (wide == '\r')
		return '\n';
	return wide == 0x7f || wide == '\b' ? KEYS_BACKSPACE : wide ? (int)wide : KEYS_OTHER;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* The screen's state, and the parts of a picture. Only for this folder. */
#ifndef GPUMEMTRACE_SCREEN_STATE_H
#define GPUMEMTRACE_SCREEN_STATE_H

#include "core/view/table.h"
#include "screen/curses.h"
#include "screen/spark.h"

struct finding;
struct out;
struct screen_scene;

#define FILTER_BYTES 64
#define NO_KEY 0

struct reader {
	const char *title;       /* NULL: no text is shown */
	char *text;
	size_t top;              /* the first line on the screen */
};

struct screen {
	struct curses *curses;
	bool has_keys;
	struct sparks sparks;
	/* what the person chose */
	enum table_kind table;
	bool has_chosen_table;   /* else it is the first table that says something */
	enum view_order order;
	bool has_gpu, has_proc;  /* else all */
	uint8_t gpu_uuid[GMT_UUID_BYTES];
	uint32_t tgid;
	uint64_t attach_ts_ns;
	bool is_paused;
	bool is_filtering;       /* the filter is being typed */
	char filter[FILTER_BYTES];
	uint64_t expanded;       /* key of the row that is shown in full; NO_KEY */
	struct reader reader;
	size_t finding;          /* that the reader shows, counted from 1; 0: another text, or none */
	bool wants_finding;      /* the next one */
	/* the place in the table, and what the last picture had */
	uint64_t selected;       /* key of the row; NO_KEY: the first one */
	size_t below;            /* lines below the row's own */
	uint64_t current;        /* key of the row that the last picture showed as chosen */
	long move;               /* lines that the keys asked for since then */
	size_t top;              /* the first line of the table that was shown */
	size_t page;             /* lines that a page has */
	bool wants_gpu, wants_proc; /* the next one */
	uint64_t drawn_ns;       /* the time of the last picture */
	uint64_t dismissed_ns;   /* the person wants no message up to this time */
};

/* A picture that is being drawn, from the top to `bottom`. */
struct picture {
	struct screen *screen;
	const struct screen_scene *scene;
	const struct view *view;
	struct curses *curses;
	unsigned int y, bottom, width;
	int gpu;                 /* as table_ask's */
	size_t proc;
	size_t running;          /* processes that have not ended */
};

/* Writes a line, if there is room. line_put() takes the text out of `line`. */
void line_text(struct picture *p, enum curses_style style, const char *text);
void line_put(struct picture *p, enum curses_style style, struct out *line);
/* A part of the lines, but not fewer than `least`. */
unsigned int lines_part(const struct picture *p, unsigned int part, unsigned int least);
/* Writes each line of a text, at most `most`, and then how many are left, and `hint`. The first is in `style`; so is
 * each one that begins with a word, for lines below it begin with a space. Takes the text. */
void lines_put(struct picture *p, enum curses_style style, char *text, unsigned int most,
	       const char *hint);

/* The parts, from the top: what is traced; a line for each GPU; what frameworks hold. */
void head_draw(struct picture *p);
void gpus_draw(struct picture *p);
void frameworks_draw(struct picture *p);
/* What stands out, at most a third of the lines. */
void findings_draw(struct picture *p);
bool finding_is_shown(const struct picture *p, const struct finding *finding);
/* Opens the finding behind the one that is read, else the first one; behind the last one the table comes back. */
void finding_open(struct picture *p);
/* How sure the finding is, and the name of its rule, which JSON has, too. */
void finding_ground_put(struct out *out, const char *label, const struct finding *finding, unsigned int columns);
/* The program's messages, from the bottom upwards; they take their lines from `bottom`. */
void messages_draw(struct picture *p);
/* The table, in all lines that are left. */
void table_draw(struct picture *p);

/* The names of rows, and all that there is to say of a row, a line each. Of a module's path that is longer than
 * `columns` the end stays, which says most; the screen cuts the end of other names. */
void row_name(struct out *out, const struct picture *p, const struct table_row *row, enum table_kind kind,
	      unsigned int columns);
void row_details(struct out *out, const struct picture *p, const struct table_row *row, enum table_kind kind);

#endif

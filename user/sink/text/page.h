/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An answer of a bounded number of lines. A sink writes the answer in parts; each part has a rank, and names what the
 * part is about. If all parts are too long, the parts of the greatest rank are left out first, of one rank the last
 * part. The last line counts what was left out:
 *
 *     MORE    12 processes, 3 lines of code, 2 findings: gpumemtrace report --full run.gmt
 */
#ifndef GPUMEMTRACE_SINK_TEXT_PAGE_H
#define GPUMEMTRACE_SINK_TEXT_PAGE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/out.h"

/* What a part is about, in the order in which the last line counts. A BLANK is not counted. */
enum page_thing { PAGE_BLANK, PAGE_PROCESSES, PAGE_GPUS, PAGE_FINDINGS, PAGE_LINES, PAGE_DETAILS, PAGE_THING_COUNT };

#define PAGE_PARTS_MAX 128

struct page_part {
	unsigned rank;
	enum page_thing thing;
	size_t count;            /* things */
	size_t lines;
	char *text;
};

#define PAGE_RANK_BLANK UINT_MAX

struct page {
	struct out *out;
	unsigned most;           /* lines; 0: any number, and each part is written when it has ended */
	unsigned indent;         /* columns of the word MORE */
	const char *command;     /* or option, that shows all; NULL: there is none */
	struct out writing;      /* the text of the last part */
	bool has_begun, wants_blank;
	struct page_part parts[PAGE_PARTS_MAX];
	size_t count, lines;
	size_t left[PAGE_THING_COUNT];
};

void page_init(struct page *page, struct out *out, unsigned most, unsigned indent, const char *command);
/* Begins a part, which is about so many things; the part before has ended. The text goes into the writer. */
struct out *page_part(struct page *page, unsigned rank, enum page_thing thing, size_t count);
/* A blank line between the part before and the next one, if there are both and if there is room for all parts. */
void page_blank(struct page *page);
/* Counts what no part is about. */
void page_leave_out(struct page *page, enum page_thing thing, size_t count);
/* Leaves out what has no room. Then left[] is final. */
void page_fit(struct page *page);
/* Whether anything was left out. */
bool page_has_more(const struct page *page);
/* Writes the answer and frees all parts; page_drop() writes nothing. */
void page_end(struct page *page);
void page_drop(struct page *page);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of the live table (term.c), and its part about owners and stacks (term_stacks.c). */
#ifndef GPUMEMTRACE_SINK_FORMATS_TERM_H
#define GPUMEMTRACE_SINK_FORMATS_TERM_H

#include "sink/sink.h"
#include "sink/text/text.h"

struct out;
struct view;

/* One line, cut at the width; takes the text out of `line`. */
void term_line(struct out *out, const struct sink_opts *opts, enum text_style style, struct out *line);
void term_plain(struct out *out, const struct sink_opts *opts, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Fills at most so many lines, or none where that is too few. */
void term_stacks(struct out *out, const struct view *view, const struct sink_opts *opts, unsigned lines);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Draws the part of the live table about owners and stack traces. */
#ifndef GPUMEMTRACE_SINK_FORMATS_TERM_STACKS_H
#define GPUMEMTRACE_SINK_FORMATS_TERM_STACKS_H

struct out;
struct sink_opts;
struct view;

/* Draws at most this many lines, and no line if the number is too small. */
void term_stacks(struct out *out, const struct view *view, const struct sink_opts *opts, unsigned lines);

#endif

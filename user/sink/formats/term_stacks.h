/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of the live table about owners and stack traces. */
#ifndef GPUMEMTRACE_SINK_FORMATS_TERM_STACKS_H
#define GPUMEMTRACE_SINK_FORMATS_TERM_STACKS_H

struct out;
struct sink_opts;
struct view;

/* Draws at most so many lines, and none if that is too few. */
void term_stacks(struct out *out, const struct view *view, const struct sink_opts *opts, unsigned lines);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Folded stack traces, which flame graph tools read (flamegraph.pl, speedscope, inferno): a line is
 * "root;caller;leaf BYTES". So that tools split a line right, a frame is not empty and holds no ';' and no control
 * character.
 */
#ifndef GPUMEMTRACE_SINK_EXPORT_FOLDED_H
#define GPUMEMTRACE_SINK_EXPORT_FOLDED_H

#include <stddef.h>
#include <stdint.h>

#include "base/out.h"
#include "core/view/view.h"

/* Lines for all stack traces of a view that has all of them (view_request.top): the process, "GPU 0" or "host memory",
 * then the frames, and the number that the order is about. Memory without a stack trace stands in brackets, so that the
 * sum is complete. Stack traces that shrank are left out. */
void folded_print(struct out *out, const struct view *view, enum view_order order);

/* Appends a frame to the line, the root first. */
void folded_frame(struct out *line, const char *name);
/* Writes the line to `out` and empties it for the next. A line without frames, or with 0 bytes, is dropped. `line` is
 * the caller's memory writer (out_init_mem()). */
void folded_end(struct out *out, struct out *line, uint64_t bytes);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Folded stacks, the text that flame graph tools read (flamegraph.pl, speedscope, inferno): a line is
 * "root;caller;leaf BYTES". Written so that any tool splits it as it was put together: a frame holds no
 * ';' and no control character, and is not empty.
 */
#ifndef GPUMEMTRACE_SINK_EXPORT_FOLDED_H
#define GPUMEMTRACE_SINK_EXPORT_FOLDED_H

#include <stddef.h>
#include <stdint.h>

#include "base/out.h"
#include "core/view/view.h"

/* All stacks of a view that has all, by one of their numbers: the process, "GPU 0" or "host memory", then the
 * frames. What has no stack stands in brackets, so that the sum is the whole; those that shrank are left out. */
void folded_print(struct out *out, const struct view *view, enum view_order order);

/* Builds a line, root first; nothing is written without folded_end(). */
void folded_frame(struct out *line, const char *name);
/* Ends the line and hands it to `out`; the line is empty then. A line without frames, or of 0 bytes, is
 * dropped. `line` is a memory writer (out_init_mem()) that the caller keeps for the next line. */
void folded_end(struct out *out, struct out *line, uint64_t bytes);

#endif

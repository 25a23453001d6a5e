/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks as people read them. Texts come from programs: they are clean of control characters and whole
 * UTF-8 when they leave here.
 */
#ifndef GPUMEMTRACE_SINK_TEXT_STACK_TEXT_H
#define GPUMEMTRACE_SINK_TEXT_STACK_TEXT_H

#include "core/view/view.h"

struct out;

/* A frame in a flame graph: "at::empty_cuda", "forward (train.py:212)", "libfoo.so+0x1f", "0x7f12". */
void stack_text_name(struct out *out, const struct view_symbol *symbol);

/* The line that says most: the innermost Python line that is no library's ("train.py:212 forward"); without
 * Python the frame that decided about the owner. For what is no stack, why not. */
void stack_text_head(struct out *out, const struct view *view, const struct view_stack *stack);

/* Its frames, innermost first, a line each, indented. Not all: of native ones those nearest to the
 * allocation that say something, of Python's the program's own; the number of the rest. */
void stack_text_frames(struct out *out, const struct view *view, const struct view_stack *stack, bool all,
		       int indent);

#endif

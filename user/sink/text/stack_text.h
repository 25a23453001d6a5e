/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints stack traces for people. Names come from traced programs: control characters and broken UTF-8 become '?'. */
#ifndef GPUMEMTRACE_SINK_TEXT_STACK_TEXT_H
#define GPUMEMTRACE_SINK_TEXT_STACK_TEXT_H

#include "core/view/view.h"

struct out;

/* A frame in a flame graph: "at::empty_cuda", "forward (train.py:212)", "libfoo.so+0x1f", "0x7f12". */
void stack_text_name(struct out *out, const struct view_symbol *symbol);

/* The line that says most: the innermost Python line of the program's own code ("train.py:212 forward"), or without one
 * the frame that decided about the owner. Without a stack trace, the reason. */
void stack_text_head(struct out *out, const struct view *view, const struct view_stack *stack);

/* "train.py:212", of a symbol whose file is known. */
void stack_text_short(struct out *out, const struct view_symbol *symbol);

/* A line of code: "train.py:212 forward", or without a known line "main (prog)". */
void stack_text_place(struct out *out, const struct view_symbol *symbol);

/* A line of the program's own code ("train.py:212 forward"), or why there is none. */
/* `before`, and "called from train.py:40 load"; nothing if the caller is not known. */
void stack_text_caller(struct out *out, const struct view *view, const struct view_line_row *line, const char *before);
void stack_text_line(struct out *out, const struct view *view, const struct view_line_row *line);

/* The frames, innermost first, one indented line each. Unless all: the native frames nearest to the allocation that
 * say something about the owner, the program's own Python frames, and the number of the other frames. */
void stack_text_frames(struct out *out, const struct view *view, const struct view_stack *stack, bool all,
		       int indent);

/* A path of torch.nn modules (VIEW_NO_MODULE: outside of all) in so many columns: "... > Block > Linear". */
void stack_text_module(struct out *out, const struct view *view, uint32_t module, unsigned columns);

#endif

// SPDX-License-Identifier: BSD-2-Clause
/* Prints lines of stack traces. */
#include "sink/text/stack_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "base/human.h"
#include "base/out.h"
#include "core/terms/module_paths.h"
#include "core/terms/own_code.h"

/* Frames of a stack trace that is not shown in full. Python frames say more than native frames, and the program's
 * own Python frames say more than the many frames of libraries. */
#define NATIVE_FRAMES 8
#define NATIVE_FRAMES_BEFORE_PYTHON 3
#define OWN_FRAMES 5
#define LIBRARY_FRAMES 5
#define LIBRARY_FRAMES_BESIDE_OWN 1
#define TEXT_COLUMNS 200

static void print_foreign(struct out *out, const char *text)
{
	human_print(out, TEXT_COLUMNS, text, strlen(text));
}

static void print_place(struct out *out, const struct view_symbol *s)
{
	print_foreign(out, own_code_short_name(s->file));
	if (s->line)
		out_printf(out, ":%" PRIu32, s->line);
}

static void print_function(struct out *out, const struct view_symbol *s)
{
	if (s->function[0]) {
		print_foreign(out, s->function);
		return;
	}
	print_foreign(out, basename(s->module));
	out_printf(out, "%s0x%" PRIx64, s->module[0] ? "+" : "", s->offset);
}

void stack_text_name(struct out *out, const struct view_symbol *s)
{
	print_function(out, s);
	if (!s->is_python || !s->file[0])
		return;
	out_text(out, " (");
	print_place(out, s);
	out_char(out, ')');
}

/* Why an address stands in place of a name. */
static void print_why_no_name(struct out *out, const struct view_symbol *s)
{
	if (!s->module[0]) {
		out_text(out, " (in no known file)");
	} else if (s->module[0] == '[') {
		out_text(out, " (code without a file)");
	} else {
		out_text(out, " (");
		print_foreign(out, basename(s->module));
		out_text(out, " has no symbol there)");
	}
}

/* "at::empty_cuda (libtorch_cuda.so)", "work (work.c:12, prog)". */
static void print_frame(struct out *out, const struct view_symbol *s)
{
	bool has_module = s->module[0] && s->function[0];

	print_function(out, s);
	if (!s->function[0] && !s->file[0])
		print_why_no_name(out, s);
	if (s->file[0] || has_module)
		out_text(out, " (");
	if (s->file[0])
		print_place(out, s);
	if (has_module) {
		out_text(out, s->file[0] ? ", " : "");
		print_foreign(out, basename(s->module));
	}
	if (s->file[0] || has_module)
		out_char(out, ')');
	if (s->is_guessed)
		out_text(out, " [guessed]");
}

/* ---- the line that says most ---- */

static bool is_library_frame(const struct view_symbol *s)
{
	return own_code_of(s->file) != OWN_CODE_PROGRAM;
}

static const struct view_symbol *symbol_at(const struct view *view, const struct view_stack *stack, uint32_t frame)
{
	return &view->symbols[stack->frames[frame]];
}

static const struct view_symbol *best_python(const struct view *view, const struct view_stack *stack)
{
	const struct view_symbol *innermost = NULL, *own = NULL;

	if (stack->own < stack->frame_count)
		own = symbol_at(view, stack, stack->own);
	if (own && own->is_python)
		return own;
	for (uint32_t i = 0; i < stack->frame_count; i++) {
		const struct view_symbol *s = symbol_at(view, stack, i);

		if (!s->is_python || !s->file[0])
			continue;
		if (!is_library_frame(s))
			return s;
		innermost = innermost ? innermost : s;
	}
	return innermost;
}

/* The frame in the first line. VIEW_NO_FRAME: a Python frame, which is shown again among the frames. */
static uint32_t head_frame(const struct view *view, const struct view_stack *stack)
{
	if (best_python(view, stack) || !stack->frame_count)
		return VIEW_NO_FRAME;
	return stack->decisive < stack->frame_count ? stack->decisive : 0;
}

void stack_text_head(struct out *out, const struct view *view, const struct view_stack *stack)
{
	const struct view_symbol *s = best_python(view, stack);
	uint32_t head = head_frame(view, stack);

	if (stack->state == VIEW_STACK_NONE) {
		out_text(out, "no stack trace was taken");
	} else if (stack->state == VIEW_STACK_NOT_NAMED) {
		out_text(out, "frame names not known (yet)");
	} else if (s) {
		print_place(out, s);
		out_char(out, ' ');
		print_foreign(out, s->function);
	} else if (head != VIEW_NO_FRAME) {
		print_frame(out, symbol_at(view, stack, head));
	} else {
		out_text(out, "a stack trace without frames");
	}
}

void stack_text_short(struct out *out, const struct view_symbol *s)
{
	print_place(out, s);
}

void stack_text_place(struct out *out, const struct view_symbol *s)
{
	if (s->file[0]) {
		print_place(out, s);
		out_char(out, ' ');
		print_function(out, s);
	} else {
		print_frame(out, s);
	}
}

/* The line for which the greatest part was reserved says when the reserve grew, not who holds the part now. */
static void print_reserve(struct out *out, const struct view *view, const struct view_line_row *line)
{
	const struct view_symbol *s = best_python(view, &view->stacks[line->stack]);

	out_text(out, "PyTorch's reserve");
	if (!s)
		return;
	out_text(out, line->stacks > 1 ? ", most of it obtained at " : ", obtained at ");
	stack_text_place(out, s);
}

void stack_text_line(struct out *out, const struct view *view, const struct view_line_row *line)
{
	static const char *const texts[VIEW_LINE_STATE_COUNT] = {
		[VIEW_LINE_NO_STACK] = "(no stack trace was taken)",
		[VIEW_LINE_NOT_NAMED] = "(frame names not known yet)",
		[VIEW_LINE_NOT_OWN] = "(only code of libraries)",
		[VIEW_LINE_CUT] = "(stack traces that ended before the program's code)",
		[VIEW_LINE_GONE] = "(code that was gone before its names were read)",
	};

	if (line->state == VIEW_LINE_OWN)
		stack_text_place(out, &view->symbols[line->symbol]);
	else if (line->state == VIEW_LINE_RESERVE)
		print_reserve(out, view, line);
	else if (line->state == VIEW_LINE_DRIVER)
		print_foreign(out, view->owners[view->stacks[line->stack].owner].text);
	else if (line->has_ended && (line->state == VIEW_LINE_GONE || line->state == VIEW_LINE_NOT_NAMED))
		out_text(out, "(the process ended before its names were read)");
	else
		out_text(out, texts[line->state]);
}

void stack_text_caller(struct out *out, const struct view *view, const struct view_line_row *line, const char *before)
{
	if (!line->caller)
		return;
	out_printf(out, "%scalled %sfrom ", before, line->has_callers ? "above all " : "");
	stack_text_place(out, &view->symbols[line->caller - 1]);
}

/* The innermost module says most: a path that is too long loses its beginning. */
void stack_text_module(struct out *out, const struct view *view, uint32_t module, unsigned columns)
{
	static const char between[] = MODULE_PATHS_BETWEEN, left_out[] = MODULE_PATHS_LEFT_OUT;
	const char *path = module == VIEW_NO_MODULE ? "(outside of all modules)" : view->modules[module];
	const char *from = path, *next;

	while (strlen(from) + (from == path ? 0 : strlen(left_out)) > columns && (next = strstr(from, between)))
		from = next + strlen(between);
	if (from != path && strncmp(from, left_out, strlen(left_out)))
		out_text(out, left_out);
	human_print(out, columns, from, strlen(from));
}

/* ---- the frames ---- */

/* Sets shown[i] for each frame i that is shown. Returns their number. */
static uint32_t choose_frames(const struct view *view, const struct view_stack *stack, bool all, bool *shown)
{
	uint32_t native = NATIVE_FRAMES, own = OWN_FRAMES, library = LIBRARY_FRAMES, count = 0;
	uint32_t last = UINT32_MAX;   /* the last symbol: recursion is shown once */

	for (uint32_t i = 0; i < stack->frame_count; i++) {
		const struct view_symbol *s = symbol_at(view, stack, i);

		if (s->is_python)
			native = NATIVE_FRAMES_BEFORE_PYTHON;
		if (s->is_python && !is_library_frame(s))
			library = LIBRARY_FRAMES_BESIDE_OWN;
	}
	for (uint32_t i = 0; i < stack->frame_count; i++) {
		const struct view_symbol *s = symbol_at(view, stack, i);
		uint32_t *left = !s->is_python ? &native : is_library_frame(s) ? &library : &own;

		shown[i] = all || (*left && !s->is_skipped && stack->frames[i] != last);
		if (!shown[i])
			continue;
		*left -= *left > 0;
		last = stack->frames[i];
		count++;
	}
	return count;
}

void stack_text_frames(struct out *out, const struct view *view, const struct view_stack *stack, bool all,
		       int indent)
{
	bool *shown = xcalloc(stack->frame_count, sizeof(*shown));
	uint32_t count = choose_frames(view, stack, all, shown), head = head_frame(view, stack);
	bool is_first = true;

	for (uint32_t i = 0; i < stack->frame_count; i++) {
		if (!shown[i])
			continue;
		/* Right below the first line, the frame of that line says nothing new. */
		if (all || i != head || !is_first) {
			out_pad(out, indent);
			print_frame(out, symbol_at(view, stack, i));
			out_char(out, '\n');
		}
		is_first = false;
	}
	if (count < stack->frame_count) {
		out_pad(out, indent);
		out_printf(out, "... %" PRIu32 " more %s\n", stack->frame_count - count,
			   human_plural(stack->frame_count - count, "frame", "frames"));
	}
	free(shown);
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes owners and stack traces in JSON. The view has one list of stack traces and one of symbols: processes refer to
 * both by index, so that a live line stays small.
 */
#include "sink/json/json_stacks.h"

json_t *json_moment(const struct view *view, uint64_t ts_ns)
{
	uint64_t offset = ts_ns - view->start_ns;

	return JS_OBJECT({ "monotonic_ns", js_u64(ts_ns) }, { "offset_ns", json_integer((json_int_t)offset) },
			 { "unix_ns", js_u64_if(view->wall_start_ns, view->wall_start_ns + offset) });
}

json_t *json_moment_if(const struct view *view, bool happened, uint64_t ts_ns)
{
	return happened ? json_moment(view, ts_ns) : json_null();
}

json_t *json_stacks_each(const struct view_stacks *s, const struct view_held *held)
{
	return s->iterations ? json_integer(view_each(s, held)) : json_null();
}

static json_t *held_to_json(const struct view *view, const struct view_stacks *s, const struct view_held *h)
{
	return JS_OBJECT({ "live_bytes", js_u64(h->live) }, { "at_peak_bytes", js_u64(h->at_peak) },
			 { "grown_bytes", json_integer(h->grown) },
			 { "each_iteration_bytes", json_stacks_each(s, h) }, { "live_count", js_u64(h->live_count) },
			 { "allocs", js_u64(h->allocs) }, { "frees", js_u64(h->frees) },
			 { "alloc_bytes", js_u64(h->alloc_bytes) },
			 { "oldest_at", json_moment_if(view, h->oldest_ts_ns, h->oldest_ts_ns) },
			 { "old_bytes", js_u64(h->old_bytes) }, { "old_count", js_u64(h->old_count) });
}

static json_t *owners_to_json(const struct view *view, const struct view_stacks *s)
{
	json_t *list = js_array();

	for (size_t i = 0; i < s->owner_count; i++) {
		const struct view_owner_text *owner = &view->owners[s->owners[i].owner];

		js_append(list, JS_ADD(held_to_json(view, s, &s->owners[i].held),
				       { "owner", js_word(owner->name) },
				       { "allocator", js_word_if(owner->allocator, owner->allocator) }));
	}
	return list;
}

static json_t *top_to_json(const struct view *view, const struct view_stacks *s, const struct view_top *t)
{
	json_t *list = js_array();

	for (size_t i = 0; i < t->count; i++) {
		const struct view_stack_row *r = &t->rows[i];

		js_append(list, JS_ADD(held_to_json(view, s, &r->held), { "stack", js_u64(r->stack) },
				       { "category", js_word_if(r->purpose, gmt_category_name(r->purpose - 1u)) }));
	}
	return list;
}

static json_t *categories_of_line(const struct view_line_row *row)
{
	json_t *list = js_array();

	for (int c = 0; c < GMT_CATEGORY_COUNT; c++)
		if (row->by_category[c])
			js_append(list, JS_OBJECT({ "category", js_word(gmt_category_name(c)) },
						  { "live_bytes", js_u64(row->by_category[c]) }));
	return list;
}

static json_t *lines_to_json(const struct view *view, const struct view_stacks *s, const struct view_lines *lines)
{
	static const char *const states[] = {
		[VIEW_LINE_NO_STACK] = "none", [VIEW_LINE_NOT_NAMED] = "not_named",
		[VIEW_LINE_NOT_OWN] = "not_own", [VIEW_LINE_OWN] = "own", [VIEW_LINE_CUT] = "cut",
		[VIEW_LINE_GONE] = "gone", [VIEW_LINE_RESERVE] = "reserve", [VIEW_LINE_DRIVER] = "driver",
	};
	json_t *list = js_array();

	for (size_t i = 0; i < lines->count; i++) {
		const struct view_line_row *r = &lines->rows[i];

		js_append(list, JS_ADD(held_to_json(view, s, &r->held), { "state", js_word(states[r->state]) },
				       { "symbol", js_u64_if(r->state == VIEW_LINE_OWN, r->symbol) },
				       { "stack", js_u64(r->stack) }, { "stack_count", js_u64(r->stacks) },
				       { "caller", js_u64_if(r->caller, r->caller - 1) },
				       { "other_callers", json_boolean(r->has_callers) },
				       { "steady", json_boolean(view_is_steady(&r->held)) },
				       { "categories", categories_of_line(r) },
				       { "category", js_word_if(r->purpose, gmt_category_name(r->purpose - 1u)) }));
	}
	return list;
}

static json_t *modules_to_json(const struct view *view, const struct view_stacks *s,
			       const struct view_modules *modules)
{
	json_t *list = js_array();

	for (size_t i = 0; i < modules->count; i++) {
		const struct view_module_row *r = &modules->rows[i];
		bool is_in_module = r->module != VIEW_NO_MODULE;

		js_append(list, JS_ADD(held_to_json(view, s, &r->held),
				       { "module", js_word_if(is_in_module,
							      is_in_module ? view->modules[r->module] : "") }));
	}
	return list;
}

json_t *json_stacks_of(const struct view *view, const struct view_stacks *s, bool is_physical)
{
	json_t *orders = js_object(), *lines = js_object(), *modules = js_object();

	for (int order = 0; order < VIEW_ORDER_COUNT; order++) {
		js_set(orders, view_order_name((enum view_order)order), top_to_json(view, s, &s->top[order]));
		js_set(lines, view_order_name((enum view_order)order), lines_to_json(view, s, &s->lines[order]));
		js_set(modules, view_order_name((enum view_order)order), modules_to_json(view, s, &s->modules[order]));
	}
	return JS_OBJECT({ "live_bytes", js_u64(s->live) }, { "peak_bytes", js_u64(s->peak) },
			 { "peak_at", json_moment_if(view, s->peak, s->peak_ts_ns) },
			 { "growth_since", json_moment(view, s->since_ns) },
			 { "iterations", js_u64(s->iterations) },
			 { "unexplained_bytes", is_physical ? json_integer(s->unexplained) : json_null() },
			 { "stack_count", js_u64(s->stack_count) }, { "owners", owners_to_json(view, s) },
			 { "lines", lines }, { "modules", modules }, { "top", orders });
}

json_t *json_stacks_unwinding(const struct view_unwinding *u)
{
	json_t *native = js_object(), *python = js_object();

	for (int i = 0; i < GMT_UNWIND_REASON_COUNT; i++)
		js_set(native, gmt_unwind_reason_name(i), js_u64(u->reasons[i]));
	for (int i = 0; i < GMT_PY_REASON_COUNT; i++)
		js_set(python, gmt_py_reason_name(i), js_u64(u->py_reasons[i]));
	return JS_OBJECT({ "stacks", js_u64(u->stacks) }, { "complete", js_u64(view_complete(u)) },
			 { "native", native }, { "python", python });
}

json_t *json_stacks_list(const struct view *view)
{
	static const char *const states[] = {
		[VIEW_STACK_NONE] = "none", [VIEW_STACK_NOT_NAMED] = "not_named", [VIEW_STACK_NAMED] = "named",
	};
	json_t *list = js_array();

	for (size_t i = 0; i < view->stack_count; i++) {
		const struct view_stack *s = &view->stacks[i];
		const struct view_owner_text *owner = &view->owners[s->owner];
		json_t *frames = js_array();

		for (uint32_t f = 0; f < s->frame_count; f++)
			js_append(frames, json_integer(s->frames[f]));
		js_append(list, JS_OBJECT({ "state", js_word(states[s->state]) },
					  { "owner", js_word(owner->name) },
					  { "allocator", js_word_if(owner->allocator, owner->allocator) },
					  { "decisive_frame", js_u64_if(s->decisive < s->frame_count, s->decisive) },
					  { "own_frame", js_u64_if(s->own < s->frame_count, s->own) },
					  { "frames", frames }));
	}
	return list;
}

json_t *json_stacks_symbols(const struct view *view)
{
	json_t *list = js_array();

	for (size_t i = 0; i < view->symbol_count; i++) {
		const struct view_symbol *s = &view->symbols[i];

		js_append(list, JS_OBJECT({ "language", js_word(s->is_python ? "python" : "native") },
					  { "function", js_word(s->function) }, { "module", js_word(s->module) },
					  { "file", js_word(s->file) }, { "line", js_u64_if(s->line, s->line) },
					  { "offset", js_u64(s->offset) }, { "inlined", json_boolean(s->is_inlined) },
					  { "guessed", json_boolean(s->is_guessed) },
					  { "skipped", json_boolean(s->is_skipped) }));
	}
	return list;
}

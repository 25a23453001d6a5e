// SPDX-License-Identifier: BSD-2-Clause
/*
 * Owners and stacks as JSON. A stack is written once, in the list of the view, and a symbol once in that of
 * the symbols: what belongs to a process names them by their places, so a live line stays small.
 */
#include "sink/json/json_stacks.h"

static json_t *held_to_json(const struct view *view, const struct view_held *h)
{
	json_t *o = js_object();

	js_set_u64(o, "live_bytes", h->live);
	js_set_u64(o, "at_peak_bytes", h->at_peak);
	js_set_i64(o, "grown_bytes", h->grown);
	js_set_u64(o, "live_count", h->live_count);
	js_set_u64(o, "allocs", h->allocs);
	js_set_u64(o, "frees", h->frees);
	js_set_u64(o, "alloc_bytes", h->alloc_bytes);
	js_set(o, "oldest_at", sink_json_moment_if(view, h->oldest_ts_ns, h->oldest_ts_ns));
	js_set_u64(o, "old_bytes", h->old_bytes);
	js_set_u64(o, "old_count", h->old_count);
	return o;
}

static void set_text(json_t *o, const char *key, const char *text)
{
	js_set_text(o, key, text, SIZE_MAX);
}

static json_t *owners_to_json(const struct view *view, const struct view_stacks *s)
{
	json_t *list = js_array();

	for (size_t i = 0; i < s->owner_count; i++) {
		json_t *o = held_to_json(view, &s->owners[i].held);

		set_text(o, "owner", view->owners[s->owners[i].owner]);
		js_append(list, o);
	}
	return list;
}

static const char *purpose_name(const struct view_stack_row *row)
{
	return gmt_category_name(row->purpose - 1);
}

static json_t *top_to_json(const struct view *view, const struct view_top *t)
{
	json_t *list = js_array();

	for (size_t i = 0; i < t->count; i++) {
		json_t *o = held_to_json(view, &t->rows[i].held);

		js_set_u64(o, "stack", t->rows[i].stack);
		js_set(o, "category", t->rows[i].purpose ? js_text(purpose_name(&t->rows[i]), SIZE_MAX) : json_null());
		js_append(list, o);
	}
	return list;
}

json_t *json_stacks_of(const struct view *view, const struct view_stacks *s, bool is_physical)
{
	json_t *o = js_object(), *orders = js_object();

	js_set_u64(o, "live_bytes", s->live);
	js_set_u64(o, "peak_bytes", s->peak);
	js_set(o, "peak_at", sink_json_moment_if(view, s->peak, s->peak_ts_ns));
	js_set(o, "growth_since", sink_json_moment(view, s->since_ns));
	js_set(o, "unexplained_bytes", is_physical ? json_integer(s->unexplained) : json_null());
	js_set_u64(o, "stack_count", s->stack_count);
	js_set(o, "owners", owners_to_json(view, s));
	for (int order = 0; order < VIEW_ORDER_COUNT; order++)
		js_set(orders, view_order_name((enum view_order)order), top_to_json(view, &s->top[order]));
	js_set(o, "top", orders);
	return o;
}

json_t *json_stacks_unwinding(const struct view_unwinding *u)
{
	json_t *o = js_object(), *reasons = js_object(), *python = js_object();

	js_set_u64(o, "stacks", u->stacks);
	js_set_u64(o, "complete", view_complete(u));
	for (int i = 0; i < GMT_UNWIND_REASON_COUNT; i++)
		js_set_u64(reasons, gmt_unwind_reason_name(i), u->reasons[i]);
	for (int i = 0; i < GMT_PY_REASON_COUNT; i++)
		js_set_u64(python, gmt_py_reason_name(i), u->py_reasons[i]);
	js_set(o, "native", reasons);
	js_set(o, "python", python);
	return o;
}

json_t *json_stacks_list(const struct view *view)
{
	static const char *const states[] = {
		[VIEW_STACK_NONE] = "none", [VIEW_STACK_NOT_NAMED] = "not_named", [VIEW_STACK_NAMED] = "named",
	};
	json_t *list = js_array();

	for (size_t i = 0; i < view->stack_count; i++) {
		const struct view_stack *s = &view->stacks[i];
		json_t *o = js_object(), *frames = js_array();

		for (uint32_t f = 0; f < s->frame_count; f++)
			js_append(frames, json_integer(s->frames[f]));
		set_text(o, "state", states[s->state]);
		set_text(o, "owner", view->owners[s->owner]);
		js_set(o, "decisive_frame", s->decisive < s->frame_count ? json_integer(s->decisive) : json_null());
		js_set(o, "frames", frames);
		js_append(list, o);
	}
	return list;
}

json_t *json_stacks_symbols(const struct view *view)
{
	json_t *list = js_array();

	for (size_t i = 0; i < view->symbol_count; i++) {
		const struct view_symbol *s = &view->symbols[i];
		json_t *o = js_object();

		set_text(o, "language", s->is_python ? "python" : "native");
		set_text(o, "function", s->function);
		set_text(o, "module", s->module);
		set_text(o, "file", s->file);
		js_set(o, "line", s->line ? json_integer(s->line) : json_null());
		js_set_u64(o, "offset", s->offset);
		js_set_bool(o, "inlined", s->is_inlined);
		js_set_bool(o, "guessed", s->is_guessed);
		js_set_bool(o, "skipped", s->is_skipped);
		js_append(list, o);
	}
	return list;
}

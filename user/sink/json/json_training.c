// SPDX-License-Identifier: BSD-2-Clause
#include "sink/json/json_training.h"

#include "base/js.h"
#include "core/view/view.h"

static json_t *categories_to_json(const struct view_training *t)
{
	json_t *list = js_array();

	for (int i = 0; i < GMT_CATEGORY_COUNT; i++) {
		const struct view_category *c = &t->categories[i];
		json_t *o;

		if (!c->live && !c->at_peak)
			continue;
		o = js_object();
		js_set_text(o, "category", gmt_category_name(i), SIZE_MAX);
		js_set_u64(o, "live_bytes", c->live);
		js_set_u64(o, "live_count", c->count);
		js_set_u64(o, "at_peak_bytes", c->at_peak);
		js_append(list, o);
	}
	return list;
}

static void set_cell(json_t *o, const struct phase_cell *cell)
{
	js_set_u64(o, "times", cell->times);
	js_set_u64(o, "begin_bytes", cell->begin);
	js_set_u64(o, "end_bytes", cell->end);
	js_set_u64(o, "peak_bytes", cell->peak);
	js_set_u64(o, "alloc_bytes", cell->alloc_bytes);
}

static json_t *iterations_to_json(const struct view_training *t)
{
	json_t *list = js_array();

	for (size_t i = 0; t->is_training && i < t->iteration_count; i++) {
		const struct phase_iteration *it = &t->iterations[i];
		json_t *o = js_object(), *phases = js_object();

		for (int k = 0; k < GMT_TRAINING_COUNT; k++) {
			json_t *cell;

			if (!it->cells[k].times)
				continue;
			cell = js_object();
			set_cell(cell, &it->cells[k]);
			js_set(phases, gmt_training_name(k), cell);
		}
		js_set_u64(o, "iteration", it->number);
		js_set_bool(o, "complete", it->is_over && (it->number > 1 || t->first_is_whole));
		js_set(o, "phases", phases);
		js_append(list, o);
	}
	return list;
}

static json_t *ranges_to_json(const struct view_training *t)
{
	json_t *list = js_array();

	for (size_t i = 0; i < t->range_count; i++) {
		json_t *o = js_object();

		js_set_text(o, "name", t->ranges[i].name, sizeof(t->ranges[i].name));
		set_cell(o, &t->ranges[i].cell);
		js_append(list, o);
	}
	return list;
}

static json_t *now_to_json(const struct view_training *t)
{
	json_t *o;

	if (!t->is_training)
		return json_null();
	o = js_object();
	js_set_u64(o, "iteration", t->iteration);
	js_set_text(o, "phase", gmt_training_name(t->phase), SIZE_MAX);
	js_set_u64(o, "growth_bytes", t->growth);
	js_set_u64(o, "growth_iterations", t->growth_count);
	return o;
}

void json_training_set(json_t *o, const struct view_training *t)
{
	js_set_u64(o, "before_attach_bytes", t->before);
	js_set(o, "categories", categories_to_json(t));
	js_set(o, "training", now_to_json(t));
	js_set(o, "iterations", iterations_to_json(t));
	js_set(o, "ranges", ranges_to_json(t));
}

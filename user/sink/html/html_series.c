// SPDX-License-Identifier: BSD-2-Clause
#include "sink/html/html_series.h"

#include <stdlib.h>

#include "base/out.h"
#include "base/xalloc.h"
#include "core/view/view.h"
#include "sink/html/html_text.h"
#include "sink/html/packed.h"

/* For each frame: time since the frame before, why, number, the sum, its least and most, the count of points; for each
 * point: its key less the key before, bytes, least and most. */
static json_t *pack_frames(const struct view_series *s, uint64_t start_ns)
{
	uint64_t *live = xcalloc(s->key_count + 1u, sizeof(*live)), sum = 0, ts = start_ns;
	struct out text;
	struct packed p = { .out = &text };

	out_init_mem(&text);
	for (uint32_t i = 0; i < s->frame_count; i++) {
		const struct series_frame *f = &s->frames[i];
		uint32_t key = 0;

		packed_change(&p, ts, f->ts_ns);
		packed_number(&p, f->why);
		packed_number(&p, f->number);
		packed_change(&p, sum, f->live);
		packed_number(&p, f->live - f->least);
		packed_number(&p, f->most - f->live);
		packed_number(&p, f->count);
		ts = f->ts_ns;
		sum = f->live;
		for (uint32_t n = 0; n < f->count; n++) {
			const struct series_point *point = &s->points[f->first + n];

			packed_number(&p, point->key - key);
			packed_change(&p, live[point->key], point->live);
			packed_number(&p, point->live - point->least);
			packed_number(&p, point->most - point->live);
			key = point->key;
			live[key] = point->live;
		}
	}
	packed_end(&p);
	free(live);
	return html_text_of(&text);
}

static bool has_part(const struct series_parts *parts, unsigned int part)
{
	return parts->change[part] || parts->gone[part];
}

/* For each frame the count of the parts that change, and for each of these its number less the one before, the change,
 * and what went. */
static json_t *pack_parts(const struct view_series *s)
{
	struct out text;
	struct packed p = { .out = &text };

	out_init_mem(&text);
	for (uint32_t i = 0; i < s->frame_count; i++) {
		const struct series_parts *parts = &s->parts[i];
		unsigned int count = 0, before = 0;

		for (unsigned int part = 0; part < SERIES_PARTS; part++)
			count += has_part(parts, part);
		packed_number(&p, count);
		for (unsigned int part = 0; part < SERIES_PARTS; part++)
			if (has_part(parts, part)) {
				packed_number(&p, part - before);
				packed_change(&p, 0, (uint64_t)parts->change[part]);
				packed_number(&p, parts->gone[part]);
				before = part;
			}
	}
	packed_end(&p);
	return html_text_of(&text);
}

json_t *html_series(const struct view *view, const struct view_series *s)
{
	json_t *keys = js_array(), *left_out = js_array();

	for (uint32_t i = 0; i < s->key_count; i++) {
		json_t *key = js_array();

		js_append(key, js_u64(s->keys[i].stack));
		js_append(key, js_u64(s->keys[i].what));
		js_append(key, js_u64(s->keys[i].at_peak));
		js_append(key, js_u64(s->keys[i].is_segment));
		js_append(key, js_u64(s->keys[i].asked));
		js_append(key, json_integer((json_int_t)s->keys[i].purpose - 1));
		js_append(keys, key);
	}
	for (int why = 0; why < SERIES_WHY_COUNT; why++)
		js_append(left_out, js_u64(s->left_out[why]));
	return JS_OBJECT({ "keys", keys }, { "frame_count", js_u64(s->frame_count) },
			 { "frames", pack_frames(s, view->start_ns) },
			 { "parts", s->parts ? pack_parts(s) : json_null() }, { "peak", js_u64(s->peak) },
			 { "peak_ns", js_u64(view_since_start(view, s->peak_ts_ns)) },
			 { "slot_ns", js_u64(s->slot_ns) }, { "left_out", left_out },
			 { "keys_merged", js_u64(s->keys_merged) });
}

/* For each span the time since the beginning of the span before, its length, and the time in each phase. */
json_t *html_phases(const struct view *view, const struct view_phases *phases)
{
	uint64_t ts = view->start_ns;
	struct out text;
	struct packed p = { .out = &text };

	if (!phases->count)
		return json_null();
	out_init_mem(&text);
	for (uint32_t i = 0; i < phases->count; i++) {
		const struct phase_span *span = &phases->list[i];

		packed_change(&p, ts, span->from_ns);
		packed_number(&p, span->until_ns - span->from_ns);
		for (unsigned int phase = 0; phase < GMT_TRAINING_COUNT; phase++)
			packed_number(&p, span->in_ns[phase]);
		ts = span->from_ns;
	}
	packed_end(&p);
	return JS_OBJECT({ "count", js_u64(phases->count) }, { "spans", html_text_of(&text) },
			 { "merged", js_u64(phases->merged) });
}

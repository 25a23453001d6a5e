// SPDX-License-Identifier: BSD-2-Clause
#include "sink/html/html_events.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/out.h"
#include "base/xalloc.h"
#include "core/view/view.h"
#include "sink/html/html_text.h"
#include "sink/html/packed.h"

/* In a life's flags, above enum life_end. */
#define IS_BLOCK 8u
#define IS_SEGMENT 16u
#define CONTINUES 32u
#define WAS_ASKED 64u                /* the stack that waited is another one */
_Static_assert(LIFE_LOST < IS_BLOCK, "the end of a life has its own bits");

/* The number of a row of a process among the rows of all processes. To be freed. */
static uint32_t *first_rows(const struct view *view)
{
	uint32_t *first = xcalloc(view->proc_count + 1, sizeof(*first));

	for (size_t i = 0; i < view->proc_count; i++)
		first[i + 1] = first[i] + (uint32_t)view->procs[i].row_count;
	return first;
}

/* Each number that is near the one of the life before is written as the change. */
static void pack_life(struct packed *p, const struct view_life *life, const struct view_life *before,
		      const uint32_t *rows)
{
	packed_change(p, before->birth_ns, life->birth_ns);
	packed_number(p, life->end | (life->is_block ? IS_BLOCK : 0) | (life->is_segment ? IS_SEGMENT : 0) |
			 (life->continues ? CONTINUES : 0) | (life->asked != life->stack ? WAS_ASKED : 0));
	if (life->end != LIFE_NONE)
		packed_change(p, life->birth_ns, life->death_ns);
	packed_number(p, life->what);
	packed_number(p, life->bytes);
	packed_number(p, life->stack);
	if (life->asked != life->stack)
		packed_number(p, life->asked);
	packed_number(p, rows[life->proc] + life->row);
	if (life->is_block)
		packed_number(p, life->iteration);
}

/* Straight into the page: all lives may be more than memory should hold twice. */
static void put_lives(struct out *out, const struct view *view, const uint32_t *rows)
{
	struct view_life before = { .birth_ns = view->start_ns };
	struct packed p = { .out = out };

	for (size_t i = 0; i < view->lives->count; i++) {
		pack_life(&p, &view->lives->list[i], &before, rows);
		before = view->lives->list[i];
	}
	packed_end(&p);
}

/* [time, enum life_why, whether of blocks, row] */
static json_t *life_moments(const struct view *view, const uint32_t *rows)
{
	json_t *list = js_array();

	for (size_t i = 0; i < view->lives->moment_count; i++) {
		const struct view_life_moment *m = &view->lives->moments[i];
		json_t *moment = js_array();

		js_append(moment, js_u64(m->ts_ns > view->start_ns ? m->ts_ns - view->start_ns : 0));
		js_append(moment, js_u64(m->why));
		js_append(moment, js_u64(m->is_of_blocks));
		js_append(moment, js_u64(rows[m->proc] + m->row));
		js_append(list, moment);
	}
	return list;
}

void html_put_events(struct out *out, const struct view *view)
{
	uint32_t *rows;

	if (!view->lives)
		return;
	rows = first_rows(view);
	html_put_json(out, "life_moments", life_moments(view, rows), false);
	html_put_json(out, "lives_left", JS_OBJECT({ "around", js_u64(view->lives->around_left_out) },
						   { "moments", js_u64(view->lives->moments_left_out) },
						   { "processes", js_u64(view->lives->processes_left_out) },
						   { "is_all", json_boolean(view->lives->is_all) }), false);
	out_printf(out, ",\n\"life_count\":%zu,\"lives_left_out\":%" PRIu64 ",\n\"lives\":\"", view->lives->count,
		   view->lives->left_out);
	put_lives(out, view, rows);
	out_char(out, '"');
	free(rows);
}

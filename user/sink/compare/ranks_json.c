// SPDX-License-Identifier: BSD-2-Clause
/* The ranks of one job as an object of JSON; user/doc/json-schema.json describes its members. */
#include "base/js.h"
#include "base/out.h"
#include "sink/compare/held_name.h"
#include "sink/compare/ranks_sinks.h"
#include "sink/json/json_stacks.h"
#include "sink/json/json_view.h"
#include "sink/sink.h"

static const struct view *view_shown(const struct ranks *r, size_t rank)
{
	return r->sources[r->list[rank].source].view;
}

static json_t *spread_to_json(const struct ranks *r, const struct ranks_row *row)
{
	const struct ranks_spread *s = &row->spread;
	json_t *bytes = js_array();

	for (size_t i = 0; i < r->count; i++)
		js_append(bytes, json_integer(row->bytes[i]));
	return JS_OBJECT({ "sum_bytes", json_integer(s->sum) }, { "least_bytes", json_integer(row->bytes[s->least]) },
			 { "median_bytes", json_integer(row->bytes[s->median]) },
			 { "most_bytes", json_integer(row->bytes[s->most]) }, { "least_rank", js_u64(s->least) },
			 { "most_rank", js_u64(s->most) }, { "rank_bytes", bytes });
}

static json_t *spread_row_to_json(const struct ranks *r, enum held_table table, const struct ranks_row *row)
{
	const struct view *view = view_shown(r, row->shown);
	struct out name;
	json_t *o;

	out_init_mem(&name);
	held_name(&name, view, table, row->line, row->index);
	o = JS_ADD(spread_to_json(r, row), { "name", held_text_to_json(&name) });
	if (table == HELD_LINES)
		js_set(o, "line", held_line_to_json(view, row->line));
	return o;
}

static json_t *ranks_tables_to_json(const struct ranks *r)
{
	json_t *o = js_object();

	for (int table = 0; table < HELD_TABLE_COUNT && r->count; table++) {
		const struct ranks_table *t = &r->tables[table];
		json_t *rows = js_array();

		for (size_t i = 0; i < t->count; i++)
			js_append(rows, spread_row_to_json(r, (enum held_table)table, &t->rows[i]));
		js_set(o, held_table_name((enum held_table)table),
		       JS_ADD(spread_to_json(r, &t->all), { "rows", rows }));
	}
	return o;
}

static json_t *each_rank_to_json(const struct ranks *r)
{
	json_t *list = js_array();

	for (size_t i = 0; i < r->count; i++) {
		const struct rank *rank = &r->list[i];
		const struct ranks_source *s = &r->sources[rank->source];
		struct out name;

		out_init_mem(&name);
		ranks_name(&name, r, i);
		js_append(list, JS_OBJECT({ "name", held_text_to_json(&name) }, { "source", js_word(s->name) },
					  { "host", js_word_if(s->view->session.hdr.size,
							       (const char *)s->view->session.host) },
					  { "at", json_moment(s->view, s->view->now_ns) },
					  { "pid", js_u64(rank->proc->tgid) }, { "comm", js_word(rank->proc->comm) },
					  { "cmdline", js_word(rank->proc->cmdline) },
					  { "gpu_memory_bytes", json_integer(rank->gpu_memory) },
					  { "lines_bytes", json_integer(rank->lines) }, { "lost", js_u64(s->lost) },
					  { "incomplete", json_boolean(s->is_incomplete) }));
	}
	return list;
}

static json_t *odd_to_json(const struct ranks *r)
{
	json_t *list = js_array();

	for (size_t i = 0; i < r->odd_count; i++) {
		const struct ranks_odd *odd = &r->odd[i];
		json_t *row = json_null();

		if (odd->row != RANKS_NONE)
			row = JS_ADD(spread_row_to_json(r, r->telling, &r->tables[r->telling].rows[odd->row]),
				     { "difference_bytes", json_integer(odd->of_row) });
		js_append(list, JS_OBJECT({ "rank", js_u64(odd->rank) },
					  { "difference_bytes", json_integer(odd->difference) }, { "row", row }));
	}
	return list;
}

json_t *ranks_to_json(const struct ranks *r, const struct sink_opts *opts)
{
	struct out answer;

	out_init_mem(&answer);
	ranks_answer(&answer, r);
	return JS_OBJECT({ "schema", js_word(JSON_SCHEMA) }, { "type", js_word("ranks") },
			 { "made_at", js_utc(opts->made_ns) }, { "answer", held_text_to_json(&answer) },
			 { "lines_of", js_word(r->is_tensors ? "tensors" : "driver") },
			 { "ranks", each_rank_to_json(r) }, { "different", odd_to_json(r) },
			 { "gpu_memory", r->count ? spread_to_json(r, &r->gpu_memory) : json_null() },
			 { "tables", ranks_tables_to_json(r) });
}

void ranks_print_json(struct out *out, const struct ranks *r, const struct sink_opts *opts)
{
	js_write(out, ranks_to_json(r, opts), false);
}

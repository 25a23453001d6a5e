// SPDX-License-Identifier: BSD-2-Clause
/* A difference as an object of JSON; user/doc/json-schema.json describes its members. */
#include "base/js.h"
#include "base/out.h"
#include "sink/compare/diff_names.h"
#include "sink/compare/held_name.h"
#include "sink/json/json_stacks.h"
#include "sink/json/json_view.h"
#include "sink/sink.h"

/* ---- amounts ---- */

static json_t *amount_to_json(const struct diff_amount *a)
{
	return JS_OBJECT({ "a_bytes", json_integer(a->bytes[DIFF_A]) }, { "b_bytes", json_integer(a->bytes[DIFF_B]) },
			 { "difference_bytes", json_integer(diff_bytes(a)) }, { "a_count", js_u64(a->count[DIFF_A]) },
			 { "b_count", js_u64(a->count[DIFF_B]) });
}

/* ---- tables ---- */

static json_t *diff_row_to_json(const struct diff *d, enum held_table kind, const struct diff_row *row)
{
	static const char *const matches[] = {
		[DIFF_BY_NAME] = "name", [DIFF_BY_FUNCTION] = "function", [DIFF_BY_FILE_NAME] = "file_name",
	};
	const char *state = !row->is_there[DIFF_A] ? "new" : !row->is_there[DIFF_B] ? "gone" : "both";
	struct out name;
	json_t *o;

	out_init_mem(&name);
	diff_name(&name, d, kind, row);
	o = JS_ADD(amount_to_json(&row->amount), { "name", held_text_to_json(&name) }, { "state", js_word(state) });
	if (kind == HELD_LINES)
		JS_ADD(o, { "matched_by", js_word(matches[row->match]) },
		       { "a_line", held_line_to_json(d->sides[DIFF_A].view, row->line[DIFF_A]) },
		       { "b_line", held_line_to_json(d->sides[DIFF_B].view, row->line[DIFF_B]) });
	return o;
}

static json_t *tables_to_json(const struct diff *d, const struct diff_table *tables)
{
	json_t *o = js_object();

	for (int kind = 0; kind < HELD_TABLE_COUNT; kind++) {
		json_t *rows = js_array();

		for (size_t i = 0; i < tables[kind].count; i++)
			js_append(rows, diff_row_to_json(d, (enum held_table)kind, &tables[kind].rows[i]));
		js_set(o, held_table_name((enum held_table)kind),
		       JS_ADD(amount_to_json(&tables[kind].all), { "rows", rows }));
	}
	return o;
}

/* ---- processes ---- */

static json_t *pair_process_to_json(const struct diff *d, const struct diff_pair *pair, int side)
{
	const struct view_proc *proc;

	if (pair->proc[side] == DIFF_NONE)
		return json_null();
	proc = &d->sides[side].view->procs[pair->proc[side]];
	return JS_OBJECT({ "pid", js_u64(proc->tgid) }, { "comm", js_word(proc->comm) },
			 { "cmdline", js_word(proc->cmdline) });
}

static json_t *part_gpu_to_json(const struct diff *d, const struct diff_part *part, int side)
{
	const struct view *view = d->sides[side].view;
	const struct view_row *row;
	const struct view_gpu *gpu;

	if (part->row[side] == DIFF_NONE)
		return json_null();
	row = &view->procs[d->pairs[part->pair].proc[side]].rows[part->row[side]];
	gpu = row->gpu == VIEW_GPU_UNKNOWN ? NULL : &view->gpus[row->gpu];
	return JS_OBJECT({ "index", js_u64_if(gpu && gpu->index != UINT32_MAX, gpu ? gpu->index : 0) },
			 { "uuid", js_word_if(gpu, gpu ? gpu->uuid_text : "") },
			 { "cuda_ordinal", js_u64_if(row->ordinal != VIEW_ORDINAL_UNKNOWN, row->ordinal) });
}

static json_t *part_to_json(const struct diff *d, const struct diff_part *part)
{
	return JS_OBJECT({ "place", js_word(part->is_host ? "host" : "gpu") },
			 { "a_gpu", part_gpu_to_json(d, part, DIFF_A) },
			 { "b_gpu", part_gpu_to_json(d, part, DIFF_B) },
			 { "lines_of", js_word_if(!part->is_host, part->is_tensors ? "tensors" : "driver") },
			 { "held_of", js_word_if(!part->is_host, part->is_physical ? "physical" : "calls") },
			 { "held", part->is_host ? json_null() : amount_to_json(&part->held) },
			 { "tables", tables_to_json(d, part->tables) });
}

static json_t *pairs_to_json(const struct diff *d)
{
	static const char *const hows[] = {
		[DIFF_PAIR_SAME] = "process", [DIFF_PAIR_COMMAND] = "command", [DIFF_PAIR_COMM] = "comm",
		[DIFF_PAIR_ONLY] = "only", [DIFF_PAIR_NONE] = "none",
	};
	json_t *list = js_array();

	for (size_t i = 0; i < d->pair_count; i++) {
		const struct diff_pair *pair = &d->pairs[i];
		json_t *parts = js_array();

		for (size_t k = 0; k < pair->part_count; k++)
			js_append(parts, part_to_json(d, &d->parts[pair->first_part + k]));
		js_append(list, JS_OBJECT({ "a", pair_process_to_json(d, pair, DIFF_A) },
					  { "b", pair_process_to_json(d, pair, DIFF_B) },
					  { "paired_by", js_word(hows[pair->how]) }, { "memory", parts }));
	}
	return list;
}

/* ---- all of it ---- */

static json_t *side_to_json(const struct diff_side *side)
{
	const struct view *view = side->view;

	return JS_OBJECT({ "name", js_word(side->name) }, { "at", json_moment(view, view->now_ns) },
			 { "dump", json_boolean(side->is_picture) },
			 { "host", js_word_if(view->session.hdr.size, (const char *)view->session.host) },
			 { "driver", js_word_if(view->session.hdr.size, (const char *)view->session.driver) });
}

static json_t *limits_to_json(const struct diff *d)
{
	json_t *list = js_array();

	for (int limit = 0; limit < DIFF_LIMIT_COUNT; limit++) {
		const uint64_t *of = d->limits[limit];
		struct out text;

		if (!of[DIFF_A] && !of[DIFF_B])
			continue;
		out_init_mem(&text);
		diff_limit_text(&text, d, (enum diff_limit)limit);
		js_append(list, JS_OBJECT({ "what", js_word(diff_limit_name((enum diff_limit)limit)) },
					  { "a_count", js_u64(of[DIFF_A]) }, { "b_count", js_u64(of[DIFF_B]) },
					  { "text", held_text_to_json(&text) }));
	}
	return list;
}

json_t *diff_to_json(const struct diff *d, const struct sink_opts *opts)
{
	struct out answer;

	out_init_mem(&answer);
	diff_answer(&answer, d);
	return JS_OBJECT({ "schema", js_word(JSON_SCHEMA) }, { "type", js_word("diff") },
			 { "made_at", js_utc(opts->made_ns) }, { "answer", held_text_to_json(&answer) },
			 { "a", side_to_json(&d->sides[DIFF_A]) }, { "b", side_to_json(&d->sides[DIFF_B]) },
			 { "one_recording", json_boolean(d->is_one_recording) },
			 { "held", amount_to_json(&d->held) }, { "tables", tables_to_json(d, d->tables) },
			 { "processes", pairs_to_json(d) }, { "limits", limits_to_json(d) },
			 { "moved_lines", js_u64(diff_moved(d)) });
}

void diff_print_json(struct out *out, const struct diff *d, const struct sink_opts *opts)
{
	js_write(out, diff_to_json(d, opts), false);
}

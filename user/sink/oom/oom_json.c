// SPDX-License-Identifier: BSD-2-Clause
/* Makes JSON of a failed request: the members of a view (json_view.c), and "oom". */
#include <stdlib.h>
#include <string.h>

#include "base/out.h"
#include "core/terms/probes.h"
#include "sink/json/json_stacks.h"
#include "sink/json/json_view.h"
#include "sink/oom/oom_sinks.h"
#include "sink/sink.h"

static json_t *index_or_null(size_t index)
{
	return js_u64_if(index != OOM_VIEW_NONE, index);
}

static json_t *sentences_to_json(const struct oom_view *v)
{
	json_t *list = js_array();
	struct out out;
	char *text, *at, *end;

	out_init_mem(&out);
	oom_text(&out, v, NULL, 0);
	text = at = out_take(&out);
	for (; (end = strchr(at, '\n')); at = end + 1)
		js_append(list, js_text(at, (size_t)(end - at)));
	free(text);
	return list;
}

static json_t *facts_to_json(const struct oom_view *v)
{
	static const char *const sources[] = {
		[OOM_FREE_TOLD] = "cuda", [OOM_FREE_COMPUTED] = "sum", [OOM_FREE_REFUSED] = "refusal",
	};
	const struct oom_facts *f = &v->facts;
	bool has_row = f->fits_without != OOM_VIEW_NONE;

	return JS_OBJECT({ "asked_bytes", js_u64(f->asked) }, { "total_bytes", js_u64_if(f->total, f->total) },
			 { "held_bytes", js_u64_if(!f->is_unseen, f->held) },
			 { "free_bytes", js_u64_if(f->has_free, f->free) },
			 { "free_by", js_word_if(f->has_free, sources[f->has_free]) },
			 { "untraced_bytes", js_u64_if(f->has_untraced, f->untraced) },
			 { "cached_bytes", js_u64_if(f->has_torch, f->cached) },
			 { "largest_gap_bytes", js_u64_if(f->has_torch && f->gap_known, f->gap) },
			 { "too_large", json_boolean(f->is_too_large) }, { "was_room", json_boolean(f->was_room) },
			 { "fits_in_one_piece", json_boolean(f->fits_in_one_piece) },
			 { "fits_with_expandable_segments", json_boolean(f->fits_expandable) },
			 { "fits_without", has_row ? js_u64(v->rows[f->fits_without].proc) : json_null() });
}

static json_t *row_of_oom(const struct oom_view *v, const struct oom_view_row *r)
{
	return JS_OBJECT({ "process", js_u64(r->proc) }, { "row", index_or_null(r->row) },
			 { "blocks", json_boolean(r->is_blocks) }, { "held_bytes", js_u64(r->held) },
			 { "nvml_bytes", js_u64_if(r->has_nvml, r->nvml) },
			 { "nvml_at", json_moment_if(&v->view, r->has_nvml, r->nvml_ts_ns) },
			 { "rest_bytes", js_u64(r->rest_bytes) }, { "rest_stacks", js_u64(r->rest) },
			 { "recent", json_stacks_of(&v->view, &r->recent, false) },
			 { "steady", json_stacks_of(&v->view, &r->steady, false) });
}

static json_t *change_to_json(const struct history_change *c)
{
	return JS_OBJECT({ "allocs", js_u64(c->allocs) }, { "alloc_bytes", js_u64(c->alloc_bytes) },
			 { "frees", js_u64(c->frees) }, { "freed_bytes", js_u64(c->freed_bytes) });
}

static json_t *changes_to_json(const struct oom_view *v)
{
	if (!v->changes.since_ns)
		return json_null();
	return JS_OBJECT({ "since", json_moment(&v->view, v->changes.since_ns) },
			 { "until", json_moment(&v->view, v->changes.until_ns) },
			 { "blocks", change_to_json(&v->changes.blocks) },
			 { "driver", change_to_json(&v->changes.segments) });
}

static json_t *cause_to_json(const struct oom_view *v, const struct oom_cause *c)
{
	bool has_row = c->row != OOM_VIEW_NONE;

	return JS_OBJECT({ "cause", js_word(oom_cause_name(c->kind)) },
			 { "ground", js_word(finding_ground_name(c->ground)) },
			 { "minor", json_boolean(c->is_minor) }, { "bytes", js_u64(c->bytes) },
			 { "of_bytes", js_u64_if(c->whole, c->whole) }, { "each_bytes", js_u64_if(c->each, c->each) },
			 { "times", js_u64_if(c->count, c->count) },
			 { "iterations", js_u64_if(c->iterations, c->iterations) },
			 { "since", json_moment_if(&v->view, c->since_ns, c->since_ns) },
			 { "full_again_iterations", js_u64_if(c->again, c->again) },
			 { "full_again_ns", js_u64_if(c->again_ns, c->again_ns) },
			 { "process", has_row ? js_u64(v->rows[c->row].proc) : json_null() });
}

static json_t *line_to_json(const struct oom_view *v, const struct oom_line *line)
{
	bool is_own = line->line->state == VIEW_LINE_OWN;

	(void)v;
	return JS_OBJECT({ "symbol", js_u64_if(is_own, line->line->symbol) }, { "stack", js_u64(line->line->stack) },
			 { "bytes", js_u64(line->bytes) },
			 { "use", js_word_if(line->purpose, gmt_category_name(line->purpose - 1)) },
			 { "grew", json_boolean(line->has_grown) });
}

static json_t *reason_to_json(const struct oom_reason *r)
{
	return JS_OBJECT({ "cause", js_word(oom_cause_name(oom_reason_cause(r->kind))) }, { "bytes", js_u64(r->bytes) },
			 { "processes", js_u64(r->count) });
}

/* The verdict's parts, in the order in which people read them. */
static json_t *parts_to_json(const struct oom_view *v)
{
	const struct oom_verdict *d = &v->verdict;
	json_t *why = js_array(), *where = js_array(), *not = js_array(), *todo = js_array();

	for (size_t i = 0; i < d->cause_count; i++)
		js_append(why, cause_to_json(v, &d->causes[i]));
	for (size_t i = 0; i < d->line_count; i++)
		js_append(where, line_to_json(v, &d->lines[i]));
	for (size_t i = 0; i < d->reason_count; i++)
		js_append(not, reason_to_json(&d->reasons[i]));
	for (size_t i = 0; i < d->remedy_count; i++)
		js_append(todo, js_word(oom_remedy_name(d->remedies[i])));
	return JS_OBJECT({ "asked_symbol", js_u64_if(d->asked_symbol != VIEW_NO_FRAME, d->asked_symbol) },
			 { "waiting_symbol", js_u64_if(d->waiting_symbol != VIEW_NO_FRAME, d->waiting_symbol) },
			 { "why", why }, { "where", where }, { "where_is_tensors", json_boolean(d->are_tensors) },
			 { "not", not }, { "do", todo });
}

static json_t *request_to_json(const struct oom_view *v, const char *file)
{
	const struct gmt_oom *rec = &v->rec;
	const char *class = gmt_class_name(rec->class_id), *call = gmt_api_symbol(rec->api);
	bool has_exited = rec->flags & GMT_OOM_EXITED;
	bool has_status = has_exited && rec->exit_code != GMT_EXIT_CODE_UNKNOWN;
	const struct oom_cause *first = v->verdict.cause_count ? &v->verdict.causes[0] : NULL;
	json_t *rows = js_array();

	for (size_t i = 0; i < v->row_count; i++)
		js_append(rows, row_of_oom(v, &v->rows[i]));
	return JS_OBJECT({ "number", js_u64(rec->number) },
			 { "file", file ? js_text(file, strlen(file)) : json_null() },
			 { "outcome", js_word(gmt_oom_outcome_name(rec->outcome)) },
			 { "by", js_word(gmt_oom_sign_name(rec->sign)) }, { "verdict", sentences_to_json(v) },
			 { "cause", js_word_if(first, first ? oom_cause_name(first->kind) : "") },
			 { "ground", js_word_if(first, first ? finding_ground_name(first->ground) : "") },
			 { "parts", parts_to_json(v) },
			 { "process", index_or_null(v->proc) }, { "tid", js_u64(rec->hdr.tid) },
			 { "gpu", js_u64_if(v->gpu >= 0, (uint64_t)v->gpu) },
			 { "class", js_word_if(rec->class_id < GMT_CLASS_COUNT, class) },
			 { "call", js_word_if(call, call) }, { "refused", json_boolean(rec->flags & GMT_OOM_REFUSED) },
			 { "stack", index_or_null(v->stack) },
			 { "backward_stack", index_or_null(v->backward) }, { "failures", js_u64(rec->failures) },
			 { "pieces", js_u64(rec->pieces) }, { "asked_bytes", js_u64(rec->asked_bytes) },
			 { "failed_bytes", js_u64(rec->failed_bytes) }, { "given_bytes", js_u64(rec->given_bytes) },
			 { "framework_bytes", js_u64_if(rec->framework_bytes, rec->framework_bytes) },
			 { "freed_bytes", js_u64(rec->freed_bytes) },
			 { "first_at", json_moment_if(&v->view, rec->first_ns, rec->first_ns) },
			 { "last_at", json_moment_if(&v->view, rec->last_ns, rec->last_ns) },
			 { "decided_at", json_moment_if(&v->view, rec->decided_ns, rec->decided_ns) },
			 { "exited_at", json_moment_if(&v->view, has_exited, rec->exit_ns) },
			 { "wait_status", has_status ? json_integer(rec->exit_code) : json_null() },
			 { "facts", facts_to_json(v) }, { "changes", changes_to_json(v) }, { "rows", rows });
}

void oom_print_json(struct out *out, const struct oom_view *v, const struct sink_opts *opts)
{
	json_view_write(out, &v->view, opts, "oom", request_to_json(v, opts->file));
}

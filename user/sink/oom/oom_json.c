// SPDX-License-Identifier: BSD-2-Clause
/* Makes JSON of a failed request: the members of a view (json_view.c), and "oom". */
#include <stdlib.h>
#include <string.h>

#include "base/out.h"
#include "core/terms/probes.h"
#include "sink/json/json_stacks.h"
#include "sink/json/json_view.h"
#include "sink/oom/oom_sinks.h"

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
	oom_text(&out, v, "");
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

static json_t *request_to_json(const struct oom_view *v)
{
	const struct gmt_oom *rec = &v->rec;
	const char *class = gmt_class_name(rec->class_id), *call = gmt_api_symbol(rec->api);
	bool has_exited = rec->flags & GMT_OOM_EXITED;
	bool has_status = has_exited && rec->exit_code != GMT_EXIT_CODE_UNKNOWN;
	json_t *rows = js_array();

	for (size_t i = 0; i < v->row_count; i++)
		js_append(rows, row_of_oom(v, &v->rows[i]));
	return JS_OBJECT({ "number", js_u64(rec->number) }, { "outcome", js_word(gmt_oom_outcome_name(rec->outcome)) },
			 { "by", js_word(gmt_oom_sign_name(rec->sign)) }, { "verdict", sentences_to_json(v) },
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
	json_view_write(out, &v->view, opts, "oom", request_to_json(v));
}

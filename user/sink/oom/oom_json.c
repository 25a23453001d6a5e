// SPDX-License-Identifier: BSD-2-Clause
/* A request that could not be met as JSON: the members of a view (json.c), and "oom". */
#include <stdlib.h>
#include <string.h>

#include "base/js.h"
#include "base/out.h"
#include "core/terms/probes.h"
#include "sink/json/json_stacks.h"
#include "sink/oom/oom_sinks.h"

static json_t *index_or_null(size_t index)
{
	return index == OOM_VIEW_NONE ? json_null() : json_integer((json_int_t)index);
}

static json_t *bytes_if(bool known, uint64_t bytes)
{
	return known ? json_integer((json_int_t)bytes) : json_null();
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
		[OOM_FREE_UNKNOWN] = NULL, [OOM_FREE_TOLD] = "cuda", [OOM_FREE_COMPUTED] = "sum",
		[OOM_FREE_REFUSED] = "refusal",
	};
	const struct oom_facts *f = &v->facts;
	json_t *o = js_object();

	js_set_u64(o, "asked_bytes", f->asked);
	js_set(o, "total_bytes", bytes_if(f->total, f->total));
	js_set(o, "held_bytes", bytes_if(!f->is_unseen, f->held));
	js_set(o, "free_bytes", bytes_if(f->has_free, f->free));
	js_set(o, "free_by", f->has_free ? js_text(sources[f->has_free], SIZE_MAX) : json_null());
	js_set(o, "untraced_bytes", bytes_if(f->has_untraced, f->untraced));
	js_set(o, "cached_bytes", bytes_if(f->has_torch, f->cached));
	js_set(o, "largest_gap_bytes", bytes_if(f->has_torch && f->gap_known, f->gap));
	js_set_bool(o, "too_large", f->is_too_large);
	js_set_bool(o, "was_room", f->was_room);
	js_set_bool(o, "fits_in_one_piece", f->fits_in_one_piece);
	js_set_bool(o, "fits_with_expandable_segments", f->fits_expandable);
	js_set(o, "fits_without", index_or_null(f->fits_without == OOM_VIEW_NONE ? OOM_VIEW_NONE :
						v->rows[f->fits_without].proc));
	return o;
}

static json_t *oom_rows_to_json(const struct oom_view *v)
{
	json_t *list = js_array();

	for (size_t i = 0; i < v->row_count; i++) {
		const struct oom_view_row *r = &v->rows[i];
		json_t *o = js_object();

		js_set_u64(o, "process", r->proc);
		js_set(o, "row", index_or_null(r->row));
		js_set_bool(o, "blocks", r->is_blocks);
		js_set_u64(o, "held_bytes", r->held);
		js_set(o, "nvml_bytes", bytes_if(r->has_nvml, r->nvml));
		js_set(o, "nvml_at", sink_json_moment_if(&v->view, r->has_nvml, r->nvml_ts_ns));
		js_set_u64(o, "rest_bytes", r->rest_bytes);
		js_set_u64(o, "rest_stacks", r->rest);
		js_set(o, "recent", json_stacks_of(&v->view, &r->recent, false));
		js_set(o, "steady", json_stacks_of(&v->view, &r->steady, false));
		js_append(list, o);
	}
	return list;
}

static json_t *change_to_json(const struct history_change *c)
{
	json_t *o = js_object();

	js_set_u64(o, "allocs", c->allocs);
	js_set_u64(o, "alloc_bytes", c->alloc_bytes);
	js_set_u64(o, "frees", c->frees);
	js_set_u64(o, "freed_bytes", c->freed_bytes);
	return o;
}

static json_t *changes_to_json(const struct oom_view *v)
{
	json_t *o;

	if (!v->changes.since_ns)
		return json_null();
	o = js_object();
	js_set(o, "since", sink_json_moment_if(&v->view, true, v->changes.since_ns));
	js_set(o, "until", sink_json_moment_if(&v->view, true, v->changes.until_ns));
	js_set(o, "blocks", change_to_json(&v->changes.blocks));
	js_set(o, "driver", change_to_json(&v->changes.segments));
	return o;
}

static json_t *request_to_json(const struct oom_view *v)
{
	const struct gmt_oom *rec = &v->rec;
	bool has_exited = rec->flags & GMT_OOM_EXITED;
	json_t *o = js_object();

	js_set_u64(o, "number", rec->number);
	js_set_text(o, "outcome", gmt_oom_outcome_name(rec->outcome), SIZE_MAX);
	js_set_text(o, "by", gmt_oom_sign_name(rec->sign), SIZE_MAX);
	js_set(o, "verdict", sentences_to_json(v));
	js_set(o, "process", index_or_null(v->proc));
	js_set_u64(o, "tid", rec->hdr.tid);
	js_set(o, "gpu", v->gpu >= 0 ? json_integer(v->gpu) : json_null());
	js_set(o, "class", rec->class_id < GMT_CLASS_COUNT ?
			js_text(gmt_class_name(rec->class_id), SIZE_MAX) : json_null());
	js_set(o, "call", gmt_api_symbol(rec->api) ? js_text(gmt_api_symbol(rec->api), SIZE_MAX) : json_null());
	js_set_bool(o, "refused", rec->flags & GMT_OOM_REFUSED);
	js_set(o, "stack", index_or_null(v->stack));
	js_set_u64(o, "failures", rec->failures);
	js_set_u64(o, "pieces", rec->pieces);
	js_set_u64(o, "asked_bytes", rec->asked_bytes);
	js_set_u64(o, "failed_bytes", rec->failed_bytes);
	js_set_u64(o, "given_bytes", rec->given_bytes);
	js_set(o, "framework_bytes", bytes_if(rec->framework_bytes, rec->framework_bytes));
	js_set_u64(o, "freed_bytes", rec->freed_bytes);
	js_set(o, "first_at", sink_json_moment_if(&v->view, rec->first_ns, rec->first_ns));
	js_set(o, "last_at", sink_json_moment_if(&v->view, rec->last_ns, rec->last_ns));
	js_set(o, "decided_at", sink_json_moment_if(&v->view, rec->decided_ns, rec->decided_ns));
	js_set(o, "exited_at", sink_json_moment_if(&v->view, has_exited, rec->exit_ns));
	js_set(o, "wait_status", has_exited && rec->exit_code != GMT_EXIT_CODE_UNKNOWN ? json_integer(rec->exit_code)
										       : json_null());
	js_set(o, "facts", facts_to_json(v));
	js_set(o, "changes", changes_to_json(v));
	js_set(o, "rows", oom_rows_to_json(v));
	return o;
}

void oom_print_json(struct out *out, const struct oom_view *v, const struct sink_opts *opts)
{
	json_t *o = sink_json_view(&v->view, opts, "oom");

	js_set(o, "oom", request_to_json(v));
	js_write(out, o, false);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON lines: one object a live view ("type": "live") and one for the report ("type": "report"), the
 * same members in both. user/doc/json-schema.json describes them, and a test checks that it does. All
 * sizes are integers of bytes, all times integers of nanoseconds. "schema" changes its number when a
 * member is taken away or changes its meaning; new members may come at any time.
 */
#include "base/js.h"

#include <stdio.h>
#include <string.h>

#include "sink/json/json_stacks.h"
#include "sink/json/json_training.h"
#include "sink/oom/oom_sinks.h"
#include "sink/records/record_text.h"
#include "sink/report/report.h"
#include "sink/sink.h"

#define SCHEMA "gpumemtrace/1"

#define SET_TEXT(object, key, array) js_set_text(object, key, (const char *)(array), sizeof(array))

/* Wall clock and offset of one moment. */
json_t *sink_json_moment(const struct view *view, uint64_t ts_ns)
{
	json_t *o = js_object();

	js_set_u64(o, "monotonic_ns", ts_ns);
	js_set_i64(o, "offset_ns", (int64_t)(ts_ns - view->start_ns));
	if (view->wall_start_ns)
		js_set_u64(o, "unix_ns", view->wall_start_ns + (ts_ns - view->start_ns));
	else
		js_set_null(o, "unix_ns");
	return o;
}

json_t *sink_json_moment_if(const struct view *view, bool happened, uint64_t ts_ns)
{
	return happened ? sink_json_moment(view, ts_ns) : json_null();
}

static void set_level(json_t *o, const struct view *view, const struct view_level *level)
{
	js_set_u64(o, "live_bytes", level->live);
	js_set_u64(o, "peak_bytes", level->peak);
	js_set(o, "peak_at", sink_json_moment_if(view, level->peak, level->peak_ts_ns));
}

static json_t *level_to_json(const struct view *view, const struct view_level *l)
{
	json_t *o = js_object();

	set_level(o, view, l);
	return o;
}

static json_t *class_to_json(const struct view *view, const struct view_class *c)
{
	json_t *o = level_to_json(view, &c->bytes);

	js_set_u64(o, "live_count", c->live_count);
	js_set_u64(o, "allocs", c->allocs);
	js_set_u64(o, "frees", c->frees);
	js_set_u64(o, "failed", c->failed);
	js_set_u64(o, "alloc_bytes", c->alloc_bytes);
	js_set_u64(o, "freed_bytes", c->freed_bytes);
	return o;
}

static json_t *classes_to_json(const struct view *view, const struct view_class *by_class)
{
	json_t *o = js_object();

	for (int c = 0; c < GMT_CLASS_COUNT; c++)
		js_set(o, gmt_class_name(c), class_to_json(view, &by_class[c]));
	return o;
}

static json_t *anomalies_to_json(const uint64_t *counts)
{
	json_t *o = js_object();

	for (int i = 0; i < GMT_ANOMALY_COUNT; i++)
		js_set_u64(o, gmt_anomaly_name(i), counts[i]);
	return o;
}

static void set_named(json_t *o, int64_t context, int64_t modules, int64_t pool_reserve, int64_t rounding,
		      int64_t other)
{
	js_set_i64(o, "context_bytes", context);
	js_set_i64(o, "modules_bytes", modules);
	js_set_i64(o, "pool_reserve_bytes", pool_reserve);
	js_set_i64(o, "rounding_bytes", rounding);
	js_set_i64(o, "other_bytes", other);
}

static json_t *physical_to_json(const struct view *view, const struct view_row *row)
{
	json_t *o, *purposes = js_object();

	if (!row->has_physical) {
		json_decref(purposes);
		return json_null();
	}
	o = level_to_json(view, &row->physical);
	for (int p = 0; p < GMT_PURPOSE_COUNT; p++)
		js_set_u64(purposes, gmt_purpose_name(p), row->by_purpose[p]);
	js_set(o, "by_purpose_bytes", purposes);
	set_named(o, row->context, row->modules, row->pool_reserve, row->rounding, row->other);
	js_set_u64(o, "imported_bytes", row->imported_physical);
	return o;
}

/* The members of "sum" add up to "used_bytes". */
static json_t *nvml_to_json(const struct view *view, const struct view_row *row)
{
	const struct view_sum *s = &row->at_nvml;
	json_t *o, *sum = js_object();

	if (!row->has_nvml) {
		json_decref(sum);
		return json_null();
	}
	js_set_u64(sum, "attributed_bytes", s->attributed);
	set_named(sum, s->context, s->modules, s->pool_reserve, s->rounding, s->other);
	js_set_u64(sum, "before_attach_bytes", s->before_attach);
	js_set_i64(sum, "residual_bytes", s->residual);
	o = js_object();
	js_set_u64(o, "used_bytes", row->nvml);
	js_set(o, "at", sink_json_moment(view, row->nvml_ts_ns));
	js_set_u64(o, "baseline_bytes", row->nvml_baseline);
	js_set(o, "sum", sum);
	js_set_bool(o, "before_attach_inferred", row->before_inferred);
	js_set_u64(o, "before_attach_frees", row->before_frees);
	return o;
}

/* Of those blocks of which it is known. */
static json_t *requested_to_json(const struct view_torch *t)
{
	json_t *o;

	if (!t->sized)
		return json_null();
	o = js_object();
	js_set_u64(o, "live_count", t->sized);
	js_set_u64(o, "live_bytes", t->asked_bytes);
	js_set_u64(o, "block_bytes", t->sized_bytes);
	return o;
}

static json_t *torch_to_json(const struct view *view, const struct view_torch *t)
{
	json_t *o, *blocks, *segments;

	if (!t->seen)
		return json_null();
	o = js_object();
	blocks = js_object();
	segments = js_object();
	js_set_u64(blocks, "live_count", t->blocks);
	js_set_u64(blocks, "live_bytes", t->block_bytes);
	js_set_u64(blocks, "allocs", t->allocs);
	js_set_u64(blocks, "frees", t->frees);
	js_set_u64(blocks, "alloc_bytes", t->alloc_bytes);
	js_set_u64(blocks, "freed_bytes", t->freed_bytes);
	js_set_u64(segments, "live_count", t->segments);
	js_set_u64(segments, "live_bytes", t->segment_bytes);
	js_set(o, "allocated", level_to_json(view, &t->allocated));
	js_set(o, "reserved", level_to_json(view, &t->reserved));
	js_set(o, "blocks", blocks);
	js_set(o, "segments", segments);
	js_set(o, "requested", requested_to_json(t));
	js_set(o, "largest_free_gap_bytes", t->gap_known ? json_integer((json_int_t)t->largest_free_gap) : json_null());
	js_set(o, "stacks", json_stacks_of(view, &t->stacks, false));
	json_training_set(o, &t->training);
	js_set(o, "backend", t->backend ? js_text(gmt_torch_backend_name(t->backend), SIZE_MAX) : json_null());
	return o;
}

static json_t *row_to_json(const struct view *view, const struct view_row *r)
{
	json_t *o = js_object();

	if (r->gpu >= 0) {
		js_set_u64(o, "gpu", (uint64_t)r->gpu);
		SET_TEXT(o, "uuid", view->gpus[r->gpu].uuid_text);
	} else {
		js_set_null(o, "gpu");
		js_set_null(o, "uuid");
	}
	js_set(o, "attributed", level_to_json(view, &r->attributed));
	js_set(o, "classes", classes_to_json(view, r->by_class));
	js_set(o, "physical", physical_to_json(view, r));
	js_set_u64(o, "before_attach_bytes", r->before_attach);
	js_set(o, "nvml", nvml_to_json(view, r));
	js_set(o, "torch", torch_to_json(view, &r->torch));
	js_set(o, "stacks", json_stacks_of(view, &r->stacks, r->has_physical));
	return o;
}

static json_t *ooms_to_json(const struct view_proc *p)
{
	json_t *o = js_object();

	js_set_u64(o, "retry", p->ooms[GMT_OOM_RETRY]);
	js_set_u64(o, "raised", p->ooms[GMT_OOM_RAISED]);
	js_set_u64(o, "fatal", p->ooms[GMT_OOM_FATAL]);
	return o;
}

static json_t *process_to_json(const struct view *view, const struct view_proc *p)
{
	json_t *o = js_object(), *rows = js_array();

	js_set_u64(o, "pid", p->tgid);
	js_set_u64(o, "ns_pid", p->ns_pid);
	js_set_u64(o, "uid", p->uid);
	js_set_u64(o, "start_boottime_ns", p->start_ns);
	SET_TEXT(o, "comm", p->comm);
	SET_TEXT(o, "cmdline", p->cmdline);
	SET_TEXT(o, "cgroup", p->cgroup);
	js_set(o, "attached_at", sink_json_moment(view, p->attach_ts_ns));
	js_set(o, "window_start", sink_json_moment(view, p->window_ns));
	js_set_bool(o, "from_start", p->from_start);
	js_set_bool(o, "exited", p->exited);
	js_set(o, "exited_at", sink_json_moment_if(view, p->exited, p->exit_ts_ns));
	js_set(o, "wait_status", p->exited && p->exit_code != GMT_EXIT_CODE_UNKNOWN ?
			json_integer(p->exit_code) : json_null());
	js_set(o, "torch_silent", p->torch_silence ? js_text(gmt_torch_silence_name(p->torch_silence), SIZE_MAX)
						   : json_null());
	js_set(o, "classes", classes_to_json(view, p->by_class));
	js_set(o, "anomalies", anomalies_to_json(p->anomalies));
	js_set(o, "out_of_memory", ooms_to_json(p));
	js_set(o, "unwinding", json_stacks_unwinding(&p->unwinding));
	js_set(o, "host_stacks", json_stacks_of(view, &p->host_stacks, false));
	for (size_t i = 0; i < p->row_count; i++)
		js_append(rows, row_to_json(view, &p->rows[i]));
	js_set(o, "gpus", rows);
	return o;
}

static json_t *gpu_to_json(const struct view_gpu *g)
{
	json_t *o = js_object(), *mig;

	js_set(o, "index", g->index == UINT32_MAX ? json_null() : json_integer(g->index));
	SET_TEXT(o, "uuid", g->uuid_text);
	SET_TEXT(o, "name", g->name);
	SET_TEXT(o, "pci", g->pci);
	js_set(o, "total_bytes", g->total_bytes ? json_integer((json_int_t)g->total_bytes) : json_null());
	js_set_bool(o, "mig_mode", g->flags & GMT_GPU_MIG_PARENT);
	if (!(g->flags & GMT_GPU_MIG)) {
		js_set_null(o, "mig");
		return o;
	}
	mig = js_object();
	js_set_u64(mig, "parent_index", g->parent_index);
	js_set_u64(mig, "gpu_instance", g->gpu_instance);
	js_set_u64(mig, "compute_instance", g->compute_instance);
	js_set(o, "mig", mig);
	return o;
}

static json_t *limits_to_json(const struct view *view)
{
	json_t *list = js_array();

	for (size_t i = 0; i < view->limits.count; i++) {
		json_t *o = js_object();

		SET_TEXT(o, "what", view->limits.list[i].what);
		SET_TEXT(o, "why", view->limits.list[i].why);
		SET_TEXT(o, "remedy", view->limits.list[i].remedy);
		js_append(list, o);
	}
	return list;
}

static json_t *session_to_json(const struct gmt_session *s)
{
	json_t *o = js_object(), *layers = js_array();
	const char *name;
	unsigned int bit;

	for (size_t i = 0; (name = gmt_layer_name(i, &bit)); i++)
		if (s->layers & bit)
			js_append(layers, js_text(name, SIZE_MAX));
	SET_TEXT(o, "version", s->version);
	SET_TEXT(o, "host", s->host);
	SET_TEXT(o, "kernel", s->kernel);
	SET_TEXT(o, "driver", s->driver);
	js_set(o, "layers", layers);
	SET_TEXT(o, "why_no_kernel_layer", s->why_no_kernel);
	SET_TEXT(o, "why_no_nvml", s->why_no_nvml);
	return o;
}

static json_t *library_to_json(const struct gmt_library *l)
{
	json_t *o = js_object();

	SET_TEXT(o, "path", l->path);
	SET_TEXT(o, "build_id", l->build_id);
	js_set_u64(o, "device", l->dev);
	js_set_u64(o, "inode", l->ino);
	js_set_u64(o, "probes", l->probes);
	js_set_u64(o, "absent", l->absent);
	js_set_u64(o, "behind_endbr64", l->shifted);
	js_set_u64(o, "attach_us", l->attach_us);
	return o;
}

static json_t *losses_to_json(const struct view *view)
{
	json_t *o = js_object();

	for (int i = 0; i < GMT_LOSS_COUNT; i++)
		js_set_u64(o, gmt_loss_name(i), view->loss[i]);
	return o;
}

static json_t *end_reason(uint32_t reason)
{
	return reason < GMT_END_COUNT ? js_text(gmt_end_name(reason), SIZE_MAX) : json_null();
}

static void set_lists(json_t *o, const struct view *view, const struct sink_opts *opts)
{
	json_t *gpus = js_array(), *procs = js_array(), *libraries = js_array(), *notes = js_array();

	for (size_t i = 0; i < view->gpu_count; i++)
		js_append(gpus, gpu_to_json(&view->gpus[i]));
	for (size_t i = 0; i < view->proc_count; i++)
		js_append(procs, process_to_json(view, &view->procs[i]));
	for (size_t i = 0; i < view->library_count; i++)
		js_append(libraries, library_to_json(&view->libraries[i]));
	for (size_t i = 0; i < opts->note_count; i++)
		js_append(notes, js_text(opts->notes[i], SIZE_MAX));
	js_set(o, "gpus", gpus);
	js_set(o, "processes", procs);
	js_set(o, "limits", limits_to_json(view));
	js_set(o, "libraries", libraries);
	js_set(o, "stacks", json_stacks_list(view));
	js_set(o, "symbols", json_stacks_symbols(view));
	js_set(o, "notes", notes);
}

json_t *sink_json_view(const struct view *view, const struct sink_opts *opts, const char *type)
{
	json_t *o = js_object(), *records = js_object();

	js_set_text(o, "schema", SCHEMA, SIZE_MAX);
	js_set_text(o, "type", type, SIZE_MAX);
	js_set(o, "at", sink_json_moment(view, view->now_ns));
	js_set(o, "end_reason", end_reason(view->end_reason));
	js_set_u64(o, "marks", view->marks);
	js_set(o, "marked_at", sink_json_moment_if(view, view->marks, view->mark_ns));
	js_set(o, "session", session_to_json(&view->session));
	js_set_u64(o, "lost", view_lost(view));
	js_set(o, "losses", losses_to_json(view));
	js_set_u64(records, "total", view->records);
	js_set_u64(records, "unknown", view->records_unknown);
	js_set_u64(records, "malformed", view->records_malformed);
	js_set_u64(records, "names_dropped", view->names_dropped);
	js_set(o, "records", records);
	js_set(o, "anomalies", anomalies_to_json(view->anomalies));
	set_lists(o, view, opts);
	js_set_null(o, "oom");
	return o;
}

static void print_json_live(struct out *out, const struct view *now, const struct view *previous,
			    const struct sink_opts *opts)
{
	(void)previous;
	js_write(out, sink_json_view(now, opts, "live"), false);
}

static void print_json_report(struct out *out, const struct view *view, const struct sink_opts *opts)
{
	js_write(out, sink_json_view(view, opts, "report"), false);
}

const struct sink sink_json = {
	.name = "json",
	.help = "print JSON: a line for each live view, report or record",
	.manual = "Print JSON lines; see `JSON`.",
	.is_data = true,
	.live = print_json_live,
	.report = print_json_report,
	.oom = oom_print_json,
	.record = record_print_json,
	.doctor = doctor_print_json,
	.list = list_print_json,
};

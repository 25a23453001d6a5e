/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes JSON of a view, with the same members in each kind of line. All sizes are integers of bytes, all times
 * integers of nanoseconds. "schema" changes its number when a member is removed or changes its meaning; members may be
 * added at any time.
 */
#include "sink/json/json_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/out.h"
#include "core/view/finding.h"
#include "core/view/oom_verdict.h"
#include "sink/json/json_cgroup.h"
#include "sink/json/json_stacks.h"
#include "sink/sink.h"
#include "sink/text/finding_text.h"

/* ---- what calls asked for, and what the kernel gave ---- */

static json_t *level_to_json(const struct view *view, const struct view_level *l)
{
	return JS_OBJECT({ "live_bytes", js_u64(l->live) }, { "peak_bytes", js_u64(l->peak) },
			 { "peak_at", json_moment_if(view, l->peak, l->peak_ts_ns) });
}

static json_t *classes_to_json(const struct view *view, const struct view_class *by_class)
{
	json_t *o = js_object();

	for (int i = 0; i < GMT_CLASS_COUNT; i++) {
		const struct view_class *c = &by_class[i];

		js_set(o, gmt_class_name(i),
		       JS_ADD(level_to_json(view, &c->bytes), { "live_count", js_u64(c->live_count) },
			      { "allocs", js_u64(c->allocs) }, { "frees", js_u64(c->frees) },
			      { "failed", js_u64(c->failed) }, { "alloc_bytes", js_u64(c->alloc_bytes) },
			      { "freed_bytes", js_u64(c->freed_bytes) }));
	}
	return o;
}

static json_t *physical_to_json(const struct view *view, const struct view_row *row)
{
	json_t *purposes;

	if (!row->has_physical)
		return json_null();
	purposes = js_object();
	for (int p = 0; p < GMT_PURPOSE_COUNT; p++)
		js_set(purposes, gmt_purpose_name(p), js_u64(row->by_purpose[p]));
	return JS_ADD(level_to_json(view, &row->physical), { "by_purpose_bytes", purposes },
		      { "context_bytes", json_integer(row->context) }, { "modules_bytes", json_integer(row->modules) },
		      { "pool_reserve_bytes", json_integer(row->pool_reserve) },
		      { "rounding_bytes", json_integer(row->rounding) }, { "other_bytes", json_integer(row->other) },
		      { "checkpointed_bytes", json_integer(-(int64_t)row->checkpointed) },
		      { "imported_bytes", js_u64(row->imported_physical) });
}

/* The members of "sum" add up to "used_bytes". */
static json_t *nvml_to_json(const struct view *view, const struct view_row *row)
{
	const struct view_sum *s = &row->at_nvml;
	json_t *sum;

	if (!row->has_nvml)
		return json_null();
	sum = JS_OBJECT({ "attributed_bytes", js_u64(s->attributed) }, { "context_bytes", json_integer(s->context) },
			{ "modules_bytes", json_integer(s->modules) },
			{ "pool_reserve_bytes", json_integer(s->pool_reserve) },
			{ "rounding_bytes", json_integer(s->rounding) }, { "other_bytes", json_integer(s->other) },
			{ "checkpointed_bytes", json_integer(-(int64_t)s->checkpointed) },
			{ "before_attach_bytes", js_u64(s->before_attach) },
			{ "residual_bytes", json_integer(s->residual) });
	return JS_OBJECT({ "used_bytes", js_u64(row->nvml) }, { "at", json_moment(view, row->nvml_ts_ns) },
			 { "baseline_bytes", js_u64(row->nvml_baseline) }, { "sum", sum },
			 { "before_attach_inferred", json_boolean(row->before_inferred) },
			 { "before_attach_frees", js_u64(row->before_frees) });
}

/* ---- PyTorch ---- */

static json_t *categories_to_json(const struct view_torch *t)
{
	json_t *list = js_array();

	for (int i = 0; i < GMT_CATEGORY_COUNT; i++) {
		const struct view_category *c = &t->training.categories[i];
		struct view_held held = view_category_held(c);

		if (view_category_is_used(c))
			js_append(list, JS_OBJECT({ "category", js_word(gmt_category_name(i)) },
						  { "live_bytes", js_u64(c->live) }, { "live_count", js_u64(c->count) },
						  { "at_peak_bytes", js_u64(c->at_peak) },
						  { "grown_bytes", json_integer(c->grown) },
						  { "each_iteration_bytes", json_stacks_each(&t->stacks, &held) }));
	}
	return list;
}

static json_t *add_cell(json_t *o, const struct phase_cell *cell)
{
	return JS_ADD(o, { "times", js_u64(cell->times) }, { "begin_bytes", js_u64(cell->begin) },
		      { "end_bytes", js_u64(cell->end) }, { "peak_bytes", js_u64(cell->peak) },
		      { "alloc_bytes", js_u64(cell->alloc_bytes) });
}

static json_t *iterations_to_json(const struct view_training *t)
{
	json_t *list = js_array();

	for (size_t i = 0; t->is_training && i < t->iteration_count; i++) {
		const struct phase_iteration *it = &t->iterations[i];
		bool is_whole = it->is_over && (it->number > 1 || t->first_is_whole);
		json_t *phases = js_object();

		for (int k = 0; k < GMT_TRAINING_COUNT; k++)
			if (it->cells[k].times)
				js_set(phases, gmt_training_name(k), add_cell(js_object(), &it->cells[k]));
		js_append(list, JS_OBJECT({ "iteration", js_u64(it->number) }, { "complete", json_boolean(is_whole) },
					  { "phases", phases }));
	}
	return list;
}

static json_t *ranges_to_json(const struct view_training *t)
{
	json_t *list = js_array();

	for (size_t i = 0; i < t->range_count; i++)
		js_append(list, add_cell(JS_OBJECT({ "name", JS_TEXT(t->ranges[i].name) }), &t->ranges[i].cell));
	return list;
}

static json_t *rises_to_json(const struct view_growth *g)
{
	return JS_OBJECT({ "bytes", js_u64(g->bytes) }, { "count", js_u64(g->count) },
			 { "iterations", js_u64(g->iterations) });
}

static json_t *training_to_json(const struct view_training *t)
{
	const struct view_growth *g = &t->growth;
	bool has_rises = g->count && g->count != g->iterations;

	if (!t->is_training)
		return json_null();
	return JS_OBJECT({ "iteration", js_u64(t->iteration) }, { "phase", js_word(gmt_training_name(t->phase)) },
			 { "growth_bytes", js_u64(has_rises ? 0 : g->bytes) },
			 { "growth_iterations", js_u64(has_rises ? 0 : g->count) },
			 { "rises", has_rises ? rises_to_json(g) : json_null() });
}

/* Counts only the blocks whose requested size is known. */
static json_t *requested_to_json(const struct view_torch *t)
{
	if (!t->sized)
		return json_null();
	return JS_OBJECT({ "live_count", js_u64(t->sized) }, { "live_bytes", js_u64(t->asked_bytes) },
			 { "block_bytes", js_u64(t->sized_bytes) });
}

static json_t *torch_to_json(const struct view *view, const struct view_torch *t)
{
	json_t *blocks, *segments;

	if (!t->seen)
		return json_null();
	blocks = JS_OBJECT({ "live_count", js_u64(t->blocks) }, { "live_bytes", js_u64(t->block_bytes) },
			   { "allocs", js_u64(t->allocs) }, { "frees", js_u64(t->frees) },
			   { "alloc_bytes", js_u64(t->alloc_bytes) }, { "freed_bytes", js_u64(t->freed_bytes) });
	segments = JS_OBJECT({ "live_count", js_u64(t->segments) }, { "live_bytes", js_u64(t->segment_bytes) });
	return JS_OBJECT({ "allocated", level_to_json(view, &t->allocated) },
			 { "reserved", level_to_json(view, &t->reserved) }, { "blocks", blocks },
			 { "segments", segments }, { "requested", requested_to_json(t) },
			 { "largest_free_gap_bytes", js_u64_if(t->gap_known, t->largest_free_gap) },
			 { "stacks", json_stacks_of(view, &t->stacks, false) },
			 { "before_attach_bytes", js_u64(t->training.before) },
			 { "categories", categories_to_json(t) },
			 { "training", training_to_json(&t->training) },
			 { "iterations", iterations_to_json(&t->training) },
			 { "ranges", ranges_to_json(&t->training) },
			 { "backend", js_word_if(t->backend, gmt_torch_backend_name(t->backend)) });
}

/* ---- processes ---- */

static json_t *row_to_json(const struct view *view, const struct view_row *r)
{
	const struct view_gpu *gpu = r->gpu >= 0 ? &view->gpus[r->gpu] : NULL;

	return JS_OBJECT({ "gpu", js_u64_if(gpu, (uint64_t)r->gpu) },
			 { "uuid", gpu ? JS_TEXT(gpu->uuid_text) : json_null() },
			 { "ordinal", js_u64_if(r->ordinal != VIEW_ORDINAL_UNKNOWN, r->ordinal) },
			 { "attributed", level_to_json(view, &r->attributed) },
			 { "classes", classes_to_json(view, r->by_class) },
			 { "physical", physical_to_json(view, r) },
			 { "before_attach_bytes", js_u64(r->before_attach) }, { "nvml", nvml_to_json(view, r) },
			 { "torch", torch_to_json(view, &r->torch) },
			 { "stacks", json_stacks_of(view, &r->stacks, r->has_physical) });
}

static json_t *anomalies_to_json(const uint64_t *counts)
{
	json_t *o = js_object();

	for (int i = 0; i < GMT_ANOMALY_COUNT; i++)
		js_set(o, gmt_anomaly_name(i), js_u64(counts[i]));
	return o;
}

static json_t *ooms_to_json(const uint64_t *counts)
{
	return JS_OBJECT({ "retry", js_u64(counts[GMT_OOM_RETRY]) }, { "raised", js_u64(counts[GMT_OOM_RAISED]) },
			 { "fatal", js_u64(counts[GMT_OOM_FATAL]) });
}

static json_t *process_to_json(const struct view *view, const struct view_proc *p)
{
	bool has_status = p->exited && p->exit_code != GMT_EXIT_CODE_UNKNOWN;
	json_t *rows = js_array(), *process;

	for (size_t i = 0; i < p->row_count; i++)
		js_append(rows, row_to_json(view, &p->rows[i]));
	process = JS_OBJECT({ "pid", js_u64(p->tgid) }, { "ns_pid", js_u64(p->ns_pid) }, { "uid", js_u64(p->uid) },
			    { "start_boottime_ns", js_u64(p->start_ns) }, { "comm", JS_TEXT(p->comm) },
			    { "cmdline", JS_TEXT(p->cmdline) });
	return JS_ADD(json_add_cgroup(process, p->cgroup), { "attached_at", json_moment(view, p->attach_ts_ns) },
		      { "window_start", json_moment(view, p->window_ns) },
		      { "from_start", json_boolean(p->from_start) }, { "exited", json_boolean(p->exited) },
		      { "exited_at", json_moment_if(view, p->exited, p->exit_ts_ns) },
		      { "wait_status", has_status ? json_integer(p->exit_code) : json_null() },
		      { "torch_silent", js_word_if(p->torch_silence, gmt_torch_silence_name(p->torch_silence)) },
		      { "classes", classes_to_json(view, p->by_class) },
		      { "anomalies", anomalies_to_json(p->anomalies) }, { "out_of_memory", ooms_to_json(p->ooms) },
		      { "unwinding", json_stacks_unwinding(&p->unwinding) },
		      { "host_stacks", json_stacks_of(view, &p->host_stacks, false) }, { "gpus", rows });
}

/* ---- the session ---- */

static json_t *neighbours_to_json(const struct view_gpu *g)
{
	json_t *list = js_array();

	for (size_t i = 0; i < g->neighbour_count; i++)
		js_append(list, JS_OBJECT({ "pid", js_u64(g->neighbours[i].tgid) },
					  { "comm", JS_TEXT(g->neighbours[i].comm) },
					  { "used_bytes", js_u64(g->neighbours[i].bytes) }));
	return list;
}

static json_t *gpu_to_json(const struct view_gpu *g)
{
	json_t *mig = json_null();

	if (g->flags & GMT_GPU_MIG)
		mig = JS_OBJECT({ "parent_index", js_u64(g->parent_index) },
				{ "gpu_instance", js_u64(g->gpu_instance) },
				{ "compute_instance", js_u64(g->compute_instance) });
	return JS_OBJECT({ "index", js_u64_if(g->index != UINT32_MAX, g->index) }, { "uuid", JS_TEXT(g->uuid_text) },
			 { "name", JS_TEXT(g->name) }, { "pci", JS_TEXT(g->pci) },
			 { "total_bytes", js_u64_if(g->total_bytes, g->total_bytes) },
			 { "used_bytes", js_u64_if(g->has_memory, g->used_bytes) },
			 { "free_bytes", js_u64_if(g->has_memory, g->free_bytes) },
			 { "processes_bytes", js_u64_if(g->has_memory, g->processes_bytes) },
			 { "neighbours", neighbours_to_json(g) },
			 { "more_neighbours", js_u64(g->more_neighbours) },
			 { "more_neighbours_bytes", js_u64(g->more_bytes) },
			 { "mig_mode", json_boolean(g->flags & GMT_GPU_MIG_PARENT) }, { "mig", mig });
}

static json_t *session_to_json(const struct gmt_session *s)
{
	json_t *layers = js_array();
	const char *name;
	unsigned int bit;

	for (size_t i = 0; (name = gmt_layer_name(i, &bit)); i++)
		if (s->layers & bit)
			js_append(layers, js_word(name));
	return JS_OBJECT({ "version", JS_TEXT(s->version) }, { "host", JS_TEXT(s->host) },
			 { "kernel", JS_TEXT(s->kernel) }, { "driver", JS_TEXT(s->driver) }, { "layers", layers },
			 { "why_no_kernel_layer", JS_TEXT(s->why_no_kernel) },
			 { "why_no_nvml", JS_TEXT(s->why_no_nvml) });
}

static json_t *library_to_json(const struct gmt_library *l)
{
	return JS_OBJECT({ "path", JS_TEXT(l->path) }, { "build_id", JS_TEXT(l->build_id) },
			 { "device", js_u64(l->dev) }, { "inode", js_u64(l->ino) }, { "probes", js_u64(l->probes) },
			 { "absent", js_u64(l->absent) }, { "behind_endbr64", js_u64(l->shifted) },
			 { "attach_us", js_u64(l->attach_us) });
}

static json_t *limit_to_json(const struct gmt_limit *l)
{
	return JS_OBJECT({ "what", JS_TEXT(l->what) }, { "why", JS_TEXT(l->why) }, { "remedy", JS_TEXT(l->remedy) });
}

static json_t *losses_to_json(const struct view *view)
{
	json_t *o = js_object();

	for (int i = 0; i < GMT_LOSS_COUNT; i++)
		js_set(o, gmt_loss_name(i), js_u64(view->loss[i]));
	return o;
}

static json_t *gpus_to_json(const struct view *view)
{
	json_t *gpus = js_array();

	for (size_t i = 0; i < view->gpu_count; i++)
		js_append(gpus, gpu_to_json(&view->gpus[i]));
	return gpus;
}

static json_t *ended_to_json(const struct view *view)
{
	const struct view_ended *e = &view->ended;

	return JS_OBJECT({ "count", js_u64(e->count) }, { "classes", classes_to_json(view, e->by_class) },
			 { "anomalies", anomalies_to_json(e->anomalies) },
			 { "out_of_memory", ooms_to_json(e->ooms) });
}

static json_t *finding_to_json(const struct view *view, const struct finding *f)
{
	bool has_line = f->line && f->line->state == VIEW_LINE_OWN;
	struct out sentence;
	json_t *said;
	char *text;

	out_init_mem(&sentence);
	finding_text_say(&sentence, view, f);
	text = out_take(&sentence);
	said = js_text(text, strlen(text));
	free(text);
	return JS_OBJECT({ "finding", js_word(finding_name(f->kind)) },
			 { "ground", js_word(finding_ground_name(finding_ground(f->kind))) },
			 { "cause", js_word_if(f->why, oom_cause_name(f->why ? f->why->cause : 0)) },
			 { "process", js_u64_if(f->proc != FINDING_NONE, f->proc) },
			 { "row", js_u64_if(f->row != FINDING_NONE, f->row) },
			 { "gpu", js_u64_if(f->gpu >= 0, (uint64_t)f->gpu) }, { "bytes", js_u64(f->bytes) },
			 { "part_bytes", js_u64(f->part) }, { "count", js_u64(f->count) },
			 { "iterations", js_u64_if(f->iterations, f->iterations) },
			 { "left", js_u64_if(f->left != FINDING_LEFT_UNKNOWN, f->left) },
			 { "left_ns", js_u64_if(f->left_ns != FINDING_LEFT_UNKNOWN, f->left_ns) },
			 { "stopped", json_moment_if(view, f->stopped_ns, f->stopped_ns) },
			 { "since", json_moment_if(view, f->since_ns, f->since_ns) },
			 { "other_process", js_u64_if(f->other != FINDING_NONE, f->other) },
			 { "symbol", js_u64_if(has_line, has_line ? f->line->symbol : 0) },
			 { "sentence", said }, { "remedy", js_word(finding_text_remedy(view, f)) });
}

static json_t *findings_to_json(const struct view *view)
{
	json_t *list = js_array();

	for (size_t i = 0; i < view->finding_count; i++)
		js_append(list, finding_to_json(view, &view->findings[i]));
	return list;
}

static json_t *lists_to_json(const struct view *view, const struct sink_opts *opts)
{
	json_t *limits = js_array(), *libraries = js_array(), *notes = js_array();

	for (size_t i = 0; i < view->limits.count; i++)
		js_append(limits, limit_to_json(&view->limits.list[i]));
	for (size_t i = 0; i < view->library_count; i++)
		js_append(libraries, library_to_json(&view->libraries[i]));
	for (size_t i = 0; i < opts->note_count; i++)
		js_append(notes, js_word(opts->notes[i]));
	return JS_OBJECT({ "findings", findings_to_json(view) }, { "ended_processes", ended_to_json(view) },
			 { "limits", limits }, { "libraries", libraries },
			 { "libraries_forgotten", js_u64(view->libraries_forgotten) },
			 { "stacks", json_stacks_list(view) }, { "symbols", json_stacks_symbols(view) },
			 { "notes", notes });
}

/* What gpumemtrace itself has. */
static json_t *memory_to_json(const struct gmt_memory *m)
{
	if (!m->hdr.size)
		return json_null();
	return JS_OBJECT({ "tracer_bytes", js_u64(m->tracer_bytes) }, { "readers_bytes", js_u64(m->readers_bytes) },
			 { "most_bytes", js_u64(m->most_bytes) },
			 { "maps_bytes", js_u64_if(m->maps_bytes, m->maps_bytes) },
			 { "bound_bytes", js_u64(m->bound_bytes) },
			 { "shed", js_word_if(m->shed, gmt_shed_name(m->shed)) });
}

#define DROP_NAME 32

static json_t *head_to_json(const struct view *view, const struct sink_opts *opts, const char *type)
{
	bool has_end = view->end_reason < GMT_END_COUNT;
	json_t *records = JS_OBJECT({ "total", js_u64(view->records) }, { "unknown", js_u64(view->records_unknown) },
				    { "malformed", js_u64(view->records_malformed) });

	for (enum view_drop drop = 0; drop < VIEW_DROP_COUNT; drop++) {
		char name[DROP_NAME];

		snprintf(name, sizeof(name), "%s_dropped", view_drop_name(drop));
		js_set(records, name, js_u64(view->dropped[drop]));
	}
	return JS_OBJECT({ "schema", js_word(JSON_SCHEMA) }, { "type", js_word(type) },
			 { "made_at", js_utc(opts->made_ns) }, { "at", json_moment(view, view->now_ns) },
			 { "end_reason", js_word_if(has_end, gmt_end_name(view->end_reason)) },
			 { "marks", js_u64(view->marks) },
			 { "marked_at", json_moment_if(view, view->marks, view->mark_ns) },
			 { "session", session_to_json(&view->session) }, { "lost", js_u64(view_lost(view)) },
			 { "losses", losses_to_json(view) }, { "records", records },
			 { "anomalies", anomalies_to_json(view->anomalies) },
			 { "own_memory", memory_to_json(&view->memory) }, { "gpus", gpus_to_json(view) });
}

/* There may be tens of thousands of processes. */
void json_view_write(struct out *out, const struct view *view, const struct sink_opts *opts, const char *type,
		     json_t *oom)
{
	js_open(out, head_to_json(view, opts, type));
	js_list(out, "processes");
	for (size_t i = 0; i < view->proc_count; i++)
		js_item(out, process_to_json(view, &view->procs[i]), !i);
	js_list_end(out);
	js_close(out, JS_ADD(lists_to_json(view, opts), { "oom", oom }));
}

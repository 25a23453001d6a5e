/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/view/oom_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/xalloc.h"
#include "core/framework/waiting.h"
#include "core/view/by_stack.h"
#include "core/history/history.h"
#include "core/ledger/ledger_state.h"
#include "core/oom/oom_requests.h"
#include "core/pipeline/pipeline.h"
#include "core/view/picture_over_time.h"
#include "core/view/thresholds.h"
#include "core/view/view_facts.h"

struct maker {
	const struct pipeline *pipeline;
	const struct oom *oom;
	struct oom_view *out;
	struct by_stack by_stack;
	struct hash waiting;     /* struct waiting_ids, by stack id */
	struct hash by_tgid;     /* size_t: 1 + index in view.procs. A dump's rows may be of many processes */
};

/* ---- processes ---- */

/* The index in view.procs; the process is added if need be. */
static size_t proc_of(struct maker *m, uint32_t tgid)
{
	struct view *view = &m->out->view;
	const struct process *p = process_newest(&m->pipeline->ledger->processes, tgid);
	size_t *index = hash_put(&m->by_tgid, tgid, NULL);
	struct view_proc *to;

	if (*index)
		return *index - 1;
	*index = view->proc_count + 1;
	view->procs = xgrow(view->procs, view->proc_count, sizeof(*view->procs));
	to = &view->procs[view->proc_count];
	if (p)
		view_fill_facts(m->pipeline, p, to);
	else
		*to = (struct view_proc){ .tgid = tgid, .ns_pid = tgid };
	/* At the moment of the picture the process lived, and failures were not counted yet. */
	to->exited = false;
	memset(to->ooms, 0, sizeof(to->ooms));
	memset(to->host_ooms, 0, sizeof(to->host_ooms));
	return view->proc_count++;
}

static int gpu_of(const struct view *view, const uint8_t *uuid)
{
	for (size_t i = 0; i < view->gpu_count; i++)
		if (!memcmp(view->gpus[i].uuid, uuid, GMT_UUID_BYTES))
			return (int)i;
	return VIEW_GPU_UNKNOWN;
}

/* Where the record names no GPU, the process that asked has memory on one GPU alone, or the machine has only one. */
static void infer_gpu(const struct oom *oom, struct oom_view *out)
{
	bool is_on_gpu = oom->rec.class_id == GMT_OOM_CLASS_NONE ||
			 gmt_class_is_device((enum gmt_class)oom->rec.class_id);
	int found = VIEW_GPU_UNKNOWN;

	if (!is_on_gpu || oom->rec.outcome == GMT_OOM_NONE)
		return;
	for (size_t i = 0; i < oom->row_count; i++) {
		int gpu = gpu_of(&out->view, oom->rows[i].uuid);

		if (oom->rows[i].hdr.tgid != oom->rec.hdr.tgid || oom->rows[i].flags & GMT_OOM_ROW_HOST ||
		    gpu == VIEW_GPU_UNKNOWN)
			continue;
		if (found != VIEW_GPU_UNKNOWN && found != gpu)
			return;
		found = gpu;
	}
	if (found == VIEW_GPU_UNKNOWN && out->view.gpu_count == 1)
		found = 0;
	out->gpu = found;
	out->is_gpu_inferred = found != VIEW_GPU_UNKNOWN;
}

/* ---- stacks ---- */

enum which { ALL, RECENT, STEADY };

/* The greatest stack comes first, but is set last: of stacks that read alike, its purpose is to stay. */
static void set_purposes_of(struct maker *m, const struct gmt_oom_stack *from, size_t count, struct view_stacks *to)
{
	struct view_purpose *purposes = xcalloc(count, sizeof(*purposes));
	size_t used = 0;

	for (size_t i = count; i-- > 0;)
		if (from[i].purpose)
			purposes[used++] = (struct view_purpose){
				.stack_id = from[i].stack_id, .category = from[i].purpose - 1, .live = from[i].live,
			};
	by_stack_set_purposes(&m->by_stack, to, purposes, used);
	free(purposes);
}

static void take_waiting(struct maker *m)
{
	for (size_t i = 0; i < m->oom->waiting_count; i++)
		waiting_add(&m->waiting, m->oom->waiting[i].stack_id, m->oom->waiting[i].waiting_id);
}

/* Before the stack is added. */
static void set_waiting(struct maker *m, uint32_t stack_id)
{
	if (m->waiting.value_size)
		by_stack_set_waiting(&m->by_stack, stack_id, hash_get(&m->waiting, stack_id));
}

static void fill_stacks(struct maker *m, const struct gmt_oom_stack *from, size_t count, enum which which,
			struct view_stacks *to)
{
	*to = (struct view_stacks){ 0 };
	for (size_t i = 0; i < count; i++)
		if (from[i].flags & GMT_OOM_STACK_RESERVE)
			by_stack_mark(&m->by_stack, from[i].stack_id, BY_STACK_RESERVE);
	for (size_t i = 0; i < count; i++) {
		struct stacks_row row = {
			.stack_id = from[i].stack_id, .live = from[i].live, .count = from[i].count,
			.at_peak = from[i].at_peak,
			.grown = which == RECENT ? from[i].recent : from[i].grown,
			.allocs = from[i].allocs, .frees = from[i].frees, .alloc_bytes = from[i].alloc_bytes,
		};

		if (which == STEADY && !(from[i].flags & GMT_OOM_STACK_STEADY))
			continue;
		to->live += row.live;
		set_waiting(m, row.stack_id);
		by_stack_add(&m->by_stack, &row, NULL, NULL);
	}
	by_stack_take(&m->by_stack, to);
	set_purposes_of(m, from, count, to);
}

/* ---- rows ---- */

static uint64_t bytes_beyond(const struct view_training *t, enum gmt_category category, uint64_t usual)
{
	uint64_t live = t->categories[category].live;

	return live > usual ? live - usual : 0;
}

/* A picture does not say how long blocks live. Of gradients and of optimizer state those bytes have outlived their
 * iteration that a model does not need; where the parameters are not known, nobody knows what the model needs. */
static void guess_late(struct view_training *t)
{
	uint64_t parameters = t->categories[GMT_CATEGORY_PARAMETER].live;

	t->categories[GMT_CATEGORY_KEPT].late = t->categories[GMT_CATEGORY_KEPT].live;
	if (!parameters || t->before)
		return;
	t->categories[GMT_CATEGORY_GRADIENT].late = bytes_beyond(t, GMT_CATEGORY_GRADIENT, parameters);
	t->categories[GMT_CATEGORY_OPTIMIZER_STATE].late =
		bytes_beyond(t, GMT_CATEGORY_OPTIMIZER_STATE, share_of(parameters, STATE_SHARE));
}

static void read_row_torch(const struct gmt_oom_row *from, struct view_torch *to)
{
	*to = (struct view_torch){
		.seen = from->flags & GMT_OOM_ROW_TORCH, .backend = from->torch_backend,
		.allocated.live = from->torch_allocated, .reserved.live = from->torch_reserved,
		.gap_known = from->flags & GMT_OOM_ROW_GAP, .largest_free_gap = from->torch_gap,
		.training = {
			.before = from->torch_before, .is_training = from->iteration != 0,
			.iteration = from->iteration, .phase = from->phase,
			.growth = {
				.bytes = from->growth, .count = from->growth_count,
				.iterations = from->growth_iterations > from->growth_count ?
					      from->growth_iterations : from->growth_count,
			},
		},
	};
	for (int c = 0; c < GMT_OOM_CATEGORIES; c++) {
		int known = c < GMT_CATEGORY_COUNT ? c : GMT_CATEGORY_UNKNOWN;

		to->training.categories[known].live += from->category_bytes[c];
	}
	guess_late(&to->training);
}

static void fill_gpu_row(const struct maker *m, const struct gmt_oom_row *from, struct view_row *to)
{
	*to = (struct view_row){
		.gpu = gpu_of(&m->out->view, from->uuid),
		.ordinal = from->device ? from->device - 1u : VIEW_ORDINAL_UNKNOWN,
		.attributed.live = from->attributed,
		.has_physical = from->flags & GMT_OOM_ROW_PHYSICAL,
		.physical.live = from->physical,
		.context = from->context, .modules = from->modules, .pool_reserve = from->pool_reserve,
		.rounding = from->rounding, .other = from->other,
		.before_attach = from->before_attach,
	};
	for (int c = 0; c < GMT_CLASS_COUNT; c++)
		to->by_class[c].bytes.live = from->class_bytes[c];
	read_row_torch(from, &to->torch);
}

static uint64_t held_of(const struct gmt_oom_row *r)
{
	uint64_t nvml = r->flags & GMT_OOM_ROW_NVML ? r->nvml : 0, sum = 0;

	if (r->flags & GMT_OOM_ROW_HOST) {
		for (int c = 0; c < GMT_OOM_CLASSES; c++)
			sum += r->class_bytes[c];
		return sum;
	}
	if (r->flags & GMT_OOM_ROW_PHYSICAL)
		return r->physical + r->before_attach;
	return nvml > r->attributed ? nvml : r->attributed;
}

/* The row that has the blocks; OOM_VIEW_NONE: the dump does not have the row. */
static size_t row_of_blocks(struct maker *m, const struct gmt_oom_row *from, const struct view_proc *proc)
{
	int gpu = gpu_of(&m->out->view, from->uuid);

	for (size_t i = proc->row_count; i-- > 0;)
		if (proc->rows[i].gpu == gpu)
			return i;
	return OOM_VIEW_NONE;
}

static void add_view_row(struct maker *m, const struct gmt_oom_row *from, const struct gmt_oom_stack *stacks)
{
	struct oom_view *out = m->out;
	struct oom_view_row *row = &out->rows[out->row_count++];
	struct view_proc *proc;
	struct view_stacks *all;

	*row = (struct oom_view_row){
		.proc = proc_of(m, from->hdr.tgid), .row = OOM_VIEW_NONE, .held = held_of(from),
		.has_nvml = from->flags & GMT_OOM_ROW_NVML, .nvml = from->nvml, .nvml_ts_ns = from->nvml_ns,
		.rest_bytes = from->rest_bytes, .rest = from->rest, .recent_ns = from->recent_ns,
	};
	proc = &out->view.procs[row->proc];
	if (from->flags & GMT_OOM_ROW_BLOCKS) {
		row->row = row_of_blocks(m, from, proc);
		if (row->row == OOM_VIEW_NONE) {
			out->row_count--;
			return;
		}
		row->is_blocks = true;
		all = &proc->rows[row->row].torch.stacks;
		view_stacks_free(all);
	} else if (from->flags & GMT_OOM_ROW_HOST) {
		for (int c = 0; c < GMT_CLASS_COUNT; c++)
			proc->by_class[c].bytes.live = from->class_bytes[c];
		view_stacks_free(&proc->host_stacks);
		all = &proc->host_stacks;
	} else {
		row->row = proc->row_count;
		proc->rows = xreallocarray(proc->rows, proc->row_count + 1, sizeof(*proc->rows));
		fill_gpu_row(m, from, &proc->rows[proc->row_count]);
		all = &proc->rows[proc->row_count++].stacks;
	}
	fill_stacks(m, stacks, from->stacks, ALL, all);
	fill_stacks(m, stacks, from->stacks, RECENT, &row->recent);
	fill_stacks(m, stacks, from->stacks, STEADY, &row->steady);
	all->peak = from->stacks_peak;
	all->peak_ts_ns = from->stacks_peak_ns;
	all->since_ns = row->steady.since_ns = from->since_ns;
	row->recent.since_ns = from->recent_ns;
	if (row->row != OOM_VIEW_NONE && !row->is_blocks && proc->rows[row->row].has_physical)
		all->unexplained = (int64_t)(from->physical - from->rest_bytes - all->live);
}

static int compare_oom_rows(const void *left, const void *right)
{
	const struct oom_view_row *a = left, *b = right;

	if (a->is_blocks != b->is_blocks)
		return a->is_blocks ? 1 : -1;
	if (a->held != b->held)
		return a->held < b->held ? 1 : -1;
	if (a->proc != b->proc)
		return a->proc < b->proc ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

void oom_view_build(const struct pipeline *pl, const struct oom *oom, const struct view_request *request,
		    struct oom_view *out)
{
	const struct ledger *l = pl->ledger;
	struct maker m = { .pipeline = pl, .oom = oom, .out = out };
	int order[GPUS_MAX];
	size_t at = 0;

	*out = (struct oom_view){ .rec = oom->rec, .proc = OOM_VIEW_NONE, .stack = OOM_VIEW_NONE,
				  .backward = OOM_VIEW_NONE };
	view_fill_session(l, request, &out->view);
	out->view.now_ns = oom->rec.hdr.ts_ns;
	view_fill_gpus(l, &out->view, order);
	view_set_gpus(&out->view, oom);
	out->gpu = gpu_of(&out->view, oom->rec.uuid);
	if (out->gpu == VIEW_GPU_UNKNOWN)
		infer_gpu(oom, out);
	by_stack_init(&m.by_stack, &l->frames, request, &out->view);
	hash_init(&m.by_tgid, sizeof(size_t));
	take_waiting(&m);
	out->rows = xcalloc(oom->row_count, sizeof(*out->rows));
	if (oom->rec.hdr.tgid)
		out->proc = proc_of(&m, oom->rec.hdr.tgid);
	for (size_t i = 0; i < oom->row_count; at += oom->rows[i++].stacks)
		add_view_row(&m, &oom->rows[i], oom->stacks ? oom->stacks + at : NULL);
	if (request->over_time)
		picture_over_time(pl, &m.by_stack, &oom->rec, &out->view);
	if (oom->rec.stack_id)
		out->stack = by_stack_show(&m.by_stack, oom->rec.stack_id);
	if (oom->rec.backward_stack_id)
		out->backward = by_stack_show(&m.by_stack, oom->rec.backward_stack_id);
	if (out->row_count)
		qsort(out->rows, out->row_count, sizeof(*out->rows), compare_oom_rows);
	by_stack_fini(&m.by_stack);
	hash_fini(&m.by_tgid);
	hash_fini(&m.waiting);
	oom_judge(out);
	oom_decide(out);
	oom_parts(out);
	oom_find(out);
	if (request->over_time)
		oom_find_request(out);
}

void oom_view_free(struct oom_view *v)
{
	for (size_t i = 0; i < v->row_count; i++) {
		view_stacks_free(&v->rows[i].recent);
		view_stacks_free(&v->rows[i].steady);
	}
	free(v->rows);
	view_free(&v->view);
}

/* ---- changes ---- */

static void count_event(struct history_changes *c, const struct history_event *e)
{
	bool is_block = e->kind == GMT_HISTORY_BLOCK_ALLOC || e->kind == GMT_HISTORY_BLOCK_FREE;
	struct history_change *change = is_block ? &c->blocks : &c->segments;

	if (e->kind == GMT_HISTORY_BLOCK_ALLOC || e->kind == GMT_HISTORY_SEGMENT_ALLOC) {
		change->allocs++;
		change->alloc_bytes += e->size;
	} else if (e->kind == GMT_HISTORY_BLOCK_FREE || e->kind == GMT_HISTORY_SEGMENT_FREE) {
		change->frees++;
		change->freed_bytes += e->size;
	}
}

void history_changes(const struct history *h, uint32_t tgid, uint64_t end, uint64_t until_ns, uint64_t span_ns,
		     struct history_changes *out)
{
	*out = (struct history_changes){ .until_ns = until_ns };
	for (uint64_t n = end; n-- > h->first;) {
		const struct history_event *e = history_event(h, n);
		const struct history_process *hp = &h->processes[e->process];

		if (e->ts_ns + span_ns < until_ns)
			break;
		if (n < hp->since || (tgid && hp->of->tgid != tgid))
			continue;
		out->since_ns = e->ts_ns;
		count_event(out, e);
	}
}

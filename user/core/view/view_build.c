/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds a view (view.h) from the states of the core. */
#include "core/view/view.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "core/ledger/balance.h"
#include "core/view/by_stack.h"
#include "core/view/finding.h"
#include "core/view/request_why.h"
#include "core/view/view_facts.h"
#include "core/view/view_filter.h"
#include "core/view/view_placed.h"
#include "core/view/view_single.h"
#include "core/view/view_over_time.h"
#include "core/framework/framework.h"
#include "core/framework/frameworks.h"
#include "core/history/history.h"
#include "core/ledger/ledger_state.h"
#include "core/oom/oom_requests.h"
#include "core/pipeline/pipeline.h"

/* ---- rows ---- */

static bool has_anything(const struct row *row, const struct rm_physical *physical, const struct view_torch *torch)
{
	for (int i = 0; i < GMT_CLASS_COUNT; i++) {
		const struct view_class *class = &row->by_class[i];

		if (class->allocs || class->failed || class->live_count)
			return true;
	}
	return row->nvml.has || row->physical.peak || physical->total || physical->imported || torch->seen;
}

static void fill_nvml(const struct row *row, struct view_row *out)
{
	const struct row_nvml *nvml = &row->nvml;

	out->has_nvml = nvml->has;
	out->nvml = nvml->used;
	out->nvml_ts_ns = nvml->ts_ns;
	out->nvml_baseline = nvml->baseline;
	out->before_attach = nvml->before;
	out->before_inferred = nvml->inferred;
	out->residual = nvml->sum.residual;
	out->at_nvml = nvml->sum;
}

static uint32_t find_ordinal(const struct framework *f, const struct process *p, unsigned int row)
{
	unsigned int ordinal = framework_ordinal(f, p, row);

	return ordinal == ORDINAL_NONE ? VIEW_ORDINAL_UNKNOWN : ordinal;
}

static void fill_view_row(const struct process *p, const struct row *row, const struct rm_physical *physical,
			  struct view_row *out)
{
	struct view_sum sum;

	balance_sum(p, row, &sum);
	*out = (struct view_row){
		.gpu = row->gpu,
		.attributed = row->attributed,
		.has_physical = process_has_kernel(p),
		.physical = row->physical,
		.context = sum.context,
		.modules = sum.modules,
		.pool_reserve = sum.pool_reserve,
		.rounding = sum.rounding,
		.other = sum.other,
		.checkpointed = sum.checkpointed,
		.imported_physical = physical->imported,
		.before_frees = balance_before_frees(p, row),
	};
	memcpy(out->by_class, row->by_class, sizeof(out->by_class));
	memcpy(out->by_purpose, physical->by_purpose, sizeof(out->by_purpose));
	out->physical.live = physical->total;
	fill_nvml(row, out);
}

/* Known GPUs in the order of view->gpus, the unknown GPU last. */
static int compare_gpu_rows(const void *left, const void *right)
{
	const struct view_row *a = left, *b = right;
	unsigned int key_a = a->gpu, key_b = b->gpu;

	return (key_a > key_b) - (key_a < key_b);
}

struct maker {
	const struct ledger *ledger;
	const struct pipeline *pipeline;
	const struct view_request *request;
	int order[GPUS_MAX];
	struct by_stack by_stack;
	/* of the current process */
	const struct process *p;
	const struct framework *f;      /* NULL: none */
	const struct held_ages *ages;   /* NULL: not asked for */
};

/* The moment from which on growth counts: enum stacks_moment. */
static unsigned int grown_since(const struct maker *m, uint64_t *ns)
{
	return process_since_window(m->p, m->p->exited ? m->p->exit_ts_ns : m->ledger->now_ns, ns);
}

/* A program frees its memory before it ends. So its memory may rise until the peak; or until the newest mark, if that
 * is later and most of the memory was still there, or if nothing is known of the time before the peak. */
static unsigned int find_last(const struct process *p, const struct stacks *stacks, uint64_t *ns)
{
	unsigned int newest = process_newest_mark(p, ns);
	uint64_t since_ns;

	if (stacks->peak_ts_ns < *ns && (stacks_sum(stacks, newest) >= stacks->peak / 2 ||
					 process_since_window(p, stacks->peak_ts_ns, &since_ns) >= STACKS_MARKS))
		return newest;
	*ns = stacks->peak_ts_ns;
	return STACKS_AT_PEAK;
}

static void fill_held_stacks(struct maker *m, const struct by_stack_of *of, struct iteration_span iterations,
			     struct view_stacks *out)
{
	const struct process *p = m->p;
	struct by_stack_moments moments = { .rise.until_ns = m->ledger->now_ns, .iterations = iterations };
	struct view_rise *rise = &moments.rise;
	unsigned int *at = moments.rise_at;

	moments.since = grown_since(m, &moments.since_ns);
	at[STACKS_RISE_UNTIL] = of->has_ended ? find_last(p, of->stacks, &rise->until_ns) : STACKS_NOW;
	at[STACKS_RISE_SINCE] = process_since_window(p, rise->until_ns, &rise->since_ns);
	at[STACKS_RISE_LATER] = process_since_later(p, rise->until_ns, &rise->later_ns);
	/* Growth from the attach on is a start-up. */
	if (at[STACKS_RISE_SINCE] >= STACKS_MARKS || rise->later_ns <= rise->since_ns) {
		at[STACKS_RISE_LATER] = at[STACKS_RISE_UNTIL];
		rise->later_ns = 0;
	}
	by_stack_fill(&m->by_stack, of, &moments, out);
}

static void fill_row_stacks(struct maker *m, unsigned int row, struct view_row *out)
{
	const struct stacks *blocks = framework_stacks(m->f, row);
	const struct iteration_span none = { 0 };
	struct by_stack_of of = {
		.ends = &m->ledger->stack_ends, .segments = framework_segment_stacks(m->f), .ages = m->ages, .row = row,
		.waiting = framework_waiting(m->f), .has_ended = m->p->exited,
	};

	of.stacks = &m->p->account.rows[row].stacks;
	fill_held_stacks(m, &of, none, &out->stacks);
	of = (struct by_stack_of){
		.stacks = blocks, .ends = of.ends, .waiting = of.waiting, .has_ended = m->p->exited,
	};
	if (blocks)
		fill_held_stacks(m, &of, framework_iterations(m->f, row), &out->torch.stacks);
	by_stack_set_purposes(&m->by_stack, &out->torch.stacks, out->torch.training.purposes,
			      out->torch.training.purpose_count);
	if (out->has_physical)
		out->stacks.unexplained = (int64_t)(out->physical.live + out->checkpointed - out->stacks.live);
}

static void fill_rows(struct maker *m, struct view_proc *out)
{
	const struct account *account = &m->p->account;

	for (unsigned int i = 0; i < account->count; i++) {
		const struct row *row = &account->rows[i];
		struct rm_physical physical;
		struct view_torch torch;
		struct view_row *to;
		uint64_t since_ns;

		balance_physical(m->p, row, &physical);
		framework_view(m->f, i, &m->ledger->frames, m->ledger->now_ns, grown_since(m, &since_ns), &torch);
		if (!has_anything(row, &physical, &torch))
			continue;
		out->rows = xgrow(out->rows, out->row_count, sizeof(*out->rows));
		to = &out->rows[out->row_count++];
		fill_view_row(m->p, row, &physical, to);
		to->ordinal = find_ordinal(m->f, m->p, i);
		to->torch = torch;
		to->gpu = row->gpu == GPU_UNKNOWN ? VIEW_GPU_UNKNOWN : m->order[row->gpu];
		fill_row_stacks(m, i, to);
		if (m->request->over_time)
			to->timeline = view_over_time(m->pipeline->timeline, m->p, i, m->f, &m->ledger->frames,
						      &to->torch.training, &m->by_stack);
	}
	if (out->row_count)
		qsort(out->rows, out->row_count, sizeof(*out->rows), compare_gpu_rows);
}

/* ---- processes ---- */

/* Fills in the rows and the host memory, of this moment or of the process's end. */
static void fill_memory(struct maker *m, struct view_proc *out)
{
	uint64_t now_ns = m->p->exited ? m->p->exit_ts_ns : m->ledger->now_ns;
	uint64_t older_than_ns = m->request->older_than_ns;
	struct by_stack_of host;
	struct held_ages ages;

	m->ages = m->request->ages ? &ages : NULL;
	if (m->ages)
		held_ages_init(&ages, m->p, now_ns > older_than_ns ? now_ns - older_than_ns : 0);
	fill_rows(m, out);
	host = (struct by_stack_of){
		.stacks = &m->p->account.stacks, .ends = &m->ledger->stack_ends, .ages = m->ages, .row = ROW_NONE,
		.has_ended = m->p->exited,
	};
	fill_held_stacks(m, &host, (struct iteration_span){ 0 }, &out->host_stacks);
	if (m->ages)
		held_ages_fini(&ages);
	m->ages = NULL;
}

static void fill_proc(struct maker *m, const struct process *p, struct view_proc *out)
{
	m->p = p;
	m->f = frameworks_of(m->pipeline->frameworks, p);
	view_fill_facts(m->pipeline, p, out);
	out->number = p->index + 1;
	memcpy(out->by_class, p->account.by_class, sizeof(out->by_class));
	out->torch_silence = torch_silence(m->f, p, &m->ledger->frames);
	fill_memory(m, out);
	out->why = view_find_why(m->pipeline, p, m->request);
}

static void add_ended(const struct maker *m, const struct process *p, struct view_ended *sum)
{
	struct framework *f = frameworks_of(m->pipeline->frameworks, p);
	struct oom_counts ooms = ooms_counts(m->pipeline->ooms, p);

	process_sum(p, sum);
	for (int k = 0; k < GMT_ANOMALY_COUNT; k++)
		sum->anomalies[k] += view_anomalies_of(p, f, k) - p->anomalies[k];
	for (int k = 0; k < GMT_OOM_OUTCOME_COUNT; k++)
		sum->ooms[k] += ooms.of[k];
}

static void fill_process(struct maker *m, const struct process *p, struct view *view)
{
	for (int k = 0; k < GMT_ANOMALY_COUNT; k++)
		view->anomalies[k] += view_anomalies_of(p, frameworks_of(m->pipeline->frameworks, p), k);
	if (!p->touched)
		return;
	if (p->exited && p->end_number <= m->request->ends) {
		add_ended(m, p, &view->ended);
		return;
	}
	view->procs = xgrow(view->procs, view->proc_count, sizeof(*view->procs));
	fill_proc(m, p, &view->procs[view->proc_count++]);
}

static bool has_row_on(const struct maker *m, const struct process *p, const struct view *view)
{
	const struct framework *f = frameworks_of(m->pipeline->frameworks, p);
	bool found = false;

	for (unsigned int i = 0; i < p->account.count && !found; i++) {
		const struct row *row = &p->account.rows[i];
		struct rm_physical physical;
		struct view_torch torch;

		if (row->gpu == GPU_UNKNOWN || !view_wants_gpu(m->request, view, m->order[row->gpu]))
			continue;
		balance_physical(p, row, &physical);
		framework_view(f, i, &m->ledger->frames, m->ledger->now_ns, STACKS_NOW, &torch);
		found = has_anything(row, &physical, &torch);
		framework_training_free(&torch.training);
	}
	return found;
}

bool view_has_chosen(const struct pipeline *pl, const struct view_request *request)
{
	const struct ledger *l = pl->ledger;
	struct maker m = { .ledger = l, .pipeline = pl, .request = request };
	struct view view = { 0 };
	bool found = false;

	view_fill_gpus(l, &view, m.order);
	for (size_t i = 0; i < l->processes.count && !found; i++) {
		const struct process *p = l->processes.list[i];

		found = p && p->touched && !(p->exited && p->end_number <= request->ends) &&
			view_wants_process(request, p->tgid) && (!request->gpu || has_row_on(&m, p, &view));
	}
	free(view.gpus);
	return found;
}

unsigned int view_wanted_devices(const struct pipeline *pl, const struct view_request *request, const struct process *p,
				 bool *devices)
{
	struct maker m = { .ledger = pl->ledger, .pipeline = pl, .request = request };
	struct view view = { 0 };
	unsigned int count = 0;

	view_fill_gpus(pl->ledger, &view, m.order);
	for (int gpu = 0; gpu < (int)pl->ledger->gpus.count; gpu++) {
		unsigned int ordinal = process_ordinal(p, gpu);

		if (ordinal == ORDINAL_NONE || !view_wants_gpu(request, &view, m.order[gpu]))
			continue;
		devices[ordinal] = true;
		count++;
	}
	free(view.gpus);
	return count;
}

void view_build(const struct pipeline *pl, const struct view_request *request, struct view *view)
{
	static const struct view_request nothing;
	const struct ledger *l = pl->ledger;
	struct maker m = { .ledger = l, .pipeline = pl, .request = request ? request : &nothing };

	view_fill_session(l, m.request, view);
	view_fill_gpus(l, view, m.order);
	view->dropped[VIEW_DROP_WAITING] = frameworks_waiting_dropped(pl->frameworks);
	view->dropped[VIEW_DROP_PHASES] = frameworks_phases_dropped(pl->frameworks);
	view->dropped[VIEW_DROP_RANGES] = pl->history ? pl->history->marks.dropped : 0;
	by_stack_init(&m.by_stack, &l->frames, m.request, view);
	view->timelines_dropped = pl->timeline ? pl->timeline->dropped : 0;
	view->timelines_are_coarse = pl->timeline && pl->timeline->is_coarse;
	view->timelines_unseen = pl->timeline ? pl->timeline->unseen : 0;
	view->ended = l->processes.folded;
	view->ends = l->processes.ends;
	memcpy(view->anomalies, view->ended.anomalies, sizeof(view->anomalies));
	for (size_t i = 0; i < l->processes.count; i++)
		if (l->processes.list[i])
			fill_process(&m, l->processes.list[i], view);
	if (m.request->owners_dropped)
		view->dropped[VIEW_DROP_OWNERS] = m.request->owners_dropped(m.request->arg);
	view_filter(view, m.request);
	if (m.request->lives)
		view->lives = view_single(pl, &m.by_stack, m.order, view);
	if (m.request->instants)
		view->instants = view_placed(pl, &m.by_stack, view);
	by_stack_fini(&m.by_stack);
	view->findings = findings_make(view, &view->finding_count);
}

// SPDX-License-Identifier: BSD-2-Clause
/* The rules that make findings (finding.h). */
#include "core/view/finding_search.h"

#include <stdlib.h>

#include "base/count.h"
#include "base/xalloc.h"
#include "core/view/looked.h"
#include "core/view/thresholds.h"

/* ---- of a row ---- */

static void look_for_neighbour(struct finding_search *s)
{
	const struct finding_load *load = s->gpu ? &s->loads[s->row->gpu] : NULL;
	struct finding *f;

	if (!load || !s->gpu->has_memory || s->proc->exited || load->most_proc == s->proc_index ||
	    load->most <= view_holds(s->proc, s->row) ||
	    s->gpu->free_bytes > share_of(s->gpu->total_bytes, NEIGHBOUR_FREE_SHARE))
		return;
	f = finding_add(s, FINDING_OF_NEIGHBOUR);
	f->bytes = load->most;
	f->other = load->most_proc;
}

/* Memory of a GPU; also if a retry met the request. */
static bool lacked_memory(const struct view_proc *proc)
{
	static const enum gmt_oom_outcome outcomes[] = { GMT_OOM_RETRY, GMT_OOM_RAISED, GMT_OOM_FATAL };

	for (size_t i = 0; i < COUNT(outcomes); i++)
		if (proc->ooms[outcomes[i]] > proc->host_ooms[outcomes[i]])
			return true;
	return false;
}

static void look_for_fragments(struct finding_search *s)
{
	const struct view_torch *t = &s->row->torch;
	uint64_t cached = view_torch_cached(t);
	struct finding *f;

	if (!t->gap_known || s->proc->exited || !lacked_memory(s->proc) ||
	    !is_much(cached, FRAGMENTED_BYTES, t->reserved.live, FRAGMENTED_SHARE) ||
	    t->largest_free_gap >= share_of(cached, FRAGMENTED_SHARE))
		return;
	f = finding_add(s, FINDING_OF_FRAGMENTED);
	f->bytes = cached;
	f->part = t->largest_free_gap;
}

static void add_cache(struct finding_search *s, uint64_t bytes, uint64_t reserved)
{
	struct finding *f = finding_add(s, FINDING_OF_CACHED);

	f->bytes = bytes;
	f->part = reserved;
}

/* Between two iterations nearly all tensors are gone, and the next iteration uses the cache again. So the recent time
 * counts, from the device's first event on: nobody saw what tensors used before, also where the attach was earlier. */
static void look_for_cache(struct finding_search *s)
{
	const struct view_torch *t = &s->row->torch;

	if (t->seen && !s->proc->exited && !finding_in_row(s, FINDING_OF_FRAGMENTED) && t->recent_known &&
	    looked_unused(t))
		add_cache(s, view_torch_unused(t), t->reserved.live);
}

/* At its end a program has no tensors left, so its whole time counts. */
static void look_for_cache_of_ended(struct finding_search *s)
{
	const struct view_torch *t = &s->row->torch;

	if (t->seen && s->proc->exited && !s->row->before_attach && looked_never_used(t))
		add_cache(s, t->reserved.peak - t->allocated.peak, t->reserved.peak);
}

static void look_for_context(struct finding_search *s)
{
	if (s->row->context > 0 && (uint64_t)s->row->context >= CONTEXT_BYTES)
		finding_add(s, FINDING_OF_CONTEXT)->bytes = (uint64_t)s->row->context;
	if (s->row->other > 0 && (uint64_t)s->row->other >= LAUNCH_BYTES)
		finding_add(s, FINDING_OF_LAUNCHES)->bytes = (uint64_t)s->row->other;
}

static void look_for_pool(struct finding_search *s)
{
	if (!s->proc->exited && s->row->pool_reserve > 0 &&
	    is_much((uint64_t)s->row->pool_reserve, POOL_BYTES, s->row->physical.live, POOL_SHARE))
		finding_add(s, FINDING_OF_POOL_RESERVE)->bytes = (uint64_t)s->row->pool_reserve;
}

static void look_before_attach(struct finding_search *s)
{
	/* NVML's last number of a process that has ended may be older than its last allocations. */
	uint64_t weight = view_weight(s->row);
	uint64_t all = s->proc->exited && weight > s->row->nvml ? weight : s->row->nvml;
	struct finding *f;

	if (!s->row->has_nvml || !is_much(s->row->before_attach, BEFORE_BYTES, all, BEFORE_SHARE))
		return;
	f = finding_add(s, FINDING_OF_BEFORE_ATTACH);
	f->bytes = s->row->before_attach;
	f->part = all;
}

/* A rule may ask for what the rules before have found. */
static void (*const row_rules[])(struct finding_search *s) = {
	finding_of_leak, finding_of_growth, finding_of_kept, finding_of_state, look_for_neighbour, look_for_fragments,
	look_for_cache,	look_for_cache_of_ended, look_for_context, look_for_pool, look_before_attach,
};

/* ---- of processes and GPUs ---- */

void finding_of_requests(struct finding_search *s, uint64_t failed)
{
	struct finding *f;

	if (!failed)
		return;
	f = finding_add(s, FINDING_OF_OUT_OF_MEMORY);
	f->count = failed;
	f->why = s->proc->why;
	if (!f->why)
		return;
	f->bytes = f->why->asked;
	f->part = f->why->bytes;
}

static void look_at_process(struct finding_search *s, size_t index)
{
	s->proc_index = index;
	s->proc = &s->view->procs[index];
	s->row_index = FINDING_NONE;
	s->row = NULL;
	finding_of_requests(s, s->proc->ooms[GMT_OOM_FATAL] + s->proc->ooms[GMT_OOM_RAISED]);
	for (s->row_index = 0; s->row_index < s->proc->row_count; s->row_index++) {
		s->row = &s->proc->rows[s->row_index];
		s->gpu = s->row->gpu >= 0 ? &s->view->gpus[s->row->gpu] : NULL;
		for (size_t i = 0; i < COUNT(row_rules); i++)
			row_rules[i](s);
	}
}

static void add_load(struct finding_search *s, size_t proc, const struct view_row *row)
{
	const struct view_proc *p = &s->view->procs[proc];
	struct finding_load *load = &s->loads[row->gpu];
	uint64_t weight = view_holds(p, row);

	/* The GPU's numbers may be older than the end of a process. */
	if (!p->exited || p->exit_ts_ns >= s->view->gpus[row->gpu].memory_ts_ns)
		load->traced += row->has_nvml ? row->nvml : weight;
	if (p->exited || weight <= load->most)
		return;
	load->most = weight;
	load->most_proc = proc;
}

static void find_loads(struct finding_search *s)
{
	s->loads = xcalloc(s->view->gpu_count, sizeof(*s->loads));
	for (size_t p = 0; p < s->view->proc_count; p++)
		for (size_t r = 0; r < s->view->procs[p].row_count; r++)
			if (s->view->procs[p].rows[r].gpu >= 0)
				add_load(s, p, &s->view->procs[p].rows[r]);
}

static void look_at_gpu(struct finding_search *s, int gpu)
{
	const struct view_gpu *g = &s->view->gpus[gpu];
	uint64_t traced = s->loads[gpu].traced;
	struct finding *f;

	if (!traced || !g->has_memory || g->processes_bytes <= traced || !g->total_bytes ||
	    g->processes_bytes - traced < share_of(g->total_bytes, UNTRACED_SHARE))
		return;
	f = finding_add(s, FINDING_OF_UNTRACED);
	f->gpu = gpu;
	f->bytes = g->processes_bytes - traced;
}

static int compare_findings(const void *left, const void *right)
{
	const struct finding *a = left, *b = right;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->proc != b->proc)
		return a->proc < b->proc ? -1 : 1;
	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	return (a->gpu > b->gpu) - (a->gpu < b->gpu);
}

void findings_sort(struct finding *list, size_t count)
{
	if (count)
		qsort(list, count, sizeof(*list), compare_findings);
}

struct finding *findings_make(const struct view *view, size_t *count)
{
	struct finding_search s = { .view = view };

	find_loads(&s);
	for (size_t i = 0; i < view->proc_count; i++)
		look_at_process(&s, i);
	s.proc_index = s.row_index = FINDING_NONE;
	s.row = NULL;
	/* In a part of the processes the others look untraced. */
	for (size_t g = 0; g < view->gpu_count && !view->is_filtered; g++)
		look_at_gpu(&s, (int)g);
	findings_sort(s.list, s.count);
	free(s.loads);
	*count = s.count;
	return s.list;
}

/* ---- names ---- */

const char *finding_name(enum finding_kind kind)
{
	static const char *const names[] = {
#define X(name, json, ground) [FINDING_OF_##name] = json,
		FINDINGS(X)
#undef X
	};

	return kind < FINDING_KIND_COUNT ? names[kind] : "?";
}

enum finding_ground finding_ground(enum finding_kind kind)
{
	static const enum finding_ground grounds[] = {
#define X(name, json, ground) [FINDING_OF_##name] = FINDING_##ground,
		FINDINGS(X)
#undef X
	};

	return grounds[kind];
}

const char *finding_ground_name(enum finding_ground ground)
{
	static const char *const names[] = {
#define X(name, json) [FINDING_##name] = json,
		FINDING_GROUNDS(X)
#undef X
	};

	return names[ground];
}

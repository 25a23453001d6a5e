// SPDX-License-Identifier: BSD-2-Clause
/* The rules that make findings (finding.h). */
#include "core/view/finding.h"

#include <stdlib.h>

#include "base/count.h"
#include "base/xalloc.h"
#include "core/view/looked.h"
#include "core/view/thresholds.h"
#include "core/view/view.h"

/* What running processes have on a GPU. */
struct load {
	uint64_t traced;         /* bytes, by NVML where it is known */
	uint64_t most;           /* bytes of the process that has most of it */
	size_t most_proc;
};

struct search {
	const struct view *view;
	struct finding *list;
	size_t count;
	struct load *loads;      /* by GPU */
	/* where the search is */
	size_t proc_index, row_index;
	const struct view_proc *proc;
	const struct view_row *row;
	const struct view_gpu *gpu;  /* NULL: not known */
};

static struct finding *add_finding(struct search *s, enum finding_kind kind)
{
	s->list = xgrow(s->list, s->count, sizeof(*s->list));
	s->list[s->count] = (struct finding){
		.kind = kind, .proc = s->proc_index, .row = s->row_index, .other = FINDING_NONE,
		.left = FINDING_LEFT_UNKNOWN, .left_ns = FINDING_LEFT_UNKNOWN,
		.gpu = s->row ? s->row->gpu : VIEW_GPU_UNKNOWN,
	};
	return &s->list[s->count++];
}

/* A finding of this row, or NULL. */
static const struct finding *found_in_row(const struct search *s, enum finding_kind kind)
{
	for (size_t i = s->count; i-- > 0;) {
		if (s->list[i].proc != s->proc_index || s->list[i].row != s->row_index)
			return NULL;
		if (s->list[i].kind == kind)
			return &s->list[i];
	}
	return NULL;
}

/* ---- of a row ---- */

/* The row's bytes of a category. A program frees its memory before it ends: of a process that has ended, what it held
 * at its peak counts, if that is more than what was left in the end. */
static uint64_t bytes_of(const struct search *s, enum gmt_category category)
{
	const struct view_category *c = &s->row->torch.training.categories[category];

	return s->proc->exited && c->at_peak > c->live ? c->at_peak : c->live;
}

/* What an ended process holds no longer is in no order by growth; what came after its peak is in no order by peak. */
static const enum view_order line_orders[] = { VIEW_BY_GROWN, VIEW_BY_LIVE, VIEW_BY_PEAK };

/* The line that holds, or held, most for a purpose. */
static const struct view_line_row *line_with_most(const struct view_stacks *stacks, enum gmt_category category)
{
	const struct view_line_row *best = NULL;

	for (size_t o = 0; o < COUNT(line_orders); o++) {
		const struct view_lines *lines = &stacks->lines[line_orders[o]];

		for (size_t i = 0; i < lines->count; i++) {
			const struct view_line_row *line = &lines->rows[i];
			uint64_t bytes = view_line_part(line, category);

			if (view_line_has_code(line) && bytes && (!best || bytes > view_line_part(best, category)))
				best = line;
		}
	}
	return best;
}

/* Whether the memory that the row's process can still get on the GPU is known: what is free, and its own cache. */
static bool find_room(const struct search *s, uint64_t *bytes)
{
	if (!s->gpu || !s->gpu->has_memory || s->proc->exited)
		return false;
	*bytes = s->gpu->free_bytes + view_torch_cached(&s->row->torch);
	return true;
}

/* How long the room lasts for memory that has grown by `bytes` in that time, or in so many iterations.
 * FINDING_LEFT_UNKNOWN: for as many as nobody waits for. */
static uint64_t how_long(uint64_t room, uint64_t bytes, uint64_t time, double most)
{
	double left = (double)room / (double)bytes * (double)time;

	return left < most ? (uint64_t)left : FINDING_LEFT_UNKNOWN;
}

static uint64_t time_left(uint64_t room, uint64_t bytes, uint64_t time_ns)
{
	return how_long(room, bytes, time_ns, LEFT_NS_MOST);
}

/* When the last iteration of a leak ended, if the process has ended or makes no iterations any longer; else 0. */
static uint64_t leak_stopped(const struct search *s, const struct view_training *t)
{
	uint64_t each_ns = t->growth.time_ns / t->growth.iterations, end_ns = t->growth.end_ns;
	uint64_t quiet_ns = s->view->now_ns > end_ns ? s->view->now_ns - end_ns : 0;
	bool is_quiet = end_ns && quiet_ns >= STOPPED_NS && quiet_ns / STOPPED_ITERATIONS >= each_ns;

	if (s->proc->exited && !end_ns)
		return s->proc->exit_ts_ns;
	return s->proc->exited || is_quiet ? end_ns : 0;
}

/* Bytes of a category that stay and were not made in the start-up, whose memory is meant to stay. */
static uint64_t late_of(const struct search *s, const struct view_category *c)
{
	return s->proc->exited && c->late_at_peak > c->late ? c->late_at_peak : c->late;
}

/* Where larger and larger inputs come, each iteration leaves more, too, but nothing stays for long. */
static bool stays_late(const struct search *s, uint64_t bytes)
{
	uint64_t late = 0;

	for (int c = 0; c < GMT_CATEGORY_COUNT; c++)
		late += late_of(s, &s->row->torch.training.categories[c]);
	return late >= share_of(bytes, LEAK_KEPT_SHARE);
}

/* What a leak is of, above all: tensors, or what a training makes beside the model and never makes twice. */
static enum gmt_category most_late(const struct search *s)
{
	static const enum gmt_category others[] = { GMT_CATEGORY_GRADIENT, GMT_CATEGORY_OPTIMIZER_STATE };
	const struct view_category *categories = s->row->torch.training.categories;
	enum gmt_category most = GMT_CATEGORY_KEPT;

	for (size_t i = 0; i < COUNT(others); i++)
		if (late_of(s, &categories[others[i]]) > late_of(s, &categories[most]))
			most = others[i];
	return most;
}

static void look_for_leak(struct search *s)
{
	const struct view_torch *t = &s->row->torch;
	const struct view_growth *growth = &t->training.growth;
	uint64_t all = growth->bytes * growth->count, room;
	struct finding *f;

	if (growth->count < LEAK_ITERATIONS || !is_much(all, LEAK_BYTES, t->allocated.peak, LEAK_SHARE) ||
	    !stays_late(s, all))
		return;
	f = add_finding(s, FINDING_OF_LEAK);
	f->bytes = growth->bytes;
	f->count = growth->count;
	f->iterations = growth->iterations;
	f->category = most_late(s);
	f->part = bytes_of(s, f->category);
	f->line = line_with_most(&t->stacks, f->category);
	f->stopped_ns = leak_stopped(s, &t->training);
	if (f->stopped_ns || !find_room(s, &room))
		return;
	f->left = how_long(room, all, growth->iterations, LEFT_ITERATIONS_MOST);
	if (growth->time_ns)
		f->left_ns = time_left(room, all, growth->time_ns);
}

/* Each of the newest iterations left more, but there are too few. */
static bool may_begin_leak(const struct view_torch *t)
{
	const struct view_growth *growth = &t->training.growth;

	return growth->count < LEAK_ITERATIONS && growth->count == growth->iterations &&
	       is_much(growth->bytes * LEAK_ITERATIONS, LEAK_BYTES, t->allocated.peak, LEAK_SHARE);
}

static void look_for_kept(struct search *s)
{
	const struct view_torch *t = &s->row->torch;
	const struct view_category *kept = &t->training.categories[GMT_CATEGORY_KEPT];
	uint64_t late = late_of(s, kept), all = late > kept->late ? t->allocated.peak : t->allocated.live;
	struct finding *f;

	if (!t->training.is_training || found_in_row(s, FINDING_OF_LEAK) || may_begin_leak(t) ||
	    !is_much(late, KEPT_BYTES, all, KEPT_SHARE))
		return;
	f = add_finding(s, FINDING_OF_KEPT);
	f->bytes = late;
	f->category = GMT_CATEGORY_KEPT;
	f->line = line_with_most(&t->stacks, f->category);
}

/* Only where all parameters were seen. */
static void look_for_state(struct search *s)
{
	const struct view_torch *t = &s->row->torch;
	uint64_t state = bytes_of(s, GMT_CATEGORY_OPTIMIZER_STATE);
	uint64_t parameters = bytes_of(s, GMT_CATEGORY_PARAMETER);
	struct finding *f;

	if (!t->training.first_is_whole || t->training.before || !parameters ||
	    !is_much(state, STATE_BYTES, parameters, STATE_SHARE))
		return;
	f = add_finding(s, FINDING_OF_STATE);
	f->bytes = state;
	f->part = parameters;
	f->category = GMT_CATEGORY_OPTIMIZER_STATE;
	f->line = line_with_most(&t->stacks, f->category);
}

/* What has come in a part of the time, over all the time at the same rate: where growth goes on evenly, this never
 * falls when another part of the time begins to count. */
static uint64_t over_all(int64_t bytes, uint64_t part_ns, uint64_t all_ns)
{
	double sum = bytes > 0 && part_ns ? (double)bytes / (double)part_ns * (double)all_ns : 0;

	return sum < (double)INT64_MAX ? (uint64_t)sum : INT64_MAX;
}

/* Whether a line has grown by much. The first part alone must say so, too: some of the memory of this moment may go
 * again at once, such as the older of a tensor and its longer copy. */
static bool has_grown_much(const struct search *s, const struct view_stacks *stacks, const struct view_line_row *line)
{
	const struct view_held *held = &line->held;
	const struct view_rise *rise = &stacks->rise;
	uint64_t all_ns = rise->until_ns - (s->proc->window_ns ? s->proc->window_ns : s->proc->attach_ts_ns);
	uint64_t first = over_all(held->rise - held->rise_later, rise->later_ns - rise->since_ns, all_ns);
	uint64_t both = over_all(held->rise, rise->until_ns - rise->since_ns, all_ns);

	return is_much(first < both ? first : both,
		       line->state == VIEW_LINE_RESERVE ? GROWTH_RESERVE_BYTES : GROWTH_BYTES,
		       s->proc->exited ? stacks->peak : stacks->live, GROWTH_SHARE);
}

/* Of a training's memory, what stays from one iteration to the next. */
static uint64_t kept_by(const struct view_line_row *line)
{
	return view_line_part(line, GMT_CATEGORY_KEPT) + view_line_part(line, GMT_CATEGORY_OPTIMIZER_STATE);
}

/* The line that has risen most, of those that have risen steadily; NULL: none has. */
static const struct view_line_row *risen_line(const struct search *s, const struct view_stacks *stacks)
{
	const struct finding *leak = found_in_row(s, FINDING_OF_LEAK);
	/* What comes and goes in each iteration is more at one moment and less at another. */
	bool is_in_iterations = s->row->torch.training.is_training;
	const struct view_line_row *best = NULL;

	for (size_t o = 0; o < COUNT(line_orders); o++) {
		const struct view_lines *lines = &stacks->lines[line_orders[o]];

		for (size_t i = 0; i < lines->count; i++) {
			const struct view_line_row *line = &lines->rows[i];

			if (!view_line_has_code(line) || !view_is_steady(&line->held) ||
			    (leak && leak->line && view_line_is_same(leak->line, line)) ||
			    !has_grown_much(s, stacks, line) ||
			    (is_in_iterations && kept_by(line) < (uint64_t)line->held.rise))
				continue;
			if (!best || line->held.rise > best->held.rise)
				best = line;
		}
	}
	return best;
}

static void look_for_growth(struct search *s)
{
	const struct view_stacks *stacks = view_best_stacks(s->row);
	const struct view_line_row *line = looked_at_growth(stacks) ? risen_line(s, stacks) : NULL;
	struct finding *f;
	uint64_t room;

	if (!line)
		return;
	f = add_finding(s, FINDING_OF_GROWTH);
	f->bytes = (uint64_t)line->held.rise;
	f->since_ns = stacks->rise.since_ns;
	f->stopped_ns = s->proc->exited ? stacks->rise.until_ns : 0;
	if (find_room(s, &room))
		f->left_ns = time_left(room, f->bytes, stacks->rise.until_ns - f->since_ns);
	f->line = line;
}

static void look_for_neighbour(struct search *s)
{
	const struct load *load = s->gpu ? &s->loads[s->row->gpu] : NULL;
	struct finding *f;

	if (!load || !s->gpu->has_memory || s->proc->exited || load->most_proc == s->proc_index ||
	    load->most <= view_holds(s->proc, s->row) ||
	    s->gpu->free_bytes > share_of(s->gpu->total_bytes, NEIGHBOUR_FREE_SHARE))
		return;
	f = add_finding(s, FINDING_OF_NEIGHBOUR);
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

static void look_for_fragments(struct search *s)
{
	const struct view_torch *t = &s->row->torch;
	uint64_t cached = view_torch_cached(t);
	struct finding *f;

	if (!t->gap_known || s->proc->exited || !lacked_memory(s->proc) ||
	    !is_much(cached, FRAGMENTED_BYTES, t->reserved.live, FRAGMENTED_SHARE) ||
	    t->largest_free_gap >= share_of(cached, FRAGMENTED_SHARE))
		return;
	f = add_finding(s, FINDING_OF_FRAGMENTED);
	f->bytes = cached;
	f->part = t->largest_free_gap;
}

/* Between two iterations nearly all tensors are gone, and the next iteration uses the cache again. So the recent time
 * counts, from the device's first event on: nobody saw what tensors used before, also where the attach was earlier. */
static void look_for_cache(struct search *s)
{
	const struct view_torch *t = &s->row->torch;
	struct finding *f;

	if (!t->seen || s->proc->exited || found_in_row(s, FINDING_OF_FRAGMENTED) || !t->recent_known ||
	    !looked_unused(t))
		return;
	f = add_finding(s, FINDING_OF_CACHED);
	f->bytes = view_torch_unused(t);
	f->part = t->reserved.live;
}

static void look_for_context(struct search *s)
{
	if (s->row->context > 0 && (uint64_t)s->row->context >= CONTEXT_BYTES)
		add_finding(s, FINDING_OF_CONTEXT)->bytes = (uint64_t)s->row->context;
}

static void look_for_pool(struct search *s)
{
	if (!s->proc->exited && s->row->pool_reserve > 0 &&
	    is_much((uint64_t)s->row->pool_reserve, POOL_BYTES, s->row->physical.live, POOL_SHARE))
		add_finding(s, FINDING_OF_POOL_RESERVE)->bytes = (uint64_t)s->row->pool_reserve;
}

static void look_before_attach(struct search *s)
{
	/* NVML's last number of a process that has ended may be older than its last allocations. */
	uint64_t weight = view_weight(s->row);
	uint64_t all = s->proc->exited && weight > s->row->nvml ? weight : s->row->nvml;
	struct finding *f;

	if (!s->row->has_nvml || !is_much(s->row->before_attach, BEFORE_BYTES, all, BEFORE_SHARE))
		return;
	f = add_finding(s, FINDING_OF_BEFORE_ATTACH);
	f->bytes = s->row->before_attach;
	f->part = all;
}

/* A rule may ask for what the rules before have found. */
static void (*const row_rules[])(struct search *s) = {
	look_for_leak,	  look_for_growth, look_for_kept,    look_for_state, look_for_neighbour,
	look_for_fragments, look_for_cache, look_for_context, look_for_pool, look_before_attach,
};

/* ---- of processes and GPUs ---- */

static void look_at_requests(struct search *s)
{
	uint64_t failed = s->proc->ooms[GMT_OOM_FATAL] + s->proc->ooms[GMT_OOM_RAISED];

	if (failed)
		add_finding(s, FINDING_OF_OUT_OF_MEMORY)->count = failed;
}

static void look_at_process(struct search *s, size_t index)
{
	s->proc_index = index;
	s->proc = &s->view->procs[index];
	s->row_index = FINDING_NONE;
	s->row = NULL;
	look_at_requests(s);
	for (s->row_index = 0; s->row_index < s->proc->row_count; s->row_index++) {
		s->row = &s->proc->rows[s->row_index];
		s->gpu = s->row->gpu >= 0 ? &s->view->gpus[s->row->gpu] : NULL;
		for (size_t i = 0; i < COUNT(row_rules); i++)
			row_rules[i](s);
	}
}

static void add_load(struct search *s, size_t proc, const struct view_row *row)
{
	const struct view_proc *p = &s->view->procs[proc];
	struct load *load = &s->loads[row->gpu];
	uint64_t weight = view_holds(p, row);

	/* The GPU's numbers may be older than the end of a process. */
	if (!p->exited || p->exit_ts_ns >= s->view->gpus[row->gpu].memory_ts_ns)
		load->traced += row->has_nvml ? row->nvml : weight;
	if (p->exited || weight <= load->most)
		return;
	load->most = weight;
	load->most_proc = proc;
}

static void find_loads(struct search *s)
{
	s->loads = xcalloc(s->view->gpu_count, sizeof(*s->loads));
	for (size_t p = 0; p < s->view->proc_count; p++)
		for (size_t r = 0; r < s->view->procs[p].row_count; r++)
			if (s->view->procs[p].rows[r].gpu >= 0)
				add_load(s, p, &s->view->procs[p].rows[r]);
}

static void look_at_gpu(struct search *s, int gpu)
{
	const struct view_gpu *g = &s->view->gpus[gpu];
	uint64_t traced = s->loads[gpu].traced;
	struct finding *f;

	if (!traced || !g->has_memory || g->processes_bytes <= traced || !g->total_bytes ||
	    g->processes_bytes - traced < share_of(g->total_bytes, UNTRACED_SHARE))
		return;
	f = add_finding(s, FINDING_OF_UNTRACED);
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

struct finding *findings_make(const struct view *view, size_t *count)
{
	struct search s = { .view = view };

	find_loads(&s);
	for (size_t i = 0; i < view->proc_count; i++)
		look_at_process(&s, i);
	s.proc_index = s.row_index = FINDING_NONE;
	s.row = NULL;
	/* In a part of the processes the others look untraced. */
	for (size_t g = 0; g < view->gpu_count && !view->is_filtered; g++)
		look_at_gpu(&s, (int)g);
	if (s.count)
		qsort(s.list, s.count, sizeof(*s.list), compare_findings);
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

/* SPDX-License-Identifier: BSD-2-Clause */
/* Draws conclusions from the numbers of a failed request. See oom_view.h. */
#include "core/view/oom_view.h"

#include "base/amounts.h"
#include "core/view/thresholds.h"

/* Memory of the process that asked is on the GPU that was inferred from its rows. */
static bool is_row_on_gpu(const struct oom_view *v, const struct oom_view_row *r)
{
	int gpu = oom_gpu_row(v, r)->gpu;

	/* A picture that was asked for is about all GPUs. */
	if (v->rec.outcome == GMT_OOM_NONE)
		return true;
	return gpu == v->gpu || (v->is_gpu_inferred && gpu == VIEW_GPU_UNKNOWN && r->proc == v->proc);
}

static void sum_rows(struct oom_view *v, struct oom_facts *f)
{
	for (size_t i = 0; i < v->row_count; i++) {
		const struct oom_view_row *r = &v->rows[i];
		bool is_host = r->row == OOM_VIEW_NONE;

		/* A picture of all GPUs has rows of other GPUs. */
		if (r->is_blocks || is_host == f->is_of_gpu || (!is_host && !is_row_on_gpu(v, r)))
			continue;
		f->held += r->held;
		if (r->proc == v->proc && f->asker == OOM_VIEW_NONE)
			f->asker = i;
		if (f->largest == OOM_VIEW_NONE || r->held > v->rows[f->largest].held)
			f->largest = i;
		if (r->proc == v->proc)
			continue;
		if (r->held && (f->other == OOM_VIEW_NONE || r->held > v->rows[f->other].held))
			f->other = i;
		f->others += r->held;
		f->other_count += r->held != 0;
	}
}

static uint64_t time_to_failure(const struct oom_view *v, uint64_t ts_ns)
{
	return distance_of(v->rec.hdr.ts_ns, ts_ns);
}

static bool is_near_failure(const struct oom_view *v, uint64_t ts_ns)
{
	return time_to_failure(v, ts_ns) <= NVML_FRESH_NS;
}

static void forget_list(struct view_gpu *g)
{
	g->neighbour_count = 0;
	g->more_neighbours = 0;
	g->more_bytes = 0;
}

/* Who held a GPU long before or after says nothing of the failure. */
static void forget_neighbours(struct oom_view *v)
{
	for (size_t i = 0; i < v->view.gpu_count; i++) {
		struct view_gpu *g = &v->view.gpus[i];

		if (time_to_failure(v, g->memory_ts_ns) > NEIGHBOURS_FRESH_NS)
			forget_list(g);
	}
}

static uint64_t listed_bytes(const struct view_gpu *g)
{
	uint64_t sum = g->more_bytes;

	for (size_t i = 0; i < g->neighbour_count; i++)
		sum = g->neighbours[i].bytes > UINT64_MAX - sum ? UINT64_MAX : sum + g->neighbours[i].bytes;
	return sum;
}

/* CUDA told what was free at the failure. Processes that held more are of another moment: one of them may have ended,
 * and must not be blamed. */
static void forget_those_before(struct oom_view *v, const struct oom_facts *f)
{
	struct view_gpu *g = v->gpu == VIEW_GPU_UNKNOWN ? NULL : &v->view.gpus[v->gpu];

	if (g && f->has_free == OOM_FREE_TOLD && f->has_untraced &&
	    listed_bytes(g) > f->untraced + share_of(f->total, DRIVER_SHARE))
		forget_list(g);
}

/* Where CUDA did not tell what was free, NVML may have told who holds the GPU. */
static void judge_by_nvml(const struct oom_view *v, struct oom_facts *f)
{
	const struct view_gpu *g = &v->view.gpus[v->gpu];
	uint64_t traced = 0;

	for (size_t i = 0; i < v->row_count; i++) {
		const struct oom_view_row *r = &v->rows[i];

		if (!r->is_blocks && r->row != OOM_VIEW_NONE && is_row_on_gpu(v, r))
			traced += r->has_nvml ? r->nvml : r->held;
	}
	if (!g->has_memory || !is_near_failure(v, g->memory_ts_ns) || g->processes_bytes <= traced)
		return;
	f->is_by_nvml = f->has_untraced = true;
	f->untraced = g->processes_bytes - traced;
	f->free -= f->untraced < f->free ? f->untraced : f->free;
}

static void free_memory(const struct oom_view *v, struct oom_facts *f)
{
	f->total = v->gpu == VIEW_GPU_UNKNOWN ? 0 : v->view.gpus[v->gpu].total_bytes;
	if (v->rec.flags & GMT_OOM_HAS_FREE) {
		f->has_free = OOM_FREE_TOLD;
		f->free = v->rec.free_bytes;
		f->has_untraced = !f->is_unseen;
		f->untraced = f->total > f->free + f->held ? f->total - f->free - f->held : 0;
	} else if (f->total && f->is_of_gpu && !f->is_unseen) {
		f->has_free = OOM_FREE_COMPUTED;
		f->free = f->total > f->held ? f->total - f->held : 0;
		judge_by_nvml(v, f);
		if (v->rec.flags & GMT_OOM_NO_ROOM && f->asked && f->free >= f->asked) {
			f->has_free = OOM_FREE_REFUSED;
			f->has_untraced = true;
			f->untraced = f->free - f->asked;
			f->free = f->asked;
		}
	}
}

/* NVML's numbers may be of another moment, so their sum may be more. */
static void judge_unlisted(const struct oom_view *v, struct oom_facts *f)
{
	const struct view_gpu *g = v->gpu == VIEW_GPU_UNKNOWN ? NULL : &v->view.gpus[v->gpu];
	uint64_t of_others = f->untraced, drivers = share_of(f->total, DRIVER_SHARE);

	f->unlisted = f->untraced;
	if (g)
		f->unlisted -= listed_bytes(g) < f->unlisted ? listed_bytes(g) : f->unlisted;
	if (f->unlisted < f->untraced)
		of_others = f->untraced - f->unlisted;
	else
		of_others -= drivers < of_others ? drivers : of_others;
	f->fits_without_others = oom_would_fit(f, of_others);
}

void oom_rest_of(const struct oom_view *v, int gpu, struct oom_rest *out)
{
	const struct view_gpu *g = &v->view.gpus[gpu];
	uint64_t rest = g->total_bytes;

	*out = (struct oom_rest){ .is_told = g->has_memory && is_near_failure(v, g->memory_ts_ns) };
	for (size_t i = 0; i < v->row_count; i++) {
		const struct view_row *row = oom_gpu_row(v, &v->rows[i]);

		if (row && !v->rows[i].is_blocks && row->gpu == gpu)
			rest -= v->rows[i].held < rest ? v->rows[i].held : rest;
	}
	for (size_t i = 0; i < g->neighbour_count; i++)
		rest -= g->neighbours[i].bytes < rest ? g->neighbours[i].bytes : rest;
	rest -= g->more_bytes < rest ? g->more_bytes : rest;
	if (out->is_told) {
		out->free = g->free_bytes < rest ? g->free_bytes : rest;
		rest -= out->free;
	}
	out->bytes = rest;
}

static void judge_torch(const struct oom_view *v, struct oom_facts *f)
{
	const struct oom_view_row *r = &v->rows[f->asker];
	const struct view_torch *t = &v->view.procs[r->proc].rows[r->row].torch;

	f->has_torch = t->seen;
	f->cached = view_torch_cached(t);
	f->gap_known = t->gap_known;
	f->gap = t->largest_free_gap;
	/* A launch or a module takes no memory from PyTorch's cache. */
	if (!t->seen || f->is_too_large || (f->was_room && !f->is_limit) ||
	    (v->rec.class_id == GMT_OOM_CLASS_NONE && !v->rec.framework_bytes))
		return;
	f->fits_in_one_piece = f->cached >= f->asked && !(f->gap_known && f->gap >= f->asked);
	/* Where segments are expandable, they have given back all that they can: the pieces between blocks. */
	f->fits_expandable = (t->backend == GMT_TORCH_NATIVE || t->backend == GMT_TORCH_MIXED) && !f->is_limit &&
			     f->has_free && f->cached + oom_surely_free(f) >= f->asked && f->cached;
}

size_t oom_blocks_row(const struct oom_view *v, size_t row)
{
	for (size_t i = 0; i < v->row_count; i++)
		if (v->rows[i].is_blocks && v->rows[i].proc == v->rows[row].proc && v->rows[i].row == v->rows[row].row)
			return i;
	return OOM_VIEW_NONE;
}

bool oom_would_fit(const struct oom_facts *f, uint64_t bytes)
{
	uint64_t sum;

	if (!f->asked)             /* a context, a module or a stream */
		return f->has_free && f->free < USUAL_CONTEXT_BYTES && bytes >= USUAL_CONTEXT_BYTES;
	if (!bytes || __builtin_add_overflow(f->is_limit ? 0 : oom_surely_free(f), bytes, &sum) || sum < f->asked)
		return false;
	return f->is_limit || sum - f->asked >= ROOM_SLACK;
}

/* The smallest row that would be enough. */
static void find_fit_without(const struct oom_view *v, struct oom_facts *f)
{
	for (size_t i = 0; i < v->row_count; i++) {
		const struct oom_view_row *r = &v->rows[i];

		if (r->is_blocks || r->row == OOM_VIEW_NONE || r->proc == v->proc || !oom_would_fit(f, r->held) ||
		    v->view.procs[r->proc].rows[r->row].gpu != v->gpu)
			continue;
		if (f->fits_without == OOM_VIEW_NONE || r->held < v->rows[f->fits_without].held)
			f->fits_without = i;
	}
}

/* The memory of the largest GPU; 0: the memory of a GPU is not known. */
static uint64_t largest_gpu(const struct view *view)
{
	uint64_t most = 0;

	for (size_t i = 0; i < view->gpu_count; i++) {
		if (!view->gpus[i].total_bytes)
			return 0;
		if (view->gpus[i].total_bytes > most)
			most = view->gpus[i].total_bytes;
	}
	return most;
}

void oom_judge(struct oom_view *v)
{
	struct oom_facts *f = &v->facts;

	*f = (struct oom_facts){
		.asked = v->rec.framework_bytes ? v->rec.framework_bytes : v->rec.asked_bytes,
		.asker = OOM_VIEW_NONE, .largest = OOM_VIEW_NONE, .fits_without = OOM_VIEW_NONE,
		.other = OOM_VIEW_NONE,
		.is_unseen = v->rec.flags & GMT_OOM_UNSEEN,
		.is_of_gpu = v->rec.class_id == GMT_OOM_CLASS_NONE ||
			     gmt_class_is_device((enum gmt_class)v->rec.class_id),
	};
	/* Without the layer of calls, nobody knows whether a call had failed. */
	f->is_limit = f->is_of_gpu && v->rec.outcome != GMT_OOM_NONE && v->rec.api == GMT_API_NONE &&
		      !(v->rec.flags & GMT_OOM_REFUSED) &&
		      (!v->view.session.hdr.size || v->view.session.layers & GMT_LAYER_API);
	sum_rows(v, f);
	forget_neighbours(v);
	if (!f->is_of_gpu || v->rec.outcome == GMT_OOM_NONE)
		return;
	free_memory(v, f);
	forget_those_before(v, f);
	judge_unlisted(v, f);
	if (!f->asked)             /* such as a context, whose size is not known */
		return;
	f->largest_total = v->gpu == VIEW_GPU_UNKNOWN ? largest_gpu(&v->view) : 0;
	f->is_too_large = (f->total && f->asked > f->total) || (f->largest_total && f->asked > f->largest_total);
	f->was_room = f->has_free && !f->is_too_large && f->free >= f->asked + ROOM_SLACK;
	if (f->asker != OOM_VIEW_NONE)
		judge_torch(v, f);
	if (f->has_free && !f->is_too_large && !f->was_room)
		find_fit_without(v, f);
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * Prints who held the memory of a GPU when a request failed, the largest first, with shares of the GPU.
 *
 *     GPU 0  NVIDIA H100 80GB HBM3, 80 GiB
 *       76 GiB   95 %  pid 4242 python train.py, its request failed
 *                      PyTorch 75 GiB: parameters 39.1 GiB, activations 25 GiB, cached 10.9 GiB
 *        3 GiB    3 %  pid 200 inference
 *        1 GiB    1 %  pid 300 (ollama), not traced
 *      512 MiB    0 %  the driver, and processes that NVML does not list
 */
#include <stdlib.h>

#include "base/count.h"
#include "base/human.h"
#include "base/out.h"
#include "sink/oom/oom_sinks.h"
#include "sink/text/neighbour_text.h"
#include "sink/text/text.h"

#define ROWS_SHOWN 6         /* of traced processes */
#define NEIGHBOURS_SHOWN 4   /* of other processes */
#define GPUS_SHOWN 2
#define NAME_COLUMNS 50
#define PURPOSES_SHOWN 4
#define TEXT_INDENT 17
#define SHARE_MAX 999u

/* In a damaged file a process may hold any number of times what the GPU has. */
static void put_share(struct out *out, uint64_t bytes, uint64_t total)
{
	double percent = total ? (double)bytes * 100 / (double)total + 0.5 : 0;

	out_printf(out, "%9s", human_bytes(bytes).s);
	if (total)
		out_printf(out, "%4u %%  ", percent < SHARE_MAX ? (unsigned)percent : SHARE_MAX);
	else
		out_pad(out, 8);
}

/* The largest category that is not in taken[]; GMT_CATEGORY_COUNT: there is none. */
static int next_category(const struct view_training *t, bool taken[GMT_CATEGORY_COUNT])
{
	int found = GMT_CATEGORY_COUNT;

	for (int i = 0; i < GMT_CATEGORY_COUNT; i++) {
		uint64_t live = t->categories[i].live;

		if (!taken[i] && live && (found == GMT_CATEGORY_COUNT || live > t->categories[found].live))
			found = i;
	}
	if (found < GMT_CATEGORY_COUNT)
		taken[found] = true;
	return found;
}

static void put_tensors(struct out *out, const struct view_torch *t)
{
	bool taken[GMT_CATEGORY_COUNT] = { false };
	const struct view_training *training = &t->training;
	struct out text;
	const char *before = " (";
	int c;

	out_init_mem(&text);
	out_printf(&text, "PyTorch %s: tensors %s", human_bytes(t->reserved.live).s, human_bytes(t->allocated.live).s);
	for (int i = 0; i < PURPOSES_SHOWN && training->is_training; i++) {
		c = next_category(training, taken);
		if (c == GMT_CATEGORY_COUNT)
			break;
		out_printf(&text, "%s%s %s", before, gmt_category_text(c), human_bytes(training->categories[c].live).s);
		before = ", ";
	}
	if (training->is_training && training->before) {
		out_printf(&text, "%sbefore the attach %s", before, human_bytes(training->before).s);
		before = ", ";
	}
	out_printf(&text, "%s, cached %s", before[0] == ',' ? ")" : "", human_bytes(view_torch_cached(t)).s);
	if (t->gap_known && view_torch_cached(t))
		out_printf(&text, ", largest piece %s", human_bytes(t->largest_free_gap).s);
	text_wrap(out, "", TEXT_INDENT, TEXT_COLUMNS, &text);
}

/* What the driver took beside all allocations. */
static void put_driver(struct out *out, const struct view_row *row)
{
	const struct { const char *name; int64_t bytes; } parts[] = {
		{ "CUDA context", row->context }, { "modules", row->modules }, { "pool reserve", row->pool_reserve },
		{ "rounding", row->rounding }, { "streams, launches", row->other },
	};
	const char *before = "";
	struct out text;

	out_init_mem(&text);
	for (size_t i = 0; i < COUNT(parts); i++) {
		if (parts[i].bytes <= 0)
			continue;
		out_printf(&text, "%s%s %s", before, parts[i].name, human_bytes((uint64_t)parts[i].bytes).s);
		before = ", ";
	}
	if (*before)
		text_wrap(out, "", TEXT_INDENT, TEXT_COLUMNS, &text);
	else
		free(out_take(&text));
}

static void print_holder(struct page *page, const struct oom_view *v, const struct oom_view_row *r, uint64_t total)
{
	const struct view_row *row = oom_gpu_row(v, r);
	bool has_asked = r->proc == v->proc && v->rec.outcome != GMT_OOM_NONE;
	struct out *out = page_part(page, has_asked ? OOM_RANK_ASKER : OOM_RANK_HOLDERS, PAGE_PROCESSES, 1);

	put_share(out, r->held, total);
	oom_text_process(out, v, r->proc);
	out_text(out, has_asked ? ", its request failed\n" : "\n");
	if (row && row->before_attach)
		out_printf(out, "%*s%s of it from before the attach\n", TEXT_INDENT, "",
			   human_bytes(row->before_attach).s);
	if (row && v->rec.outcome == GMT_OOM_NONE)
		put_driver(page_part(page, OOM_RANK_TENSORS, PAGE_DETAILS, 1), row);
	if (row && row->torch.seen)
		put_tensors(page_part(page, OOM_RANK_TENSORS, PAGE_DETAILS, 1), &row->torch);
}

static bool is_row_of(const struct oom_view *v, const struct oom_view_row *r, int gpu)
{
	const struct view_row *row = oom_gpu_row(v, r);

	return row && !r->is_blocks && row->gpu == gpu && (r->held || row->torch.seen);
}

/* Who holds what no named process holds. */
static void put_unlisted(struct out *out, const struct view_gpu *g)
{
	out_printf(out, "the driver, and processes that %s\n",
		   g->neighbour_count ? "NVML does not list" : "are not traced");
}

static void put_rest(struct page *page, const struct oom_view *v, uint64_t total)
{
	static const char *const frees[] = {
		[OOM_FREE_TOLD] = "free", [OOM_FREE_COMPUTED] = "free, at most",
		[OOM_FREE_REFUSED] = "free, less than this",
	};
	const struct oom_facts *f = &v->facts;
	struct out *out;

	if (f->has_untraced && f->unlisted) {
		out = page_part(page, OOM_RANK_ASKER, PAGE_DETAILS, 1);
		put_share(out, f->unlisted, total);
		put_unlisted(out, &v->view.gpus[v->gpu]);
	}
	if (f->has_free) {
		out = page_part(page, OOM_RANK_ASKER, PAGE_DETAILS, 1);
		put_share(out, f->free, total);
		out_printf(out, "%s\n", frees[f->has_free]);
	}
}

/* Of a picture that was asked for. */
static void put_rest_of_picture(struct page *page, const struct oom_view *v, int gpu)
{
	const struct view_gpu *g = &v->view.gpus[gpu];
	struct oom_rest rest;
	struct out *out;

	oom_rest_of(v, gpu, &rest);
	if (rest.bytes) {
		out = page_part(page, OOM_RANK_ASKER, PAGE_DETAILS, 1);
		put_share(out, rest.bytes, g->total_bytes);
		if (rest.is_told)
			put_unlisted(out, g);
		else
			out_text(out, "not known: free, or held by other processes and the driver\n");
	}
	if (rest.is_told) {
		out = page_part(page, OOM_RANK_ASKER, PAGE_DETAILS, 1);
		put_share(out, rest.free, g->total_bytes);
		out_text(out, "free\n");
	}
}

static void print_neighbour(struct page *page, const struct view_neighbour *n, uint64_t total)
{
	struct out *out = page_part(page, OOM_RANK_HOLDERS, PAGE_PROCESSES, 1);

	put_share(out, n->bytes, total);
	neighbour_text_name(out, n);
	out_text(out, ", not traced\n");
}

/* The first row of the GPU from index `from` on; v->row_count: there is none. */
static size_t next_row(const struct oom_view *v, int gpu, size_t from)
{
	while (from < v->row_count && !is_row_of(v, &v->rows[from], gpu))
		from++;
	return from;
}

/* Processes that have no row of their own. */
struct more {
	unsigned count;
	uint64_t bytes;
};

static void add_more(struct more *more, uint64_t bytes)
{
	more->count++;
	more->bytes += bytes;
}

static void put_more(struct page *page, const struct more *more, uint64_t total, const char *what)
{
	struct out *out;

	if (!more->count)
		return;
	out = page_part(page, OOM_RANK_HOLDERS, PAGE_PROCESSES, more->count);
	put_share(out, more->bytes, total);
	out_printf(out, "%u more %s%s\n", more->count, human_plural(more->count, "process", "processes"), what);
}

/* Traced processes and others in one list, by their memory. */
static void print_processes(struct page *page, const struct oom_view *v, int gpu, uint64_t total)
{
	const struct view_gpu *g = gpu >= 0 ? &v->view.gpus[gpu] : NULL;
	size_t row = next_row(v, gpu, 0), neighbour = 0, neighbours = g ? g->neighbour_count : 0;
	struct more traced = { 0 }, others = { g ? g->more_neighbours : 0, g ? g->more_bytes : 0 };
	unsigned rows = 0;

	while (row < v->row_count || neighbour < neighbours) {
		bool is_row = neighbour == neighbours ||
			      (row < v->row_count && v->rows[row].held >= g->neighbours[neighbour].bytes);

		if (is_row && rows++ < ROWS_SHOWN)
			print_holder(page, v, &v->rows[row], total);
		else if (!is_row && neighbour < NEIGHBOURS_SHOWN)
			print_neighbour(page, &g->neighbours[neighbour], total);
		else if (is_row)
			add_more(&traced, v->rows[row].held);
		else
			add_more(&others, g->neighbours[neighbour].bytes);
		row = is_row ? next_row(v, gpu, row + 1) : row;
		neighbour += !is_row;
	}
	put_more(page, &traced, total, "");
	put_more(page, &others, total, ", not traced");
}

static void print_holders_of(struct page *page, const struct oom_view *v, int gpu)
{
	const struct view_gpu *g = gpu >= 0 ? &v->view.gpus[gpu] : NULL;
	uint64_t total = g ? g->total_bytes : 0;
	struct out *out;

	page_blank(page);
	out = page_part(page, OOM_RANK_ASKER, PAGE_GPUS, 1);
	out_printf(out, "GPU %s  ", text_gpu(&v->view, gpu).s);
	human_print(out, NAME_COLUMNS, g ? g->name : "unknown", g ? sizeof(g->name) : sizeof("unknown"));
	if (total)
		out_printf(out, ", %s", human_bytes(total).s);
	out_char(out, '\n');
	print_processes(page, v, gpu, total);
	if (v->rec.outcome == GMT_OOM_NONE && total)
		put_rest_of_picture(page, v, gpu);
	else if (v->facts.is_of_gpu && gpu == v->gpu && v->rec.outcome != GMT_OOM_NONE)
		put_rest(page, v, total);
}

/* On the GPU of the request others may hold all memory. */
static bool has_rows(const struct oom_view *v, int gpu)
{
	return next_row(v, gpu, 0) < v->row_count ||
	       (gpu >= 0 && gpu == v->gpu && v->view.gpus[gpu].neighbour_count);
}

void oom_holders_parts(struct page *page, const struct oom_view *v)
{
	/* Where the GPU is not known, each may be the one. */
	bool is_one = v->facts.is_of_gpu && v->gpu != VIEW_GPU_UNKNOWN && v->rec.outcome != GMT_OOM_NONE;
	unsigned shown = 0;

	for (int gpu = VIEW_GPU_UNKNOWN; gpu < (int)v->view.gpu_count; gpu++)
		if ((!is_one || gpu == v->gpu) && has_rows(v, gpu) && shown++ < GPUS_SHOWN)
			print_holders_of(page, v, gpu);
	page_leave_out(page, PAGE_GPUS, shown > GPUS_SHOWN ? shown - GPUS_SHOWN : 0);
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * The findings of a picture that was asked for: leaks and growth, by the rules for a view (findings_growth.c), as far
 * as the picture has the numbers. A picture has no middle of the time: it marks the stacks that grew in both halves.
 */
#include "base/xalloc.h"
#include "core/view/finding_search.h"
#include "core/view/oom_view.h"
#include "core/view/thresholds.h"

/* The most that the framework's blocks held; a picture does not have it where the blocks have no stacks. */
static uint64_t most_allocated(const struct view_torch *t)
{
	uint64_t most = t->stacks.peak + t->training.before;

	return most > t->allocated.live ? most : t->allocated.live;
}

/* The numbers of a foreign file may be any. */
static bool is_leak_possible(const struct view_growth *growth)
{
	return oom_left_by(growth->bytes, growth->count);
}

static bool is_of_leak(const struct finding_search *s, const struct view_line_row *line)
{
	const struct finding *leak = finding_in_row(s, FINDING_OF_LEAK);

	return leak && leak->line && view_line_is_same(leak->line, line);
}

static void find_growth_of(struct finding_search *s, const struct oom_view *v, size_t index)
{
	const struct oom_view_row *r = &v->rows[index];
	const struct view_lines *lines = &r->steady.lines[VIEW_BY_GROWN];
	uint64_t span_ns = v->rec.hdr.ts_ns - r->steady.since_ns;
	const struct view_line_row *best = NULL;
	struct finding *f;

	if (oom_is_start_up(v, r))
		return;
	for (size_t i = 0; i < lines->count; i++) {
		const struct view_line_row *line = oom_growth_of(v, index, &lines->rows[i]);
		uint64_t whole = r->is_blocks ? s->row->torch.allocated.live : r->held;

		if (oom_counts_for_growth(v, index, line) && !is_of_leak(s, line) && line->held.grown > 0 &&
		    finding_is_much_growth(s, line, (uint64_t)line->held.grown, span_ns, whole) &&
		    (!best || line->held.grown > best->held.grown))
			best = line;
	}
	if (!best)
		return;
	f = finding_add(s, FINDING_OF_GROWTH);
	f->bytes = (uint64_t)best->held.grown;
	f->since_ns = r->steady.since_ns;
	f->line = best;
	finding_set_time_left(s, f, span_ns);
}

static void find_in_row(struct finding_search *s, const struct oom_view *v, size_t index)
{
	size_t blocks = oom_blocks_row(v, index);
	struct view_row row = *oom_gpu_row(v, &v->rows[index]);

	row.torch.allocated.peak = most_allocated(&row.torch);
	s->proc_index = v->rows[index].proc;
	s->proc = &v->view.procs[s->proc_index];
	s->row_index = v->rows[index].row;
	s->row = &row;
	s->gpu = row.gpu >= 0 ? &v->view.gpus[row.gpu] : NULL;
	if (row.torch.seen && is_leak_possible(&row.torch.training.growth))
		finding_of_leak(s);
	find_growth_of(s, v, blocks != OOM_VIEW_NONE ? blocks : index);
	s->row = NULL;
}

void oom_find(struct oom_view *v)
{
	struct finding_search s = { .view = &v->view };

	if (v->rec.outcome != GMT_OOM_NONE)
		return;
	for (size_t i = 0; i < v->row_count; i++)
		if (!v->rows[i].is_blocks && v->rows[i].row != OOM_VIEW_NONE)
			find_in_row(&s, v, i);
	findings_sort(s.list, s.count);
	v->view.findings = s.list;
	v->view.finding_count = s.count;
}

/* As findings.c has it of a process whose request failed. */
void oom_find_request(struct oom_view *v)
{
	struct finding_search s = { .view = &v->view, .row_index = FINDING_NONE };
	struct view_proc *asker = v->proc == OOM_VIEW_NONE ? NULL : &v->view.procs[v->proc];

	if (!asker || v->rec.outcome == GMT_OOM_NONE || v->rec.outcome == GMT_OOM_RETRY)
		return;
	asker->why = xmalloc(sizeof(*asker->why));
	oom_why_read(v, asker->why);
	s.proc_index = v->proc;
	s.proc = asker;
	s.gpu = v->gpu >= 0 ? &v->view.gpus[v->gpu] : NULL;
	finding_of_requests(&s, 1);
	v->view.findings = s.list;
	v->view.finding_count = s.count;
}

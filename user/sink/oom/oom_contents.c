// SPDX-License-Identifier: BSD-2-Clause
/* Writes the sentences about the memory in use when a request failed. */
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "sink/oom/oom_sinks.h"
#include "sink/text/stack_text.h"
#include "sink/text/text.h"

#define NAME_COLUMNS 40
#define OWNERS_UNKNOWN "unknown"   /* as in owners.h, and in views without owners */
#define PURPOSES_SHOWN 4

void oom_text_process(struct out *out, const struct oom_view *v, size_t index)
{
	const struct view_proc *p = &v->view.procs[index];
	const char *name = p->cmdline[0] ? p->cmdline : p->comm;

	out_printf(out, "process %u", p->tgid);
	if (!name[0])
		return;
	out_text(out, " (");
	human_print(out, NAME_COLUMNS, name, strlen(name));
	out_char(out, ')');
}

static bool knows_code(const struct view_lines *lines)
{
	return lines->count && view_line_has_code(&lines->rows[0]);
}

/* Without a line of the program's own, the frame that says most of the largest stack trace. */
static void say_line(struct out *out, const struct oom_view *v, const struct view_line_row *line)
{
	if (line->state == VIEW_LINE_OWN)
		stack_text_line(out, &v->view, line);
	else
		stack_text_head(out, &v->view, &v->view.stacks[line->stack]);
}

/* Names the owner and the line that hold the most of the largest row. */
static void say_content(struct out *out, const struct oom_view *v, const char *indent)
{
	const struct oom_view_row *r;
	const struct view_row *row;
	const struct view_stacks *s;
	const struct view_lines *lines;
	const char *owner;

	if (v->facts.largest == OOM_VIEW_NONE)
		return;
	r = &v->rows[v->facts.largest];
	row = oom_gpu_row(v, r);
	s = row ? view_best_stacks(row) : &v->view.procs[r->proc].host_stacks;
	lines = &s->lines[VIEW_BY_LIVE];
	if (!view_has_stacks(s) || !s->owner_count || !s->owners[0].held.live || !knows_code(lines))
		return;
	owner = v->view.owners[s->owners[0].owner];
	out_text(out, indent);
	if (s->owners[0].owner > VIEW_OWNER_NOT_NAMED && strcmp(owner, OWNERS_UNKNOWN)) {
		out_printf(out, "Of the %s that process %u holds, %s belongs to ", human_bytes(r->held).s,
			   v->view.procs[r->proc].tgid, human_bytes(s->owners[0].held.live).s);
		human_print(out, NAME_COLUMNS, owner, strlen(owner));
		out_text(out, ". ");
	}
	say_line(out, v, &lines->rows[0]);
	out_printf(out, " asked for the most, %s", human_bytes(lines->rows[0].held.live).s);
	if (lines->rows[0].stacks > 1)
		out_printf(out, " in %s stack traces", human_count(lines->rows[0].stacks).s);
	out_text(out, ".\n");
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

/* Says what the tensors are used for in the process that asked. */
static void say_purposes(struct out *out, const struct oom_view *v, const char *indent)
{
	const struct oom_view_row *r = v->facts.asker == OOM_VIEW_NONE ? NULL : &v->rows[v->facts.asker];
	const struct view_row *row = r ? oom_gpu_row(v, r) : NULL;
	bool taken[GMT_CATEGORY_COUNT] = { false };
	const struct view_training *t;
	const char *comma = "";
	int c;

	if (!row || !row->torch.training.is_training)
		return;
	t = &row->torch.training;
	out_printf(out, "%sTensors of process %u by guessed use: ", indent,
		   v->view.procs[r->proc].tgid);
	for (int i = 0; i < PURPOSES_SHOWN && (c = next_category(t, taken)) < GMT_CATEGORY_COUNT; i++) {
		out_printf(out, "%s%s %s", comma, gmt_category_text(c),
			   human_bytes(t->categories[c].live).s);
		comma = ", ";
	}
	if (t->before)
		out_printf(out, "%sallocated before the attach %s", comma, human_bytes(t->before).s);
	out_printf(out, ". The process was in the %s phase of iteration %u.\n",
		   gmt_training_text(t->phase), t->iteration);
	if (t->growth_count)
		out_printf(out, "%sEach of the last %u iterations left more memory allocated than the iteration before,"
			   " %s on average: possibly a leak.\n", indent, t->growth_count, human_bytes(t->growth).s);
}

static void say_cached(struct out *out, const struct oom_view *v, const char *indent)
{
	const struct oom_facts *f = &v->facts;

	if (!f->has_torch)
		return;
	out_printf(out, "%sPyTorch caches %s that no tensor uses", indent, human_bytes(f->cached).s);
	if (v->rec.class_id == GMT_OOM_CLASS_NONE && !v->rec.framework_bytes && f->cached)
		out_text(out, ", and only tensors can use this memory (torch.cuda.empty_cache() returns free segments"
			 " to the driver)");
	else if (f->gap_known && f->cached)
		out_printf(out, ", %s the largest gap is %s", f->gap < f->asked ? "but" : "and",
			   human_bytes(f->gap).s);
	out_text(out, ".\n");
	if (f->fits_expandable)
		out_printf(out, "%sWith expandable segments (PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True) %s would"
			   " have fit.\n", indent, human_bytes(f->asked).s);
	else if (f->fits_in_one_piece)
		out_printf(out, "%sThe cached memory would have been enough for %s if it were in one piece.\n",
			   indent, human_bytes(f->asked).s);
}

static void say_others(struct out *out, const struct oom_view *v, const char *indent)
{
	const struct oom_view_row *r;

	if (v->facts.fits_without == OOM_VIEW_NONE)
		return;
	r = &v->rows[v->facts.fits_without];
	out_printf(out, "%sWithout ", indent);
	oom_text_process(out, v, r->proc);
	out_printf(out, ", which holds %s on this GPU, the request would have fit.\n", human_bytes(r->held).s);
}

static bool has_blocks(const struct oom_view *v, const struct oom_view_row *of)
{
	for (size_t i = 0; i < v->row_count; i++)
		if (v->rows[i].is_blocks && v->rows[i].proc == of->proc && v->rows[i].row == of->row)
			return true;
	return false;
}

static void say_growth(struct out *out, const struct oom_view *v, const char *indent)
{
	for (size_t i = 0; i < v->row_count; i++) {
		const struct oom_view_row *r = &v->rows[i];
		const struct view_lines *lines = &r->steady.lines[VIEW_BY_GROWN];

		/* Tensors that stay are the cause; segments that stay are the effect. */
		if (!r->is_blocks && has_blocks(v, r))
			continue;
		if (r->proc != v->proc || !knows_code(lines))
			continue;
		out_printf(out, "%sThe memory of ", indent);
		say_line(out, v, &lines->rows[0]);
		out_printf(out, " has grown steadily, by %s since %s: possibly a leak.\n",
			   human_bytes((uint64_t)lines->rows[0].held.grown).s,
			   text_offset(&v->view, r->steady.since_ns).s);
	}
}

static void say_change(struct out *out, const struct history_change *c, const char *where)
{
	out_printf(out, " allocated %s %s (%s %s)", human_bytes(c->alloc_bytes).s, where, human_count(c->allocs).s,
		   human_plural(c->allocs, "allocation", "allocations"));
	out_printf(out, " and freed %s (%s %s)", human_bytes(c->freed_bytes).s, human_count(c->frees).s,
		   human_plural(c->frees, "free", "frees"));
}

/* PyTorch's blocks come first, because its driver allocations follow from the blocks. */
static void say_changes(struct out *out, const struct oom_view *v, const char *indent)
{
	const struct history_changes *c = &v->changes;
	bool has_blocks = c->blocks.allocs | c->blocks.frees, has_segments = c->segments.allocs | c->segments.frees;

	if (!has_blocks && !has_segments)
		return;
	out_printf(out, "%sIn the %s before %s, ", indent, human_duration(c->until_ns - c->since_ns).s,
		   v->rec.outcome == GMT_OOM_NONE ? "this picture" : "the failure");
	if (v->proc == OOM_VIEW_NONE)
		out_text(out, "all processes");
	else
		out_printf(out, "process %u", v->view.procs[v->proc].tgid);
	if (has_blocks)
		say_change(out, &c->blocks, "for tensors");
	if (has_blocks && has_segments)
		out_text(out, ", and");
	if (has_segments)
		say_change(out, &c->segments, "from the driver");
	out_text(out, ".\n");
}

void oom_text_contents(struct out *out, const struct oom_view *v, const char *indent)
{
	say_content(out, v, indent);
	say_purposes(out, v, indent);
	say_cached(out, v, indent);
	say_others(out, v, indent);
	say_changes(out, v, indent);
	say_growth(out, v, indent);
}

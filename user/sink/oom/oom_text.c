// SPDX-License-Identifier: BSD-2-Clause
/* See oom_sinks.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/human.h"
#include "base/out.h"
#include "core/terms/probes.h"
#include "sink/oom/oom_sinks.h"
#include "sink/text/stack_text.h"
#include "sink/text/text.h"

#define NAME_COLUMNS 40
#define OWNERS_UNKNOWN "unknown"   /* owners.h, and views without owners */
#define MUCH_PART 4        /* of the GPU: with more than that left it is not full */
#define PURPOSES_SHOWN 4
#define UNTRACED_PART 64   /* of the GPU: less is not worth words */

/* "process 4242 (python train.py)" */
static void say_process(struct out *out, const struct oom_view *v, size_t index)
{
	const struct view_proc *p = &v->view.procs[index];
	const char *name = p->cmdline[0] ? p->cmdline : p->comm;
	char clean[4 * NAME_COLUMNS + 4];

	out_printf(out, "process %u", p->tgid);
	if (!name[0])
		return;
	human_text(clean, NAME_COLUMNS, name, strlen(name));
	out_printf(out, " (%s)", clean);
}

/* is_known: the sentence has named the process that holds the most. */
static void say_asker(struct out *out, const struct oom_view *v, bool is_known)
{
	if (is_known && v->facts.largest != OOM_VIEW_NONE && v->rows[v->facts.largest].proc == v->proc)
		out_printf(out, "process %u", v->view.procs[v->proc].tgid);
	else if (v->proc == OOM_VIEW_NONE)
		out_text(out, "an unknown process");
	else
		say_process(out, v, v->proc);
}

static struct human name_gpu(const struct oom_view *v)
{
	struct human h, number = text_gpu(&v->view, v->gpu);

	if (v->gpu == VIEW_GPU_UNKNOWN)
		snprintf(h.s, sizeof(h.s), "an unknown GPU");
	else
		snprintf(h.s, sizeof(h.s), "GPU %.20s", number.s);
	return h;
}

/* What was asked for: bytes, where anybody knows. */
static struct human name_asked(const struct oom_view *v)
{
	static const char *const things[GMT_PURPOSE_COUNT] = {
		[GMT_PURPOSE_CONTEXT] = "a context", [GMT_PURPOSE_MODULE] = "a module", [GMT_PURPOSE_GRAPH] = "a graph",
		[GMT_PURPOSE_STREAM] = "a stream",
	};
	const char *thing = things[gmt_purpose_of_api(v->rec.api)];
	struct human h;

	if (v->facts.asked)
		return human_bytes(v->facts.asked);
	snprintf(h.s, sizeof(h.s), "%s", thing ? thing : "memory");
	return h;
}

/* cuLaunchKernel, say: the call that is not traced and was refused memory, where its stack tells; else NULL. */
static const char *refused_call(const struct oom_view *v)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	const struct view_stack *stack = v->stack == OOM_VIEW_NONE ? NULL : &v->view.stacks[v->stack];

	for (uint32_t i = 0; stack && i < stack->frame_count; i++) {
		const struct view_symbol *s = &v->view.symbols[stack->frames[i]];

		if (!s->is_guessed && !strncmp(basename(s->module), "libcuda.so", strlen("libcuda.so")) &&
		    !strncmp(s->function, "cu", 2) && strspn(s->function, letters) == strlen(s->function))
			return s->function;
	}
	return NULL;
}

/* Where it was asked for, when that is not a call that only gets memory. */
static struct human name_place(const struct oom_view *v)
{
	static const char *const places[GMT_PURPOSE_COUNT] = {
		[GMT_PURPOSE_CONTEXT] = " for a context", [GMT_PURPOSE_MODULE] = " for a module",
		[GMT_PURPOSE_GRAPH] = " for a graph", [GMT_PURPOSE_STREAM] = " for a stream",
	};
	const char *found = places[gmt_purpose_of_api(v->rec.api)];
	const char *call = v->rec.flags & GMT_OOM_REFUSED ? refused_call(v) : NULL;
	struct human h = { "" };

	if (call)
		snprintf(h.s, sizeof(h.s), " in %s", call);
	else if (v->rec.flags & GMT_OOM_REFUSED)
		snprintf(h.s, sizeof(h.s), " (probably for a launch)");
	else if (found && v->facts.asked && v->rec.class_id == GMT_OOM_CLASS_NONE)
		snprintf(h.s, sizeof(h.s), "%s", found);
	return h;
}

/* ---- why ---- */

/* Those of the picture but one. */
static uint64_t held_by_others(const struct oom_view *v, size_t but, unsigned *count)
{
	uint64_t bytes = 0;

	*count = 0;
	for (size_t i = 0; i < v->row_count; i++) {
		const struct oom_view_row *r = &v->rows[i];

		if (i == but || r->is_blocks || r->row == OOM_VIEW_NONE ||
		    v->view.procs[r->proc].rows[r->row].gpu != v->gpu)
			continue;
		bytes += r->held;
		++*count;
	}
	return bytes;
}

/* How the sentence begins. */
static const char *name_lack(const struct oom_facts *f)
{
	if (!f->total || !f->asked)
		return "had no memory left";
	return f->has_free == OOM_FREE_TOLD && f->free > f->total / MUCH_PART ? "had too little memory left" :
										"is full";
}

static void say_full(struct out *out, const struct oom_view *v)
{
	static const char *const frees[] = {
		[OOM_FREE_TOLD] = "", [OOM_FREE_COMPUTED] = "at most ", [OOM_FREE_REFUSED] = "less than ",
	};
	const struct oom_facts *f = &v->facts;
	unsigned count;
	uint64_t others = held_by_others(v, f->largest, &count);

	out_printf(out, "%s %s: ", name_gpu(v).s, name_lack(f));
	if (f->largest == OOM_VIEW_NONE) {
		out_text(out, "no traced process holds memory on it");
	} else {
		say_process(out, v, v->rows[f->largest].proc);
		out_printf(out, " holds %s", human_bytes(v->rows[f->largest].held).s);
		if (f->total)
			out_printf(out, " of %s", human_bytes(f->total).s);
	}
	if (count)
		out_printf(out, ", %u other %s %s", count, human_plural(count, "process holds", "processes hold"),
			   human_bytes(others).s);
	/* The driver's own is some of each GPU. */
	if (f->untraced > f->total / UNTRACED_PART)
		out_printf(out, ", the driver and processes that were not traced hold %s",
			   human_bytes(f->untraced).s);
	if (f->has_free)
		out_printf(out, "; %s%s was free", frees[f->has_free], human_bytes(f->free).s);
	out_text(out, f->has_free ? " when " : ", when ");
	say_asker(out, v, true);
	out_printf(out, " asked for %s%s.", name_asked(v).s, name_place(v).s);
}

/* Without a picture. */
static void say_unseen(struct out *out, const struct oom_view *v)
{
	const struct oom_facts *f = &v->facts;

	say_asker(out, v, false);
	out_printf(out, " asked for %s of %s%s, but not enough memory was left", name_asked(v).s, name_gpu(v).s,
		   name_place(v).s);
	if (f->has_free)
		out_printf(out, ": %s was free", human_bytes(f->free).s);
	out_text(out, ". Who held the memory is not known: there is no picture of that moment.");
}

static void say_why(struct out *out, const struct oom_view *v)
{
	const struct oom_facts *f = &v->facts;

	if (v->rec.outcome == GMT_OOM_NONE) {
		out_text(out, "No request failed: this picture was asked for.");
	} else if (!f->is_of_gpu) {
		out_printf(out, "The host could not provide the %s of %s memory that ", human_bytes(f->asked).s,
			   gmt_class_text((enum gmt_class)v->rec.class_id));
		say_asker(out, v, false);
		out_text(out, " asked for");
		if (!f->is_unseen)
			out_printf(out, "; all traced processes together hold %s of pinned, registered and managed"
				   " memory", human_bytes(f->held).s);
		out_char(out, '.');
	} else if (f->is_too_large) {
		say_asker(out, v, false);
		out_printf(out, " asked for %s%s, but %s has only %s in total.", name_asked(v).s, name_place(v).s,
			   name_gpu(v).s, human_bytes(f->total).s);
	} else if (v->rec.api == GMT_API_NONE && !(v->rec.flags & GMT_OOM_REFUSED)) {
		out_printf(out, "PyTorch's own memory limit refused the request: no driver call had failed when ");
		say_asker(out, v, false);
		out_printf(out, " asked PyTorch for %s on %s.", human_bytes(f->asked).s, name_gpu(v).s);
	} else if (f->was_room && f->has_free == OOM_FREE_TOLD) {
		out_printf(out, "%s was not full: %s was free when ", name_gpu(v).s, human_bytes(f->free).s);
		say_asker(out, v, false);
		out_printf(out, " asked for %s%s. Another limit refused the request.", name_asked(v).s,
			   name_place(v).s);
	} else if (f->is_unseen) {
		say_unseen(out, v);
	} else if (f->was_room) {
		out_printf(out, "The traced processes hold %s of %s's %s, which leaves room for the %s that ",
			   human_bytes(f->held).s, name_gpu(v).s, human_bytes(f->total).s, human_bytes(f->asked).s);
		say_asker(out, v, false);
		out_printf(out, " asked for%s: other processes hold the rest, or another limit refused the request.",
			   name_place(v).s);
	} else {
		say_full(out, v);
	}
}

/* ---- what is there ---- */

/* Whose most of the greatest row is. */
static void say_content(struct out *out, const struct oom_view *v, const char *indent)
{
	char clean[4 * NAME_COLUMNS + 4];
	const struct oom_view_row *r;
	const struct view_stacks *s;
	const struct view_top *top;
	const char *owner;
	bool has_name;

	if (v->facts.largest == OOM_VIEW_NONE)
		return;
	r = &v->rows[v->facts.largest];
	s = r->row == OOM_VIEW_NONE ? &v->view.procs[r->proc].host_stacks : &v->view.procs[r->proc].rows[r->row].stacks;
	/* Tensors say more than the segments that they are in. */
	if (r->row != OOM_VIEW_NONE && view_has_stacks(&v->view.procs[r->proc].rows[r->row].torch.stacks))
		s = &v->view.procs[r->proc].rows[r->row].torch.stacks;
	top = &s->top[VIEW_BY_LIVE];
	has_name = top->count && v->view.stacks[top->rows[0].stack].state == VIEW_STACK_NAMED;
	if (!view_has_stacks(s) || !s->owner_count || !s->owners[0].held.live || !has_name)
		return;
	owner = v->view.owners[s->owners[0].owner];
	out_text(out, indent);
	if (s->owners[0].owner > VIEW_OWNER_NOT_NAMED && strcmp(owner, OWNERS_UNKNOWN)) {
		human_text(clean, NAME_COLUMNS, owner, strlen(owner));
		out_printf(out, "Of the %s that process %u holds, %s belongs to %s. ", human_bytes(r->held).s,
			   v->view.procs[r->proc].tgid, human_bytes(s->owners[0].held.live).s, clean);
	}
	out_printf(out, "The largest stack trace holds %s: ", human_bytes(top->rows[0].held.live).s);
	stack_text_head(out, &v->view, &v->view.stacks[top->rows[0].stack]);
	out_text(out, ".\n");
}

/* The greatest category that has not been taken; GMT_CATEGORY_COUNT: none. */
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

/* What the tensors of the process that asked are for. */
static void say_purposes(struct out *out, const struct oom_view *v, const char *indent)
{
	const struct oom_view_row *r = v->facts.asker == OOM_VIEW_NONE ? NULL : &v->rows[v->facts.asker];
	bool taken[GMT_CATEGORY_COUNT] = { false };
	const struct view_training *t;
	const char *comma = "";
	int c;

	if (!r || r->row == OOM_VIEW_NONE)
		return;
	t = &v->view.procs[r->proc].rows[r->row].torch.training;
	if (!t->is_training)
		return;
	out_printf(out, "%sTensors of process %u by guessed use: ", indent,
		   v->view.procs[r->proc].tgid);
	for (int i = 0; i < PURPOSES_SHOWN && (c = next_category(t, taken)) < GMT_CATEGORY_COUNT; i++) {
		out_printf(out, "%s%s %s", comma, gmt_category_text((enum gmt_category)c),
			   human_bytes(t->categories[c].live).s);
		comma = ", ";
	}
	if (t->before)
		out_printf(out, "%sallocated before the attach %s", comma, human_bytes(t->before).s);
	out_printf(out, ". The process was in the %s phase of iteration %u.\n",
		   gmt_training_text((enum gmt_training)t->phase), t->iteration);
	if (t->growth_count)
		out_printf(out, "%sEach of the last %u iterations left more allocated than the one before, %s on"
			   " average: possibly a leak.\n", indent, t->growth_count, human_bytes(t->growth).s);
}

static void say_cached(struct out *out, const struct oom_view *v, const char *indent)
{
	const struct oom_facts *f = &v->facts;

	if (!f->has_torch)
		return;
	out_printf(out, "%sPyTorch caches %s that no tensor uses", indent, human_bytes(f->cached).s);
	if (v->rec.class_id == GMT_OOM_CLASS_NONE && !v->rec.framework_bytes && f->cached)
		out_text(out, ", and only tensors can use it (torch.cuda.empty_cache() returns what it can)");
	else if (f->gap_known && f->cached)
		out_printf(out, ", %s the largest gap is %s", f->gap < f->asked ? "but" : "and",
			   human_bytes(f->gap).s);
	out_text(out, ".\n");
	if (f->fits_expandable)
		out_printf(out, "%sWith expandable segments (PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True) %s would"
			   " have fit.\n", indent, human_bytes(f->asked).s);
	else if (f->fits_in_one_piece)
		out_printf(out, "%sIn one piece, the cached memory would have been enough for %s.\n", indent,
			   human_bytes(f->asked).s);
}

static void say_others(struct out *out, const struct oom_view *v, const char *indent)
{
	const struct oom_view_row *r;

	if (v->facts.fits_without == OOM_VIEW_NONE)
		return;
	r = &v->rows[v->facts.fits_without];
	out_printf(out, "%sWithout ", indent);
	say_process(out, v, r->proc);
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
		const struct view_top *top = &r->steady.top[VIEW_BY_GROWN];

		/* Tensors that stay are the reason, segments that stay what follows. */
		if (!r->is_blocks && has_blocks(v, r))
			continue;
		if (r->proc != v->proc || !top->count || v->view.stacks[top->rows[0].stack].state != VIEW_STACK_NAMED)
			continue;
		out_printf(out, "%sThe memory of ", indent);
		stack_text_head(out, &v->view, &v->view.stacks[top->rows[0].stack]);
		out_printf(out, " has grown steadily, by %s since %s: possibly a leak.\n",
			   human_bytes((uint64_t)top->rows[0].held.grown).s,
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

/* PyTorch's blocks first: what it gets of the driver follows from them. */
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

/* ---- what became of it ---- */

static void say_tries(struct out *out, const struct gmt_oom *rec)
{
	if (rec->failures > 1)
		out_printf(out, ", after %s failed tries", human_count(rec->failures).s);
	if (rec->freed_bytes)
		out_printf(out, rec->failures > 1 ? ", with %s freed in between" : ", after %s was freed",
			   human_bytes(rec->freed_bytes).s);
}

static void say_outcome(struct out *out, const struct oom_view *v)
{
	const struct gmt_oom *rec = &v->rec;
	bool is_killed = rec->exit_code != GMT_EXIT_CODE_UNKNOWN && WIFSIGNALED(rec->exit_code);
	static const char *const signs[GMT_OOM_SIGN_COUNT] = {
		[GMT_OOM_BY_WENT_ON] = "The program received the error and continued with something else",
		[GMT_OOM_BY_SILENCE] = "The program received the error and did not ask again",
		[GMT_OOM_BY_EXIT] = "The program received the error and later ended without an error",
		[GMT_OOM_BY_REPORTED] = "PyTorch raised its out-of-memory error",
		[GMT_OOM_BY_RETURN] = "The call that needed the memory failed",
	};

	switch (rec->outcome) {
	case GMT_OOM_RETRY:
		out_printf(out, "A retry%s succeeded", rec->sign == GMT_OOM_BY_GIVEN ? "" : " for less memory");
		if (rec->given_bytes)
			out_printf(out, " (%s)", human_bytes(rec->given_bytes).s);
		say_tries(out, rec);
		out_printf(out, ", %s after the first failure: a slow step, not an error.",
			   human_duration(rec->decided_ns - rec->first_ns).s);
		break;
	case GMT_OOM_RAISED:
		out_text(out, signs[rec->sign] ? signs[rec->sign] : "The program received the error");
		say_tries(out, rec);
		out_char(out, '.');
		break;
	case GMT_OOM_FATAL:
		out_printf(out, "The process %s%s, %s after the ", is_killed ? "was " : "", text_exit(rec->exit_code).s,
			   human_duration(rec->exit_ns - rec->last_ns).s);
		if (rec->failures > 1)
			out_printf(out, "last of %s failures", human_count(rec->failures).s);
		else
			out_text(out, "failure");
		if (rec->freed_bytes)
			out_printf(out, ", with %s freed in between", human_bytes(rec->freed_bytes).s);
		out_char(out, '.');
		break;
	default:
		out_text(out, "The outcome is not known: nothing more was recorded.");
	}
}

void oom_text(struct out *out, const struct oom_view *v, const char *indent)
{
	struct out first;
	char *text;

	out_init_mem(&first);
	say_why(&first, v);
	text = out_take(&first);
	if (text[0] >= 'a' && text[0] <= 'z')
		text[0] += 'A' - 'a';
	out_printf(out, "%s%s\n", indent, text);
	free(text);
	say_content(out, v, indent);
	say_purposes(out, v, indent);
	say_cached(out, v, indent);
	say_others(out, v, indent);
	say_changes(out, v, indent);
	say_growth(out, v, indent);
	if (v->rec.outcome == GMT_OOM_NONE)
		return;
	out_text(out, indent);
	say_outcome(out, v);
	out_char(out, '\n');
}

void oom_text_head(struct out *out, const struct oom_view *v)
{
	static const char *const words[GMT_OOM_OUTCOME_COUNT] = {
		[GMT_OOM_OPEN] = "undecided", [GMT_OOM_RETRY] = "satisfied by a retry", [GMT_OOM_RAISED] = "raised",
		[GMT_OOM_FATAL] = "fatal", [GMT_OOM_NONE] = "picture",
	};
	uint64_t at_ns = v->rec.first_ns ? v->rec.first_ns : v->view.now_ns;
	struct human when = text_when(&v->view, at_ns), offset = text_offset(&v->view, at_ns);

	if (v->rec.outcome == GMT_OOM_NONE)
		out_text(out, "memory in use at");
	else
		out_printf(out, "out of memory #%u, %s:", v->rec.number, words[v->rec.outcome]);
	out_printf(out, " %s", when.s);
	if (strcmp(when.s, offset.s))
		out_printf(out, " (%s)", offset.s);
	if (v->rec.outcome == GMT_OOM_NONE)
		return;
	out_text(out, ", ");
	say_asker(out, v, false);
	out_printf(out, ", thread %u, %s of %s", v->rec.hdr.tid,
		   name_asked(v).s, v->facts.is_of_gpu ? name_gpu(v).s :
		   gmt_class_text((enum gmt_class)v->rec.class_id));
	if (v->rec.api)
		out_printf(out, ", %s", gmt_probes[v->rec.api].symbol);
	else if (v->rec.flags & GMT_OOM_REFUSED)
		out_text(out, name_place(v).s);
}

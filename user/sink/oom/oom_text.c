// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes the verdict about a failed request (oom_verdict.h). With the holders of memory it has at most 40 lines.
 *
 *     OUT OF MEMORY (the program died)  2026-02-03 10:16:12 UTC  node17  pid 4242  python train.py  GPU 0
 *     ASKED  256 KiB, in the backward of iteration 71; train.py:28 step was waiting for it
 *     WHY    a leak: ...
 *     WHERE  train.py:21 forward  53.2 MiB, kept over iterations, growing all along
 *     NOT    fragmentation: 447 KiB cached; another process: no other traced process holds memory
 *     DO     1 find what keeps each step's loss or outputs (a list? .detach() or .item())
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/human.h"
#include "base/out.h"
#include "core/terms/own_code.h"
#include "core/terms/probes.h"
#include "sink/oom/oom_sinks.h"
#include "sink/sink.h"
#include "sink/text/finding_text.h"
#include "sink/text/stack_text.h"
#include "sink/text/text.h"

#define LABEL_COLUMNS OOM_LABEL_COLUMNS
#define HOST_COLUMNS 40
#define CAUSES_SHOWN 3
#define OWNER_COLUMNS 30
#define FILE_COLUMNS 400

/* Names the thing that a call makes and that takes memory; NULL: the call only allocates memory. */
static const char *name_thing(const struct oom_view *v)
{
	static const char *const things[GMT_PURPOSE_COUNT] = {
		[GMT_PURPOSE_CONTEXT] = "a context", [GMT_PURPOSE_MODULE] = "a module", [GMT_PURPOSE_GRAPH] = "a graph",
		[GMT_PURPOSE_STREAM] = "a stream",
	};

	return things[gmt_purpose_of_api(v->rec.api)];
}

/* The untraced call that was refused memory (cuLaunchKernel, for example), if the stack trace shows it; else NULL. */
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

/* ---- the head ---- */

static const char *name_outcome(const struct oom_view *v)
{
	static const char *const texts[GMT_OOM_OUTCOME_COUNT] = {
		[GMT_OOM_OPEN] = "the outcome is not known", [GMT_OOM_RETRY] = "a retry succeeded",
		[GMT_OOM_RAISED] = "an error was raised", [GMT_OOM_FATAL] = "the program died",
	};
	const char *text = v->rec.outcome < GMT_OOM_OUTCOME_COUNT ? texts[v->rec.outcome] : NULL;

	return text ? text : "an outcome of a newer version";
}

static void put_moment(struct out *out, const struct oom_view *v)
{
	const struct view *view = &v->view;
	uint64_t at_ns = v->rec.first_ns ? v->rec.first_ns : view->now_ns, offset = at_ns - view->start_ns;

	if (view->wall_start_ns)
		out_printf(out, "%s UTC", human_wall(view->wall_start_ns + offset, "%Y-%m-%d %H:%M:%S").s);
	else
		out_printf(out, "%s since the start", text_offset(view, at_ns).s);
	if (view->session.host[0]) {
		out_text(out, "  ");
		human_print(out, HOST_COLUMNS, (const char *)view->session.host, sizeof(view->session.host));
	}
}

static const struct view_row *row_of_asker(const struct oom_view *v)
{
	return v->facts.asker == OOM_VIEW_NONE ? NULL : oom_gpu_row(v, &v->rows[v->facts.asker]);
}

/* Programs know the GPU by CUDA's number. */
static struct human name_device(const struct oom_view *v)
{
	const struct view_row *row = row_of_asker(v);
	struct human device = { "" };

	if (row && row->gpu == v->gpu)
		device = text_ordinal(&v->view, row);
	return device.s[0] ? device : oom_text_gpu(v);
}

void oom_text_head(struct out *out, const struct oom_view *v)
{
	const char *what = v->rec.outcome == GMT_OOM_RETRY ? "MEMORY WAS SHORT" : "OUT OF MEMORY";

	if (v->rec.outcome == GMT_OOM_NONE)
		out_text(out, "MEMORY IN USE (dump on request, no failure)  ");
	else if (v->rec.number > 1)
		out_printf(out, "%s #%u (%s)  ", what, v->rec.number, name_outcome(v));
	else
		out_printf(out, "%s (%s)  ", what, name_outcome(v));
	put_moment(out, v);
	if (v->rec.outcome == GMT_OOM_NONE)
		return;
	out_text(out, "  ");
	if (v->proc == OOM_VIEW_NONE)
		out_text(out, "an unknown process");
	else
		oom_text_process(out, v, v->proc);
	if (v->facts.is_of_gpu)
		out_printf(out, "  %s", name_device(v).s);
	else
		out_printf(out, "  %s memory", gmt_class_text(v->rec.class_id));
	if (v->is_gpu_inferred)
		out_text(out, " (the only one that it uses)");
}

/* ---- the sections ---- */

static void put_call(struct out *out, const struct oom_view *v)
{
	const char *thing = name_thing(v), *call = gmt_api_symbol(v->rec.api);

	if (v->facts.asked)
		out_text(out, human_bytes(v->facts.asked).s);
	else
		out_text(out, thing ? thing : "memory");
	if (thing && v->facts.asked && v->rec.class_id == GMT_OOM_CLASS_NONE)
		out_printf(out, " for %s", thing);
	if (v->rec.flags & GMT_OOM_REFUSED) {
		call = refused_call(v);
		out_printf(out, call ? " in %s" : " outside all traced calls, probably to launch a kernel", call);
	} else if (v->rec.api) {
		out_printf(out, " by %s", call ? call : "an unknown call");
	}
	if (v->rec.failures > 1)
		out_printf(out, ", tried %s times", human_count(v->rec.failures).s);
}

static void put_phase(struct out *out, const struct oom_view *v)
{
	static const char *const phases[GMT_TRAINING_COUNT] = {
		[GMT_TRAINING_FORWARD] = "the forward", [GMT_TRAINING_BACKWARD] = "the backward",
		[GMT_TRAINING_OPTIMIZER] = "the optimizer step", [GMT_TRAINING_ZERO_GRAD] = "zero grad",
	};
	const struct view_row *row = row_of_asker(v);
	unsigned phase = v->backward != OOM_VIEW_NONE ? GMT_TRAINING_BACKWARD : row ? row->torch.training.phase : 0;

	if (!row || !row->torch.training.is_training || phase >= GMT_TRAINING_COUNT)
		return;
	out_printf(out, ", in %s", phases[phase]);
	/* Where no end of an iteration was seen, the first has any number of iterations in it. */
	if (row->torch.training.iteration > 1)
		out_printf(out, " of iteration %u", row->torch.training.iteration);
}

static void say_asked(struct out *out, const struct oom_view *v)
{
	const struct oom_verdict *verdict = &v->verdict;
	const struct view_stack *stack = v->stack == OOM_VIEW_NONE ? NULL : &v->view.stacks[v->stack];

	put_call(out, v);
	put_phase(out, v);
	if (verdict->asked_symbol != VIEW_NO_FRAME) {
		out_text(out, ", at ");
		stack_text_place(out, &v->view.symbols[verdict->asked_symbol]);
	} else if (verdict->waiting_symbol == VIEW_NO_FRAME && stack && stack->state == VIEW_STACK_NAMED) {
		out_text(out, ", at ");
		stack_text_head(out, &v->view, stack);
	}
	if (verdict->waiting_symbol != VIEW_NO_FRAME) {
		out_text(out, "; ");
		stack_text_place(out, &v->view.symbols[verdict->waiting_symbol]);
		out_text(out, " was waiting for it");
	}
}

/* The owner of the driver's memory, unless the line says all. */
static void put_owner(struct out *out, const struct oom_view *v, const struct view_stack *stack)
{
	static const char *const own[] = { "application", "unknown" };   /* as in owners.conf and owners.h */
	const struct view_owner_text *names = &v->view.owners[stack->owner];
	/* The line has the program's file already. */
	bool is_of_line = names->allocator && stack->own < stack->frame_count &&
			  !strcmp(names->name, own_code_short_name(v->view.symbols[stack->frames[stack->own]].file));
	const char *owner = is_of_line ? names->allocator : names->text;

	for (size_t i = 0; i < COUNT(own); i++)
		if (!strcmp(owner, own[i]))
			return;
	out_text(out, ", ");
	human_print(out, OWNER_COLUMNS, owner, strlen(owner));
}

/* Whose lines they are, where a picture has several processes or GPUs: those of the row with the most memory. */
static void put_whose(struct out *out, const struct oom_view *v)
{
	const struct oom_view_row *largest = &v->rows[v->facts.largest];
	size_t rows = 0;

	for (size_t i = 0; i < v->row_count; i++)
		rows += !v->rows[i].is_blocks && v->rows[i].row != OOM_VIEW_NONE;
	if (rows > 1)
		out_printf(out, ", in pid %u on GPU %s", v->view.procs[largest->proc].tgid,
			   text_gpu(&v->view, oom_gpu_row(v, largest)->gpu).s);
}

static void say_line(struct out *out, const struct oom_view *v, const struct oom_line *line)
{
	const struct oom_cause *cause = v->verdict.cause_count ? &v->verdict.causes[0] : NULL;

	oom_text_line(out, v, line->line);
	out_printf(out, "  %s", human_bytes(line->bytes).s);
	if (!v->verdict.are_tensors && line->line->state != VIEW_LINE_DRIVER && line->line->state != VIEW_LINE_RESERVE)
		put_owner(out, v, &v->view.stacks[line->line->stack]);
	if (line->purpose)
		out_printf(out, ", %s", gmt_category_text(line->purpose - 1));
	if (line->has_grown && (!cause || cause->kind != OOM_CAUSE_ACTIVATIONS))
		out_text(out, ", growing all along");
	stack_text_caller(out, &v->view, line->line, "  ");
	if (cause && cause->row != v->facts.asker && cause->row != OOM_VIEW_NONE)
		out_printf(out, ", in pid %u", v->view.procs[v->rows[cause->row].proc].tgid);
	else if (v->rec.outcome == GMT_OOM_NONE)
		put_whose(out, v);
}

/* Pieces of the request itself were given before a call failed: they are part of the lines below. Each piece of a
 * request has the same size; where they do not add up to the request, only their number is known. */
static void say_pieces(struct out *out, const struct oom_view *v)
{
	uint64_t each = v->rec.asked_bytes / ((uint64_t)v->rec.pieces + 1), given = each * v->rec.pieces;
	uint64_t held = v->facts.asker == OOM_VIEW_NONE ? 0 : v->rows[v->facts.asker].held;

	out_text(out, "this request itself: ");
	if (each * ((uint64_t)v->rec.pieces + 1) != v->rec.asked_bytes)
		given = 0;
	if (given)
		out_printf(out, "%s in ", human_bytes(given).s);
	out_printf(out, "%s %s, given before one was refused", human_count(v->rec.pieces).s,
		   human_plural(v->rec.pieces, "piece", "pieces"));
	if (given && held >= given)
		out_printf(out, "; memory from before it: %s", human_bytes(held - given).s);
}

/* Where the sections go, and how wide they are. */
struct sections {
	struct page *page;
	const struct oom_view *v;
	unsigned columns;
};

static void put_section(const struct sections *to, enum oom_rank rank, enum page_thing thing, const char *label,
			struct out *text)
{
	text_wrap(page_part(to->page, rank, thing, 1), label, LABEL_COLUMNS, to->columns, text);
}

static void put_reasons(const struct sections *to)
{
	const struct oom_view *v = to->v;
	struct out text;

	if (!v->verdict.reason_count)
		return;
	out_init_mem(&text);
	for (size_t i = 0; i < v->verdict.reason_count; i++) {
		out_text(&text, i ? "; " : "");
		oom_say_reason(&text, v, &v->verdict.reasons[i]);
	}
	put_section(to, OOM_RANK_MORE, PAGE_DETAILS, "NOT", &text);
}

/* Numbered, because the order matters; after a retry that succeeded nothing must be done. */
static void put_remedies(const struct sections *to)
{
	const struct oom_view *v = to->v;

	for (size_t i = 0; i < v->verdict.remedy_count; i++) {
		enum oom_rank rank = i ? OOM_RANK_MORE : OOM_RANK_ANSWER;
		char label[LABEL_COLUMNS + 24];
		struct out text;

		out_init_mem(&text);
		oom_say_remedy(&text, v, v->verdict.remedies[i]);
		if (v->rec.outcome == GMT_OOM_RETRY) {
			put_section(to, rank, PAGE_DETAILS, i ? "" : "DO", &text);
			continue;
		}
		snprintf(label, sizeof(label), "%-*s%zu ", LABEL_COLUMNS, i ? "" : "DO", i + 1);
		text_wrap(page_part(to->page, rank, PAGE_DETAILS, 1), label, LABEL_COLUMNS + 2, to->columns, &text);
	}
}

static void put_causes(const struct sections *to)
{
	const struct oom_verdict *verdict = &to->v->verdict;

	for (size_t i = 0; i < verdict->cause_count && i < CAUSES_SHOWN; i++) {
		struct out text;

		out_init_mem(&text);
		out_text(&text, i ? "and " : "");
		oom_say_cause(&text, to->v, &verdict->causes[i]);
		put_section(to, i ? OOM_RANK_MORE : OOM_RANK_ANSWER, PAGE_DETAILS, i ? "" : "WHY", &text);
	}
}

/* Of a picture that was asked for: of a request that failed, the verdict says all. */
static void put_found(const struct sections *to)
{
	const struct view *view = &to->v->view;
	const struct sink_opts opts = { 0 };

	for (size_t i = 0; to->v->rec.outcome == GMT_OOM_NONE && i < view->finding_count; i++) {
		const struct finding *f = &view->findings[i];
		struct out *out = page_part(to->page, OOM_RANK_ANSWER, PAGE_FINDINGS, 1);
		struct out subject;
		char *text;

		out_init_mem(&subject);
		finding_text_subject(&subject, view, f);
		text = out_take(&subject);
		finding_text_sentence(out, view, f, text, to->columns, &opts);
		finding_text_keeper(out, view, f, to->columns, &opts);
		free(text);
		finding_text_advice(page_part(to->page, OOM_RANK_MORE, PAGE_DETAILS, 1), view, f, to->columns, &opts);
	}
}

static void put_where(const struct sections *to)
{
	const struct oom_view *v = to->v;
	bool has_pieces = v->rec.pieces && v->verdict.line_count;
	struct out text;

	if (has_pieces) {
		out_init_mem(&text);
		say_pieces(&text, v);
		put_section(to, OOM_RANK_ANSWER, PAGE_DETAILS, "WHERE", &text);
	}
	for (size_t i = 0; i < v->verdict.line_count; i++) {
		out_init_mem(&text);
		say_line(&text, v, &v->verdict.lines[i]);
		put_section(to, i ? OOM_RANK_MORE : OOM_RANK_ANSWER, PAGE_LINES, i || has_pieces ? "" : "WHERE", &text);
	}
}

void oom_text_parts(struct page *page, const struct oom_view *v, const char *file, unsigned columns)
{
	const struct sections to = { page, v, columns };
	struct out text;

	if (file) {
		out_init_mem(&text);
		human_print(&text, FILE_COLUMNS, file, strlen(file));
		put_section(&to, OOM_RANK_ANSWER, PAGE_DETAILS, "FILE", &text);
	}
	if (v->rec.outcome != GMT_OOM_NONE) {
		out_init_mem(&text);
		say_asked(&text, v);
		put_section(&to, OOM_RANK_ANSWER, PAGE_DETAILS, "ASKED", &text);
	}
	put_found(&to);
	put_causes(&to);
	put_where(&to);
	put_reasons(&to);
	put_remedies(&to);
}

void oom_text(struct out *out, const struct oom_view *v, const char *file, unsigned columns)
{
	struct page page;

	page_init(&page, out, 0, LABEL_COLUMNS, NULL);
	oom_text_parts(&page, v, file, columns);
	page_end(&page);
}

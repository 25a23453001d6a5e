// SPDX-License-Identifier: BSD-2-Clause
/* Writes sentences about a failed request: why the request failed, and the outcome. */
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

#define MUCH_PART 4        /* a GPU with more than a fourth of its memory free is not full */
#define UNTRACED_PART 64   /* untraced memory below this part of the GPU is not mentioned */

/* is_known: the sentence has already named the process that holds the most. */
static void say_asker(struct out *out, const struct oom_view *v, bool is_known)
{
	if (is_known && v->facts.largest != OOM_VIEW_NONE && v->rows[v->facts.largest].proc == v->proc)
		out_printf(out, "process %u", v->view.procs[v->proc].tgid);
	else if (v->proc == OOM_VIEW_NONE)
		out_text(out, "an unknown process");
	else
		oom_text_process(out, v, v->proc);
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

/* Names the thing that a call makes and that takes memory; NULL: the call only allocates memory. */
static const char *name_thing(const struct oom_view *v)
{
	static const char *const things[GMT_PURPOSE_COUNT] = {
		[GMT_PURPOSE_CONTEXT] = "a context", [GMT_PURPOSE_MODULE] = "a module", [GMT_PURPOSE_GRAPH] = "a graph",
		[GMT_PURPOSE_STREAM] = "a stream",
	};

	return things[gmt_purpose_of_api(v->rec.api)];
}

/* The requested bytes, or the purpose of the memory if the size is not known. */
static struct human name_asked(const struct oom_view *v)
{
	const char *thing = name_thing(v);
	struct human h;

	if (v->facts.asked)
		return human_bytes(v->facts.asked);
	snprintf(h.s, sizeof(h.s), "%s", thing ? thing : "memory");
	return h;
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

/* The place of a request, unless the call only allocates memory. */
static struct human name_place(const struct oom_view *v)
{
	const char *thing = name_thing(v);
	const char *call = v->rec.flags & GMT_OOM_REFUSED ? refused_call(v) : NULL;
	struct human h = { "" };

	if (call)
		snprintf(h.s, sizeof(h.s), " in %s", call);
	else if (v->rec.flags & GMT_OOM_REFUSED)
		snprintf(h.s, sizeof(h.s), " (probably for a launch)");
	else if (thing && v->facts.asked && v->rec.class_id == GMT_OOM_CLASS_NONE)
		snprintf(h.s, sizeof(h.s), " for %s", thing);
	return h;
}

/* ---- why ---- */

/* The sum and the number of all rows on the GPU but one. */
static uint64_t held_by_others(const struct oom_view *v, size_t but, unsigned *count)
{
	uint64_t bytes = 0;

	*count = 0;
	for (size_t i = 0; i < v->row_count; i++) {
		const struct view_row *row = oom_gpu_row(v, &v->rows[i]);

		if (i == but || v->rows[i].is_blocks || !row || row->gpu != v->gpu)
			continue;
		bytes += v->rows[i].held;
		++*count;
	}
	return bytes;
}

/* The beginning of the sentence about a GPU without memory. */
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
		oom_text_process(out, v, v->rows[f->largest].proc);
		out_printf(out, " holds %s", human_bytes(v->rows[f->largest].held).s);
		if (f->total)
			out_printf(out, " of %s", human_bytes(f->total).s);
	}
	if (count)
		out_printf(out, ", %u other %s %s", count, human_plural(count, "process holds", "processes hold"),
			   human_bytes(others).s);
	/* The driver itself takes some of each GPU. */
	if (f->untraced > f->total / UNTRACED_PART)
		out_printf(out, ", the driver and processes that were not traced hold %s",
			   human_bytes(f->untraced).s);
	if (f->has_free)
		out_printf(out, "; %s%s was free", frees[f->has_free], human_bytes(f->free).s);
	out_text(out, f->has_free ? " when " : ", when ");
	say_asker(out, v, true);
	out_printf(out, " asked for %s%s.", name_asked(v).s, name_place(v).s);
}

/* Says that there is no picture of the moment. */
static void say_unseen(struct out *out, const struct oom_view *v)
{
	const struct oom_facts *f = &v->facts;

	say_asker(out, v, false);
	out_printf(out, " asked for %s of %s%s, but not enough memory was left", name_asked(v).s, name_gpu(v).s,
		   name_place(v).s);
	if (f->has_free)
		out_printf(out, ": %s was free", human_bytes(f->free).s);
	out_text(out, ". There is no picture of that moment: the holders of the memory are not known.");
}

static void say_why(struct out *out, const struct oom_view *v)
{
	const struct oom_facts *f = &v->facts;

	if (v->rec.outcome == GMT_OOM_NONE) {
		out_text(out, "No request failed: SIGUSR1 asked for this dump.");
	} else if (!f->is_of_gpu) {
		out_printf(out, "The host could not provide the %s of %s memory that ", human_bytes(f->asked).s,
			   gmt_class_text(v->rec.class_id));
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
		out_printf(out, " asked for %s%s. A limit other than the GPU's memory refused the request.",
			   name_asked(v).s, name_place(v).s);
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

/* ---- the outcome ---- */

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
	const char *sign = rec->sign < GMT_OOM_SIGN_COUNT ? gmt_oom_sign_text(rec->sign) : "";

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
		out_text(out, *sign ? sign : "The program received the error");
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
	case GMT_OOM_OPEN:
		out_text(out, "The outcome is not known: nothing more was recorded.");
		break;
	default:
		out_text(out, "This version of gpumemtrace does not know this outcome: use a newer version.");
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
	oom_text_contents(out, v, indent);
	if (v->rec.outcome == GMT_OOM_NONE)
		return;
	out_text(out, indent);
	say_outcome(out, v);
	out_char(out, '\n');
}

void oom_text_head(struct out *out, const struct oom_view *v)
{
	uint64_t at_ns = v->rec.first_ns ? v->rec.first_ns : v->view.now_ns;
	struct human when = text_when(&v->view, at_ns), offset = text_offset(&v->view, at_ns);

	if (v->rec.outcome == GMT_OOM_NONE)
		out_text(out, "memory in use at");
	else
		out_printf(out, "out of memory #%u, %s:", v->rec.number, gmt_oom_outcome_text(v->rec.outcome));
	out_printf(out, " %s", when.s);
	if (strcmp(when.s, offset.s))
		out_printf(out, " (%s)", offset.s);
	if (v->rec.outcome == GMT_OOM_NONE)
		return;
	out_text(out, ", ");
	say_asker(out, v, false);
	out_printf(out, ", thread %u, %s of %s", v->rec.hdr.tid,
		   name_asked(v).s, v->facts.is_of_gpu ? name_gpu(v).s :
		   gmt_class_text(v->rec.class_id));
	if (v->rec.api)
		out_printf(out, ", %s", gmt_api_symbol(v->rec.api) ? gmt_api_symbol(v->rec.api) : "unknown call");
	else if (v->rec.flags & GMT_OOM_REFUSED)
		out_text(out, name_place(v).s);
}

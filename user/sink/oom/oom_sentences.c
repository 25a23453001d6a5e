// SPDX-License-Identifier: BSD-2-Clause
/*
 * The sentences of a verdict (oom_verdict.h): one for each cause, reason and remedy. A word in braces stands for a
 * number or a name: `blanks` below has these words.
 */
#include <stdio.h>
#include <string.h>

#include "base/count.h"
#include "base/human.h"
#include "base/out.h"
#include "sink/oom/oom_sinks.h"
#include "sink/text/neighbour_text.h"
#include "sink/text/stack_text.h"
#include "sink/text/text.h"

#define NAME_COLUMNS 32
#define NEIGHBOURS_NAMED 2
#define MINUTE_NS 60e9
#define FULL_PART 20         /* a GPU is full if so small a part of it is free */

/* word: for a list, which has no room for the sentence. */
static const struct { const char *word, *sentence; } cause_texts[OOM_CAUSE_COUNT] = {
	[OOM_CAUSE_LEAK] = { "a leak", "a leak: {left_by}{outlived}" },
	[OOM_CAUSE_GROWTH] = { "growth",
		"growth: {bytes} of {whole} came since {since}{rate}, growing all along{most_at}" },
	[OOM_CAUSE_STATE] = { "optimizer state",
		"optimizer state: optimizers keep {bytes} for {whole} of parameters; Adam would keep twice the"
		" parameters" },
	[OOM_CAUSE_FRAGMENTED] = { "fragmentation",
		"fragmentation: PyTorch caches {bytes} of its {whole} in pieces{largest}, and needs {asked} in one"
		" piece" },
	[OOM_CAUSE_NEIGHBOUR] = { "another process",
		"another process: {holder} holds {bytes}{of_whole}; without it the request would have fit" },
	[OOM_CAUSE_UNTRACED] = { "other processes",
		"other processes: {untraced}; {without} the request would have fit" },
	[OOM_CAUSE_CACHE] = { "PyTorch's cache",
		"PyTorch's cache: {bytes} of its {whole} are cached, and only tensors can use them" },
	[OOM_CAUSE_CONTEXT] = { "the CUDA context", "the CUDA context takes {bytes}, more than usual" },
	[OOM_CAUSE_LAUNCHES] = { "launches",
		"kernels, streams and graphs take {bytes} beside all allocations, more than usual" },
	[OOM_CAUSE_POOL] = { "memory pools", "CUDA's memory pools keep {bytes} that no allocation uses" },
	[OOM_CAUSE_REQUEST] = { "one large request", "one request of {bytes}, {request_limit}" },
	[OOM_CAUSE_ACTIVATIONS] = { "one iteration",
		"one iteration needs too much: activations and temporary tensors take {bytes} of {whole} in tensors" },
	[OOM_CAUSE_LIMIT] = { "PyTorch's limit",
		"PyTorch's own memory limit refused the request: {no_failure}{holding}" },
	[OOM_CAUSE_OTHER_LIMIT] = { "another limit",
		"a limit other than the GPU's memory: {bytes}{of_whole} were free" },
	[OOM_CAUSE_UNEXPLAINED] = { "not known",
		"not known: the traced processes hold {bytes}{of_whole}, which leaves {left}; other processes hold the"
		" rest, or another limit refused the request" },
	[OOM_CAUSE_HOST] = { "host memory",
		"the {class} memory could not be provided; all traced processes together hold {bytes} of pinned,"
		" registered and managed memory" },
	[OOM_CAUSE_FULL] = { "too little left", "{gpu} {is_full}: {held}" },
	[OOM_CAUSE_UNKNOWN] = { "not recorded",
		"not known: who held the memory at that moment was not recorded" },
};

static const char *const reason_texts[OOM_REASON_COUNT] = {
	[OOM_REASON_FEW_PIECES] = "fragmentation: {bytes} cached",
	[OOM_REASON_NO_OTHER] = "another process: {others}",
	[OOM_REASON_NO_TRACED] = "another process: no other traced process holds memory",
	[OOM_REASON_SMALL_OTHERS] = "another process: the other traced processes hold {bytes}, less than was missing",
	[OOM_REASON_OTHERS_APART] = "another process: PyTorch refused the request before it asked the GPU",
	[OOM_REASON_NOTHING_LEFT] = "a leak: not each of the last 3 iterations left more memory",
	[OOM_REASON_LITTLE_KEPT] = "a leak: only {bytes} stayed when their iteration had ended",
	[OOM_REASON_USUAL_CONTEXT] = "the CUDA context: {bytes}, as usual",
};

static const char *const remedy_texts[OOM_DO_COUNT] = {
	[OOM_DO_BLOCK_STACKS] = "trace with --block-stacks to see the lines that hold the tensors",
	[OOM_DO_FROM_START] = "trace from the start (gpumemtrace -- CMD): most of the memory is older than the attach",
	[OOM_DO_TRACE_ALL] = "trace all CUDA processes (-a) to see who holds the rest",
	[OOM_DO_TRACE_OTHER] = "the lines of pid {other_pid} are not known: start it under gpumemtrace to see them",
	[OOM_DO_FIND_KEEPER] = "find what keeps each step's loss or outputs (a list? .detach() or .item())",
	[OOM_DO_FIND_GROWTH] = "find what keeps the memory{grown_at}: a list, a dict, a cache, a queue? If it must"
			       " grow, set a limit",
	[OOM_DO_NOT_BATCH] = "a smaller batch only delays it",
	[OOM_DO_NOT_RESTART] = "a restart only delays it: at this rate, memory runs out again after about {again}",
	[OOM_DO_FIND_STATE] = "look for a second optimizer, or a loaded copy of an optimizer's state, and drop it",
	[OOM_DO_EXPANDABLE] = "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True{would_fit}",
	[OOM_DO_FEW_SIZES] = "use fewer different sizes: pad inputs to a few lengths",
	[OOM_DO_END_OTHER] = "if pid {other_pid} is yours, end it; else ask its owner ('gpumemtrace ps' names the"
			     " user), or use another GPU",
	[OOM_DO_END_NEIGHBOUR] = "if {neighbour} is yours, end it; else ask its owner ('gpumemtrace ps' names the"
				 " user), or use another GPU",
	[OOM_DO_LIST_OTHERS] = "'gpumemtrace ps' lists the processes of the GPU and their users: end what is yours, ask"
			       " the owners of the rest, or use another GPU",
	[OOM_DO_EMPTY_CACHE] = "call torch.cuda.empty_cache() before the request",
	[OOM_DO_LEAVE_ROOM] = "limit PyTorch: torch.cuda.set_per_process_memory_fraction()",
	[OOM_DO_CONTEXT_LIMITS] = "look for large limits (cuCtxSetLimit: stack, heap, printf) and kernels with large"
				  " stacks",
	[OOM_DO_TRIM_POOL] = "give pool memory back: cuMemPoolTrimTo(), or a lower release threshold",
	[OOM_DO_CHECK_SIZE] = "check the size: is a shape wrong? Ask for less at once",
	[OOM_DO_SMALLER_BATCH] = "use a smaller batch or shorter inputs",
	[OOM_DO_RECOMPUTE] = "recompute activations (torch.utils.checkpoint), or use mixed precision",
	[OOM_DO_SHARD] = "parameters, gradients and optimizer state take most: shard them (FSDP), or use a smaller"
			 " model",
	[OOM_DO_RAISE_LIMIT] = "raise the limit, if the program sets one"
			       " (torch.cuda.set_per_process_memory_fraction())",
	[OOM_DO_CHECK_LIMITS] = "look for a limit: MPS (CUDA_MPS_PINNED_DEVICE_MEM_LIMIT), a container, address space",
	[OOM_DO_LESS_PINNED] = "pin less (pin_memory, num_workers), or raise the limit (ulimit -l, the memory cgroup)",
	[OOM_DO_HOLD_LESS] = "free or shrink what the lines above hold",
	[OOM_DO_EARLIER] = "look at the earlier failures: one may say who held the memory",
	[OOM_DO_NOTHING] = "nothing must be done: {retry}",
	[OOM_DO_KEEP_CACHE] = "if this slow step comes often in PyTorch: set PYTORCH_CUDA_ALLOC_CONF="
			      "expandable_segments:True, or use fewer different sizes",
};

/* ---- what stands in braces ---- */

/* What a sentence is about. */
struct subject {
	const struct oom_view *v;
	uint64_t bytes, whole, each, since_ns;
	const struct view_line_row *line;
	uint32_t count, iterations;
	size_t row;
};

static void fill_bytes(struct out *out, const struct subject *s)
{
	out_text(out, human_bytes(s->bytes).s);
}

static void fill_whole(struct out *out, const struct subject *s)
{
	out_text(out, human_bytes(s->whole).s);
}

static void fill_of_whole(struct out *out, const struct subject *s)
{
	if (s->whole)
		out_printf(out, " of %s", human_bytes(s->whole).s);
}

/* The largest traced process beside the one that asked. */
static uint32_t pid_of_other(const struct subject *s)
{
	return s->v->view.procs[s->v->rows[s->v->facts.other].proc].tgid;
}

static void fill_held(struct out *out, const struct subject *s)
{
	const struct oom_facts *f = &s->v->facts;

	if (s->bytes)
		out_printf(out, "the traced processes hold %s", human_bytes(s->bytes).s);
	else if (s->v->gpu == VIEW_GPU_UNKNOWN)
		out_text(out, "the records do not say which GPU it was");
	else
		out_text(out, "no traced process holds memory on it");
	if (s->bytes)
		fill_of_whole(out, s);
	/* A further cause may name one of them. */
	if (f->other_count == 1)
		out_printf(out, ", %s of it in pid %u", human_bytes(f->others).s, pid_of_other(s));
	else if (f->other_count)
		out_printf(out, ", %s of it in %s processes beside the one that asked", human_bytes(f->others).s,
			   human_count(f->other_count).s);
}

static void fill_each(struct out *out, const struct subject *s)
{
	out_text(out, human_bytes(s->each).s);
}

static void fill_largest(struct out *out, const struct subject *s)
{
	if (s->each)
		out_printf(out, ", the largest has %s", human_bytes(s->each).s);
}

/* Iterations may leave more than the tensors that are known to be kept. */
static void fill_outlived(struct out *out, const struct subject *s)
{
	if (s->bytes >= oom_left_by(s->each, s->count))
		out_printf(out, "; %s of %s in tensors stayed when their iteration had ended", human_bytes(s->bytes).s,
			   human_bytes(s->whole).s);
}

static void fill_left_by(struct out *out, const struct subject *s)
{
	if (s->count == s->iterations)
		out_printf(out, "each of the last %s iterations left more memory allocated than the one before, %s on"
			   " average", human_count(s->count).s, human_bytes(s->each).s);
	else
		out_printf(out, "at least %s of the last %s iterations left memory that is still allocated, %s in all",
			   human_count(s->count).s, human_count(s->iterations).s,
			   human_bytes(oom_left_by(s->each, s->count)).s);
}

static void fill_count(struct out *out, const struct subject *s)
{
	out_text(out, human_count(s->count).s);
}

static void fill_asked(struct out *out, const struct subject *s)
{
	out_text(out, human_bytes(s->v->facts.asked).s);
}

static void fill_since(struct out *out, const struct subject *s)
{
	out_text(out, text_when(&s->v->view, s->since_ns).s);
}

static void fill_most_at(struct out *out, const struct subject *s)
{
	if (!s->line)
		return;
	out_text(out, s->line->held.grown > 0 && (uint64_t)s->line->held.grown < s->bytes ? ", most at " : ", at ");
	oom_text_line(out, s->v, s->line);
}

/* The line of which a growth is. */
static void fill_grown_at(struct out *out, const struct subject *s)
{
	const struct oom_verdict *verdict = &s->v->verdict;

	for (size_t i = 0; i < verdict->cause_count; i++) {
		const struct oom_cause *c = &verdict->causes[i];

		if (c->kind != OOM_CAUSE_GROWTH || !c->line)
			continue;
		out_text(out, c->line->state == VIEW_LINE_OWN ? " made at " : " of ");
		oom_text_line(out, s->v, c->line);
	}
}

static void fill_holder(struct out *out, const struct subject *s)
{
	oom_text_process(out, s->v, s->v->rows[s->row].proc);
}

static void fill_other_pid(struct out *out, const struct subject *s)
{
	out_printf(out, "%u", pid_of_other(s));
}

static const struct view_gpu *gpu_of_request(const struct subject *s)
{
	return s->v->gpu == VIEW_GPU_UNKNOWN ? NULL : &s->v->view.gpus[s->v->gpu];
}

static void fill_neighbour(struct out *out, const struct subject *s)
{
	neighbour_text_name(out, &gpu_of_request(s)->neighbours[0]);
}

/* Who holds what is neither free nor of a traced process. */
static void fill_not_traced(struct out *out, const struct subject *s)
{
	const struct view_gpu *gpu = gpu_of_request(s);
	uint64_t unlisted = s->v->facts.unlisted;

	if (!gpu || unlisted >= s->bytes) {
		out_printf(out, "the driver and processes that are not traced hold %s", human_bytes(s->bytes).s);
		fill_of_whole(out, s);
		return;
	}
	out_printf(out, "those that are not traced hold %s", human_bytes(s->bytes - unlisted).s);
	fill_of_whole(out, s);
	out_text(out, " (");
	neighbour_text_list(out, gpu, NEIGHBOURS_NAMED);
	out_char(out, ')');
	if (unlisted)
		out_printf(out, ", the driver and processes that NVML does not list hold %s", human_bytes(unlisted).s);
}

/* Nobody can end the driver. */
static void fill_without(struct out *out, const struct subject *s)
{
	out_text(out, s->v->facts.fits_without_others ? "without these processes" : "with all of this free");
}

static void fill_gpu_name(struct out *out, const struct subject *s)
{
	out_text(out, oom_text_gpu(s->v).s);
}

static void fill_class(struct out *out, const struct subject *s)
{
	out_text(out, gmt_class_text(s->v->rec.class_id));
}

/* A GPU with much free memory is not full. */
static void fill_is_full(struct out *out, const struct subject *s)
{
	const struct oom_facts *f = &s->v->facts;
	bool is_full = f->total && f->has_free && f->free <= f->total / FULL_PART;

	out_text(out, is_full ? "is full" : "had too little memory left");
}

/* How far the request was from what was free. */
static void say_lacking(struct out *out, const struct oom_view *v)
{
	const struct oom_facts *f = &v->facts;

	if (f->has_free == OOM_FREE_UNKNOWN && f->is_of_gpu && !f->is_limit && !f->is_unseen)
		out_text(out, "; how much was free is not known");
	if (f->is_limit || !f->asked || (f->has_free != OOM_FREE_TOLD && f->has_free != OOM_FREE_COMPUTED))
		return;
	if (f->asked > f->free)
		out_printf(out, "; the request was %s%s short",
			   f->has_free == OOM_FREE_TOLD ? "" : "at least ", human_bytes(f->asked - f->free).s);
	else if (f->has_free == OOM_FREE_TOLD)
		out_printf(out, "; %s were free, but the driver keeps some for itself", human_bytes(f->free).s);
}

static void fill_request_limit(struct out *out, const struct subject *s)
{
	if (s->v->facts.largest_total)
		out_printf(out, "more than any GPU has: the largest has %s", human_bytes(s->whole).s);
	else if (s->v->facts.is_too_large)
		out_printf(out, "more than all %s of %s", human_bytes(s->whole).s, oom_text_gpu(s->v).s);
	else if (s->whole)
		out_printf(out, "%u %% of all %s of %s", (unsigned)((double)s->bytes * 100 / (double)s->whole + 0.5),
			   human_bytes(s->whole).s, oom_text_gpu(s->v).s);
	else
		out_printf(out, "more than the %s that were free and all %s that the traced processes hold",
			   human_bytes(s->v->facts.free).s, human_bytes(s->v->facts.held).s);
}

/* A lost record may have been a call's that failed. */
static void fill_no_failure(struct out *out, const struct subject *s)
{
	out_text(out, view_lost(&s->v->view) ? "no failed driver call was recorded" : "no driver call had failed");
}

static void fill_holding(struct out *out, const struct subject *s)
{
	if (!s->bytes)
		return;
	out_printf(out, "; PyTorch holds %s", human_bytes(s->bytes).s);
	if (s->v->facts.asked && !view_lost(&s->v->view))
		out_printf(out, ", so the limit is at most about %s", human_bytes(s->bytes + s->v->facts.asked).s);
}

static void fill_others(struct out *out, const struct subject *s)
{
	if (s->bytes)
		out_printf(out, "all other processes and the driver hold %s", human_bytes(s->bytes).s);
	else
		out_text(out, "none");
}

/* A context has no size. */
static void fill_left(struct out *out, const struct subject *s)
{
	if (s->v->facts.asked)
		out_text(out, "room for the request");
	else
		out_printf(out, "at most %s", human_bytes(s->v->facts.free).s);
}

static void fill_would_fit(struct out *out, const struct subject *s)
{
	if (s->v->facts.fits_expandable)
		out_printf(out, ": %s would have fit", human_bytes(s->v->facts.asked).s);
}

static void fill_retry(struct out *out, const struct subject *s)
{
	oom_say_retry(out, s->v);
}

/* How long another run takes until memory is full again. */
static void fill_again(struct out *out, const struct subject *s)
{
	const struct oom_cause *c = &s->v->verdict.causes[0];

	if (c->again)
		out_printf(out, "%s %s", human_count(c->again).s, human_plural(c->again, "iteration", "iterations"));
	else
		out_text(out, human_duration(c->again_ns).s);
}

static void fill_rate(struct out *out, const struct subject *s)
{
	uint64_t span_ns = s->v->rec.hdr.ts_ns > s->since_ns ? s->v->rec.hdr.ts_ns - s->since_ns : 0;

	if (span_ns)
		out_printf(out, " (%s a minute)",
			   human_bytes((uint64_t)((double)s->bytes / (double)span_ns * MINUTE_NS)).s);
}

static const struct {
	const char *word;
	void (*put)(struct out *out, const struct subject *s);
} blanks[] = {
	{ "bytes", fill_bytes }, { "whole", fill_whole }, { "of_whole", fill_of_whole }, { "held", fill_held },
	{ "each", fill_each }, { "left_by", fill_left_by },
	{ "largest", fill_largest }, { "count", fill_count }, { "asked", fill_asked }, { "since", fill_since },
	{ "most_at", fill_most_at },
	{ "holder", fill_holder }, { "other_pid", fill_other_pid }, { "neighbour", fill_neighbour },
	{ "untraced", fill_not_traced }, { "without", fill_without }, { "gpu", fill_gpu_name }, { "class", fill_class },
	{ "is_full", fill_is_full }, { "request_limit", fill_request_limit }, { "would_fit", fill_would_fit },
	{ "left", fill_left }, { "others", fill_others }, { "outlived", fill_outlived },
	{ "grown_at", fill_grown_at }, { "no_failure", fill_no_failure }, { "holding", fill_holding },
	{ "retry", fill_retry }, { "again", fill_again }, { "rate", fill_rate },
};

static void fill_blank(struct out *out, const char *word, size_t size, const struct subject *s)
{
	for (size_t i = 0; i < COUNT(blanks); i++)
		if (strlen(blanks[i].word) == size && !memcmp(blanks[i].word, word, size))
			blanks[i].put(out, s);
}

static void put_sentence(struct out *out, const char *text, const struct subject *s)
{
	while (*text) {
		size_t plain = strcspn(text, "{"), blank;

		out_bytes(out, text, plain);
		text += plain;
		if (!*text)
			return;
		blank = strcspn(text, "}");
		fill_blank(out, text + 1, blank - 1, s);
		text += blank + 1;
	}
}

/* ---- sentences ---- */

const char *oom_cause_word(enum oom_cause_kind kind)
{
	return cause_texts[kind].word;
}

void oom_say_cause(struct out *out, const struct oom_view *v, const struct oom_cause *c)
{
	struct subject s = {
		.v = v, .bytes = c->bytes, .whole = c->whole, .each = c->each, .since_ns = c->since_ns,
		.line = c->line, .count = c->count, .iterations = c->iterations, .row = c->row,
	};

	put_sentence(out, cause_texts[c->kind].sentence, &s);
	if (c->ground == FINDING_GUESS)
		out_text(out, " (guess)");
	/* The guess is what the memory is for, not how much was free. */
	if (c->kind == OOM_CAUSE_STATE || c->kind == OOM_CAUSE_ACTIVATIONS || c->kind == OOM_CAUSE_FULL)
		say_lacking(out, v);
}

void oom_say_reason(struct out *out, const struct oom_view *v, const struct oom_reason *r)
{
	put_sentence(out, reason_texts[r->kind], &(struct subject){ .v = v, .bytes = r->bytes, .count = r->count });
}

void oom_say_remedy(struct out *out, const struct oom_view *v, enum oom_remedy remedy)
{
	put_sentence(out, remedy_texts[remedy], &(struct subject){ .v = v });
}

void oom_text_process(struct out *out, const struct oom_view *v, size_t index)
{
	const struct view_proc *p = &v->view.procs[index];

	out_printf(out, "pid %u ", p->tgid);
	text_command(out, NAME_COLUMNS, p);
}

void oom_text_line(struct out *out, const struct oom_view *v, const struct view_line_row *line)
{
	if (line->state == VIEW_LINE_NOT_OWN)
		stack_text_head(out, &v->view, &v->view.stacks[line->stack]);
	else
		stack_text_line(out, &v->view, line);
}

struct human oom_text_gpu(const struct oom_view *v)
{
	struct human h, number = text_gpu(&v->view, v->gpu);

	if (v->gpu == VIEW_GPU_UNKNOWN)
		snprintf(h.s, sizeof(h.s), "an unknown GPU");
	else
		snprintf(h.s, sizeof(h.s), "GPU %.20s", number.s);
	return h;
}

// SPDX-License-Identifier: BSD-2-Clause
#include "sink/text/finding_text.h"

#include "base/human.h"
#include "base/out.h"
#include "sink/sink.h"
#include "sink/text/neighbour_text.h"
#include "sink/text/stack_text.h"
#include "sink/text/text.h"

#define NAME_COLUMNS 30
#define NEIGHBOURS_NAMED 2

/* ---- sentences, without the end of the line ---- */

static void say_out_of_memory(struct out *out, const struct view *view, const struct finding *f)
{
	(void)view;
	if (f->why)
		finding_text_why(out, f->why, f->count);
	else
		out_printf(out, "%s %s for memory failed", human_count(f->count).s,
			   human_plural(f->count, "request", "requests"));
}

/* Where it is not plain tensors, the purpose belongs to the number. */
static void say_stays(struct out *out, const struct finding *f)
{
	out_text(out, human_bytes(f->part).s);
	if (f->category != GMT_CATEGORY_KEPT)
		out_printf(out, " of %s", gmt_category_text(f->category));
}

static void say_leak(struct out *out, const struct view *view, const struct finding *f)
{
	bool is_each = f->count == f->iterations;

	out_printf(out, "%s+%s in %sthe last %s iterations", is_each ? "about " : "",
		   human_bytes(is_each ? f->bytes : f->bytes * f->count).s, is_each ? "each of " : "",
		   human_count(f->iterations).s);
	if (f->stopped_ns)
		out_printf(out, " until %s", text_when(view, f->stopped_ns).s);
	if (!is_each)
		out_printf(out, ", at least %s of the %s grew", human_count(f->count).s, human_count(f->iterations).s);
	if (!f->part || f->stopped_ns)
		return;
	out_text(out, ", ");
	say_stays(out, f);
	out_text(out, " kept");
}

static void say_steady_growth(struct out *out, const struct view *view, const struct finding *f)
{
	stack_text_line(out, view, f->line);
	out_printf(out, " +%s since %s", human_bytes(f->bytes).s, text_when(view, f->since_ns).s);
	if (f->stopped_ns)
		out_printf(out, " until %s", text_when(view, f->stopped_ns).s);
	out_text(out, ", growing all along");
}

static void say_kept(struct out *out, const struct view *view, const struct finding *f)
{
	(void)view;
	out_printf(out, "%s of tensors stayed when their iteration had ended", human_bytes(f->bytes).s);
}

static void say_state(struct out *out, const struct view *view, const struct finding *f)
{
	(void)view;
	out_printf(out, "optimizers keep %s for %s of parameters", human_bytes(f->bytes).s, human_bytes(f->part).s);
}

static void say_neighbour(struct out *out, const struct view *view, const struct finding *f)
{
	out_printf(out, "process %u (", view->procs[f->other].tgid);
	text_command(out, NAME_COLUMNS, &view->procs[f->other]);
	out_printf(out, ") holds %s of GPU %s", human_bytes(f->bytes).s, text_gpu(view, f->gpu).s);
}

static void say_untraced(struct out *out, const struct view *view, const struct finding *f)
{
	const struct view_gpu *gpu = &view->gpus[f->gpu];

	out_printf(out, "%s of GPU %s are used by processes that are not traced", human_bytes(f->bytes).s,
		   text_gpu(view, f->gpu).s);
	if (!gpu->neighbour_count)
		return;
	out_text(out, ": ");
	neighbour_text_list(out, gpu, NEIGHBOURS_NAMED);
}

static void say_fragmented(struct out *out, const struct view *view, const struct finding *f)
{
	(void)view;
	out_printf(out, "PyTorch has %s that no tensor uses, in pieces of at most %s", human_bytes(f->bytes).s,
		   human_bytes(f->part).s);
}

static void say_cache(struct out *out, const struct view *view, const struct finding *f)
{
	out_printf(out, "PyTorch reserves %s; ", human_bytes(f->part).s);
	if (view->procs[f->proc].exited)
		out_printf(out, "no tensor ever needed %s of it", human_bytes(f->bytes).s);
	else
		out_printf(out, "no tensor has needed %s of it in the last %llu s", human_bytes(f->bytes).s,
			   TORCH_RECENT_NS / 1000000000);
}

static void say_context(struct out *out, const struct view *view, const struct finding *f)
{
	(void)view;
	out_printf(out, "the CUDA context takes %s, more than usual", human_bytes(f->bytes).s);
}

static void say_launches(struct out *out, const struct view *view, const struct finding *f)
{
	(void)view;
	out_printf(out, "kernels, streams and graphs take %s, more than usual", human_bytes(f->bytes).s);
}

static void say_pool(struct out *out, const struct view *view, const struct finding *f)
{
	(void)view;
	out_printf(out, "%s are kept by CUDA's memory pools, and no allocation uses them", human_bytes(f->bytes).s);
}

static void say_before(struct out *out, const struct view *view, const struct finding *f)
{
	(void)view;
	out_printf(out, "%s of %s are older than the attach: their lines are unknown", human_bytes(f->bytes).s,
		   human_bytes(f->part).s);
}

/* has_keeper: the next line names the line of the program that keeps most of this memory. */
static const struct {
	const char *label;
	void (*say)(struct out *out, const struct view *view, const struct finding *f);
	const char *remedy;
	bool has_keeper;
} texts[FINDING_KIND_COUNT] = {
	[FINDING_OF_OUT_OF_MEMORY] = { "OOM", say_out_of_memory,
		"gpumemtrace oom FILE explains each, with a recording or a dump" },
	[FINDING_OF_LEAK] = { "LEAK", say_leak,
		"a list, a cache, a cycle? keep .item() of losses, .detach() of outputs", true },
	[FINDING_OF_GROWTH] = { "GROWTH", say_steady_growth,
		"a cache, a list or a dictionary that is never emptied?" },
	[FINDING_OF_KEPT] = { "KEPT", say_kept,
		"meant to stay? otherwise drop the references to them", true },
	[FINDING_OF_STATE] = { "STATE", say_state,
		"Adam keeps twice the parameters. A second optimizer, or a loaded copy?", true },
	[FINDING_OF_NEIGHBOUR] = { "OTHERS", say_neighbour,
		"end it if it is yours, or use another GPU (CUDA_VISIBLE_DEVICES)" },
	[FINDING_OF_UNTRACED] = { "OTHERS", say_untraced, "gpumemtrace -a traces all processes" },
	[FINDING_OF_FRAGMENTED] = { "PIECES", say_fragmented,
		"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True avoids pieces" },
	[FINDING_OF_CACHED] = { "CACHE", say_cache, "torch.cuda.empty_cache() gives free segments back" },
	[FINDING_OF_CONTEXT] = { "CONTEXT", say_context,
		"cuCtxSetLimit (stack, heap, printf)? kernels with large stacks?" },
	[FINDING_OF_LAUNCHES] = { "LAUNCH", say_launches,
		"kernels with much local memory (large stacks)? many graphs or streams?" },
	[FINDING_OF_POOL_RESERVE] = { "POOL", say_pool, "cuMemPoolTrimTo() gives them back" },
	[FINDING_OF_BEFORE_ATTACH] = { "BEFORE", say_before,
		"growth is seen from now on; gpumemtrace -- CMD sees all from the start" },
};

const char *finding_text_label(enum finding_kind kind)
{
	return texts[kind].label;
}

/* Where lines below the sentence go. */
struct below {
	struct out *out;
	const struct view *view;
	const struct sink_opts *opts;
	unsigned columns;
};

static void put_below(const struct below *b, struct out *line)
{
	text_item(b->out, b->opts, TEXT_PLAIN, &(struct text_place){ "", FINDING_TEXT_LABEL, b->columns }, line);
}

/* A line that keeps nothing of this memory would be blamed for nothing. */
static bool has_keeper(const struct finding *f)
{
	return texts[f->kind].has_keeper && f->line && view_line_part(f->line, f->category);
}

static void keeper_line(const struct below *b, const struct finding *f)
{
	struct out line;

	out_init_mem(&line);
	stack_text_line(&line, b->view, f->line);
	out_printf(&line, " %s %s", f->stopped_ns ? "kept" : "keeps",
		   human_bytes(view_line_part(f->line, f->category)).s);
	put_below(b, &line);
}

/* The line is not known, and no stack traces were taken. */
static void no_keeper_line(const struct below *b, const struct finding *f)
{
	struct out line;

	if (f->line || view_has_stacks(&b->view->procs[f->proc].rows[f->row].torch.stacks))
		return;
	out_init_mem(&line);
	out_text(&line, "trace with --block-stacks to see the line that keeps them");
	put_below(b, &line);
}

static void caller_line(const struct below *b, const struct view_line_row *row)
{
	struct out line;

	if (!row->caller)
		return;
	out_init_mem(&line);
	stack_text_caller(&line, b->view, row, "");
	put_below(b, &line);
}

static void stopped_line(const struct below *b, const struct finding *f)
{
	struct out line;

	if (!f->stopped_ns || !f->part)
		return;
	out_init_mem(&line);
	say_stays(&line, f);
	out_text(&line, " had been kept by then");
	put_below(b, &line);
}

static void left_line(const struct below *b, const struct finding *f)
{
	bool has_count = f->left != FINDING_LEFT_UNKNOWN, has_time = f->left_ns != FINDING_LEFT_UNKNOWN;
	struct out line;

	if (!has_count && !has_time)
		return;
	out_init_mem(&line);
	out_text(&line, "the GPU is full in ");
	if (has_time)
		out_printf(&line, "about %s%s", human_duration(f->left_ns).s, has_count ? " (" : "");
	if (has_count)
		out_printf(&line, "%s %s%s", human_count(f->left).s,
			   human_plural(f->left, "iteration", "iterations"), has_time ? ")" : "");
	out_text(&line, " at this rate");
	put_below(b, &line);
}

const char *finding_text_remedy(const struct view *view, const struct finding *f)
{
	if (f->kind == FINDING_OF_FRAGMENTED &&
	    view->procs[f->proc].rows[f->row].torch.backend == GMT_TORCH_EXPANDABLE)
		return "use fewer different sizes: pad inputs to a few lengths";
	if (f->kind == FINDING_OF_GROWTH && f->line->state == VIEW_LINE_DRIVER)
		return "new kernels, modules, graphs or streams again and again?";
	if (f->kind == FINDING_OF_LEAK && f->category == GMT_CATEGORY_GRADIENT)
		return "gradients with a graph (create_graph), or copies of .grad? .detach() them";
	if (f->kind == FINDING_OF_LEAK && f->category == GMT_CATEGORY_OPTIMIZER_STATE)
		return "a new optimizer each time, while something holds the old ones?";
	return texts[f->kind].remedy;
}

static void remedy_line(const struct below *b, const struct finding *f)
{
	/* The report's last lines have the command. */
	bool is_said = f->kind == FINDING_OF_OUT_OF_MEMORY && (b->opts->recording || b->opts->dump);
	struct out line;

	if (is_said)
		return;
	out_init_mem(&line);
	out_text(&line, finding_text_remedy(b->view, f));
	put_below(b, &line);
}

void finding_text_say(struct out *out, const struct view *view, const struct finding *f)
{
	texts[f->kind].say(out, view, f);
}

void finding_text_subject(struct out *out, const struct view *view, const struct finding *f)
{
	bool has_pid = f->proc != FINDING_NONE && view->proc_count > 1;
	bool has_gpu = f->proc != FINDING_NONE && f->row != FINDING_NONE && view->procs[f->proc].row_count > 1;

	if (has_pid)
		out_printf(out, "pid %u%s", view->procs[f->proc].tgid, has_gpu ? ", " : ": ");
	if (has_gpu)
		out_printf(out, "GPU %s: ", text_gpu(view, f->gpu).s);
}

void finding_text_sentence(struct out *out, const struct view *view, const struct finding *f, const char *subject,
			   unsigned columns, const struct sink_opts *opts)
{
	const struct text_place place = { texts[f->kind].label, FINDING_TEXT_LABEL, columns };
	struct out line;

	out_init_mem(&line);
	out_text(&line, subject);
	/* In front, where no narrow screen cuts it. */
	if (finding_ground(f->kind) == FINDING_GUESS)
		out_text(&line, "(guess) ");
	finding_text_say(&line, view, f);
	text_item(out, opts, TEXT_YELLOW, &place, &line);
}

void finding_text_keeper(struct out *out, const struct view *view, const struct finding *f, unsigned columns,
			 const struct sink_opts *opts)
{
	const struct below below = { out, view, opts, columns };

	stopped_line(&below, f);
	if (has_keeper(f))
		keeper_line(&below, f);
}

void finding_text_advice(struct out *out, const struct view *view, const struct finding *f, unsigned columns,
			 const struct sink_opts *opts)
{
	const struct below below = { out, view, opts, columns };

	if (f->line && (!texts[f->kind].has_keeper || has_keeper(f)))
		caller_line(&below, f->line);
	if (texts[f->kind].has_keeper)
		no_keeper_line(&below, f);
	left_line(&below, f);
	remedy_line(&below, f);
}

void finding_text_answer(struct out *out, const struct view *view, const struct finding *f,
			 const struct sink_opts *opts)
{
	finding_text_sentence(out, view, f, "", TEXT_COLUMNS, opts);
	finding_text_keeper(out, view, f, TEXT_COLUMNS, opts);
}

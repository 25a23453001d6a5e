// SPDX-License-Identifier: BSD-2-Clause
/*
 * The answer at the head of a report: what the largest processes hold on each GPU, what was found, and the lines with
 * the most memory. The rest of the report has the numbers behind the answer.
 *
 *     python train.py  pid 4242  running at 2026-02-03 10:17:23 UTC on node17
 *     GPU 0   nvidia-smi shows 2.3 GiB of 79.6 GiB, 76.7 GiB free
 *             = allocations 1.8 GiB  + CUDA context 498 MiB  + rounding 47 MiB
 *               + unexplained 0 B  (at most 2.4 GiB, at 10:16:12)
 *             PyTorch 1.7 GiB, tensors 1.1 GiB (at most 1.5 GiB, at 10:16:11)
 *     LEAK    (guess) about +832 KiB in each of the last 30 iterations, 55.2 MiB kept
 *             train.py:21 forward keeps 53.2 MiB
 *     LINES    53.2 MiB  train.py:21 forward  kept over iterations
 *     MODULES GPT2Block > GPT2Attention  53.1 MiB (96 %)
 *
 * The answer has 20 lines at most. What has no room is counted in the last line (page.h).
 */
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "sink/report/report.h"
#include "sink/report/report_others.h"
#include "sink/report/report_parts.h"
#include "sink/sink.h"
#include "sink/text/finding_text.h"
#include "sink/text/text.h"

#define LINES_MOST 20
#define PROCESSES_SHOWN 3
#define NAME_COLUMNS 64      /* lines have 80 columns */
#define HOST_COLUMNS 64

/* Whether a process comes before another one: it runs, and the other one has ended; it holds more; it held more. */
static bool is_heavier(const struct view_proc *a, const struct view_proc *b)
{
	uint64_t live_a = report_holds(a), live_b = report_holds(b);

	if (a->exited != b->exited)
		return b->exited;
	return live_a != live_b ? live_a > live_b : report_most(a) > report_most(b);
}

/* The state and its time. Of all that run, one line has the time. */
static void print_state(struct out *line, const struct view *view, const struct view_proc *proc, bool is_first)
{
	uint64_t at_ns = proc->exited ? proc->exit_ts_ns : view->now_ns;

	if (proc->exited && proc->ooms[GMT_OOM_FATAL])
		out_text(line, "DIED OUT OF MEMORY");
	else
		out_text(line, proc->exited ? text_exit(proc->exit_code).s : "running");
	if (!is_first && !proc->exited)
		return;
	if (view->wall_start_ns)
		out_printf(line, " at %s UTC",
			   human_wall(view->wall_start_ns + (at_ns - view->start_ns), "%Y-%m-%d %H:%M:%S").s);
	if (!view->session.host[0] || !is_first)
		return;
	out_text(line, " on ");
	human_print(line, HOST_COLUMNS, (const char *)view->session.host, sizeof(view->session.host));
}

/* One line, or two where one is too short. */
static void name_lines(struct out *out, const struct view *view, const struct view_proc *proc, bool is_first,
		       const struct sink_opts *opts)
{
	struct out line, state;
	size_t used;
	char *text;

	out_init_mem(&line);
	text_command(&line, NAME_COLUMNS, proc);
	out_printf(&line, "  pid %u", proc->tgid);
	out_init_mem(&state);
	print_state(&state, view, proc, is_first);
	used = line.size + 2 + state.size;
	text = out_take(&line);
	text_styled(out, opts, TEXT_BOLD, text);
	free(text);
	if (used <= TEXT_COLUMNS) {
		text = out_take(&state);
		out_printf(out, "  %s\n", text);
		free(text);
	} else {
		out_char(out, '\n');
		report_put(out, opts, "", &state);
	}
}

/* The first finding of the row from index `from` on; view->finding_count: there is none. */
static size_t next_finding(const struct view *view, size_t proc, size_t row, size_t from)
{
	while (from < view->finding_count && (view->findings[from].proc != proc || view->findings[from].row != row))
		from++;
	return from;
}

static bool has_findings(const struct view *view, size_t proc, size_t row)
{
	return next_finding(view, proc, row, 0) < view->finding_count;
}

static bool has_any_findings(const struct view *view, size_t proc)
{
	for (size_t i = 0; i < view->finding_count; i++)
		if (view->findings[i].proc == proc)
			return true;
	return false;
}

/* proc, row: FINDING_NONE as in a finding. */
static void put_findings(struct report_answer *a, size_t proc, size_t row)
{
	bool is_first = a->is_first && proc != FINDING_NONE;
	enum report_rank rank = is_first ? REPORT_FIRST : REPORT_FINDINGS;
	enum report_rank below = is_first ? REPORT_FIRST_ADVICE : REPORT_ADVICE;

	for (size_t i = next_finding(a->view, proc, row, 0); i < a->view->finding_count;
	     i = next_finding(a->view, proc, row, i + 1)) {
		const struct finding *f = &a->view->findings[i];

		finding_text_answer(page_part(&a->page, rank, PAGE_FINDINGS, 1), a->view, f, a->opts);
		finding_text_advice(page_part(&a->page, below, PAGE_DETAILS, 1), a->view, f, TEXT_COLUMNS, a->opts);
	}
}

static size_t find_fullest(const struct view_proc *proc)
{
	size_t best = 0;

	for (size_t r = 1; r < proc->row_count; r++) {
		uint64_t holds = view_holds(proc, &proc->rows[r]), most = view_holds(proc, &proc->rows[best]);

		if (holds == most) {
			holds = report_most_of(&proc->rows[r]);
			most = report_most_of(&proc->rows[best]);
		}
		best = holds > most ? r : best;
	}
	return best;
}

static void answer_process(struct report_answer *a, size_t index)
{
	const struct view_proc *proc = a->proc = &a->view->procs[index];
	enum report_rank rank = has_any_findings(a->view, index) ? REPORT_FINDINGS : REPORT_PROCESSES;

	a->fullest = find_fullest(proc);
	rank = a->is_first ? REPORT_FIRST : rank;
	name_lines(page_part(&a->page, rank, PAGE_PROCESSES, 1), a->view, proc, a->is_first, a->opts);
	put_findings(a, index, FINDING_NONE);
	for (size_t r = 0; r < proc->row_count; r++) {
		bool has_found = has_findings(a->view, index, r);

		if (!has_found && !view_holds(proc, &proc->rows[r]) && !report_most_of(&proc->rows[r]))
			continue;
		report_gpu(a, r, has_found);
		put_findings(a, index, r);
		report_lines(a, r);
	}
}

/* The heaviest process that is nowhere yet; FINDING_NONE: there is none. */
static size_t next_heaviest(const struct view *view, const enum report_place *places)
{
	size_t best = FINDING_NONE;

	for (size_t i = 0; i < view->proc_count; i++) {
		if (!view->procs[i].row_count || places[i] != REPORT_NOWHERE)
			continue;
		if (best == FINDING_NONE || is_heavier(&view->procs[i], &view->procs[best]))
			best = i;
	}
	return best;
}

static void count_rest(struct report_answer *a, const enum report_place *places)
{
	for (size_t i = 0; i < a->view->proc_count; i++)
		page_leave_out(&a->page, PAGE_PROCESSES, a->view->procs[i].row_count && places[i] == REPORT_NOWHERE);
}

/* With so many processes in parts of their own. */
static void put_answer(struct report_answer *a, unsigned most)
{
	enum report_place *places = xcalloc(a->view->proc_count, sizeof(*places));
	size_t index;

	for (unsigned i = 0; i < most && (index = next_heaviest(a->view, places)) != FINDING_NONE; i++) {
		if (i)
			page_blank(&a->page);
		places[index] = REPORT_SHOWN;
		a->is_first = !i;
		answer_process(a, index);
		report_alike(a, index, places);
	}
	page_blank(&a->page);
	report_other_findings(a, places);
	count_rest(a, places);
	put_findings(a, FINDING_NONE, FINDING_NONE);
	report_nothing(a);
	free(places);
}

/* The number of processes with which the fewest findings are left out. */
static unsigned choose_processes(const struct report_answer *answer)
{
	size_t fewest = SIZE_MAX;
	unsigned best = 1;

	for (unsigned most = PROCESSES_SHOWN; most && fewest; most--) {
		struct report_answer trial = *answer;

		put_answer(&trial, most);
		page_fit(&trial.page);
		if (trial.page.left[PAGE_FINDINGS] < fewest) {
			fewest = trial.page.left[PAGE_FINDINGS];
			best = most;
		}
		page_drop(&trial.page);
	}
	return best;
}

bool report_answer(struct out *out, const struct view *view, const struct sink_opts *opts)
{
	char *command = opts->recording ? report_command("gpumemtrace report --full", opts, opts->recording) : NULL;
	struct report_answer answer = { .view = view, .opts = opts };
	bool has_more;

	page_init(&answer.page, out, opts->full ? 0 : LINES_MOST, FINDING_TEXT_LABEL,
		  command ? command : "--full prints them");
	put_answer(&answer, opts->full ? PROCESSES_SHOWN : choose_processes(&answer));
	page_end(&answer.page);
	has_more = page_has_more(&answer.page);
	free(command);
	return has_more;
}

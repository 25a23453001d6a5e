// SPDX-License-Identifier: BSD-2-Clause
#include "sink/report/report_others.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "core/view/finding.h"
#include "sink/sink.h"
#include "sink/text/finding_text.h"
#include "sink/text/text.h"

#define ALIKE_PART 10        /* processes are alike if their memory differs by less than a tenth */
#define ALIKE_NAMED 4
#define FINDINGS_SHOWN 8
#define OF_KIND_SHOWN 4      /* many alike must not push out what is seldom */
#define NAME_COLUMNS 20

uint64_t report_holds(const struct view_proc *proc)
{
	uint64_t sum = 0;

	for (size_t r = 0; r < proc->row_count; r++)
		sum += view_holds(proc, &proc->rows[r]);
	return sum;
}

uint64_t report_most(const struct view_proc *proc)
{
	uint64_t sum = 0;

	for (size_t r = 0; r < proc->row_count; r++)
		sum += proc->rows[r].has_physical ? proc->rows[r].physical.peak : proc->rows[r].attributed.peak;
	return sum;
}

/* ---- processes that are alike ---- */

static uint64_t weight_of(const struct view_proc *proc)
{
	return proc->exited ? report_most(proc) : report_holds(proc);
}

static bool is_near(uint64_t a, uint64_t b)
{
	uint64_t more = a > b ? a : b;

	return more - (a > b ? b : a) <= more / ALIKE_PART;
}

static bool has_same_shape(const struct view_proc *a, const struct view_proc *b)
{
	return a->cmdline[0] && !strcmp(a->cmdline, b->cmdline) && a->row_count == b->row_count &&
	       a->exited == b->exited && a->exit_code == b->exit_code && is_near(weight_of(a), weight_of(b));
}

static void print_alike(struct out *line, const struct view *view, const struct view_proc *proc)
{
	out_printf(line, "  pid %u", proc->tgid);
	for (size_t r = 0; r < proc->row_count; r++)
		out_printf(line, "%s%s", r ? "," : " GPU ", text_gpu(view, proc->rows[r].gpu).s);
	out_printf(line, " %s", human_bytes(weight_of(proc)).s);
}

void report_alike(struct report_answer *a, size_t index, enum report_place *places)
{
	const struct view *view = a->view;
	const struct view_proc *proc = &view->procs[index];
	size_t count = 0;
	struct out line;

	out_init_mem(&line);
	out_text(&line, proc->exited ? "the same command, at most:" : "the same command:");
	for (size_t i = 0; i < view->proc_count; i++) {
		if (places[i] != REPORT_NOWHERE || !view->procs[i].row_count || !has_same_shape(proc, &view->procs[i]))
			continue;
		places[i] = REPORT_ALIKE;
		if (count++ < ALIKE_NAMED)
			print_alike(&line, view, &view->procs[i]);
	}
	if (count > ALIKE_NAMED)
		out_printf(&line, "  and %zu more", count - ALIKE_NAMED);
	if (count)
		report_put(page_part(&a->page, REPORT_ALIKE_ONES, PAGE_PROCESSES, count), a->opts, "ALIKE", &line);
	else
		free(out_take(&line));
}

/* ---- findings ---- */

/* Of a Python program the script says more than the interpreter. */
static void print_name(struct out *out, const struct view_proc *proc)
{
	const char *script = strchr(proc->cmdline, ' ');
	struct view_proc named = { 0 };
	const char *program, *end;

	program = script ? memrchr(proc->cmdline, '/', (size_t)(script - proc->cmdline)) : NULL;
	program = program ? program + 1 : proc->cmdline;
	if (script && !strncmp(program, "python", strlen("python")) && script[1] && script[1] != '-') {
		end = script + 1 + strcspn(script + 1, " ");
		memcpy(named.cmdline, script + 1, (size_t)(end - (script + 1)));
		proc = &named;
	}
	text_command(out, NAME_COLUMNS, proc);
}

static void finding_line(struct out *out, const struct view *view, const struct finding *f,
			 const struct sink_opts *opts)
{
	const struct view_proc *proc = &view->procs[f->proc];
	struct out words, sentence;
	char *subject, *text, *rest, *one;

	out_init_mem(&words);
	out_printf(&words, "pid %u ", proc->tgid);
	print_name(&words, proc);
	if (f->row != FINDING_NONE && proc->row_count > 1)
		out_printf(&words, ", GPU %s", text_gpu(view, f->gpu).s);
	out_text(&words, ": ");
	subject = out_take(&words);
	out_init_mem(&sentence);
	finding_text_sentence(&sentence, view, f, subject, UINT_MAX, &(struct sink_opts){ 0 });
	rest = text = out_take(&sentence);
	one = strsep(&rest, "\n");
	out_init_mem(&words);
	human_print(&words, TEXT_COLUMNS, one, strlen(one));
	text_line(out, opts, TEXT_YELLOW, &words);
	free(text);
	free(subject);
}

void report_other_findings(struct report_answer *a, const enum report_place *places)
{
	size_t shown[FINDING_KIND_COUNT] = { 0 }, all = 0;

	for (size_t i = 0; i < a->view->finding_count; i++) {
		const struct finding *f = &a->view->findings[i];

		if (f->proc == FINDING_NONE || places[f->proc] == REPORT_SHOWN)
			continue;
		if (!a->opts->full && (all >= FINDINGS_SHOWN || shown[f->kind] >= OF_KIND_SHOWN)) {
			page_leave_out(&a->page, PAGE_FINDINGS, 1);
			continue;
		}
		finding_line(page_part(&a->page, REPORT_FINDINGS, PAGE_FINDINGS, 1), a->view, f, a->opts);
		shown[f->kind]++;
		all++;
	}
}

// SPDX-License-Identifier: BSD-2-Clause
/* What stands out, in the report's words, with the process and the GPU where there are several. */
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "core/view/finding.h"
#include "screen/state.h"
#include "sink/sink.h"
#include "sink/text/finding_text.h"
#include "sink/text/text.h"

#define FINDINGS_PART 3          /* a third of the lines, at most */
#define FINDINGS_LEAST 3
#define TALL 40                  /* lines of the screen from which on each finding has its ground */
#define OPEN_HINT "; f opens them one by one"
#define MORE_HINT "; o says more"
#define WHY_HINT "; o says why"
#define PIDS_SHOWN 4             /* of processes whose requests failed */

/* The lines below the sentence are left out if they say what they have just said (*below). */
static void print_finding(struct out *out, const struct picture *p, const struct finding *f, char **below)
{
	struct sink_opts opts = { 0 };
	struct out words;
	char *subject, *text;

	out_init_mem(&words);
	finding_text_subject(&words, p->view, f);
	subject = out_take(&words);
	finding_text_sentence(out, p->view, f, subject, p->width, &opts);
	free(subject);
	out_init_mem(&words);
	finding_text_keeper(&words, p->view, f, p->width, &opts);
	finding_text_advice(&words, p->view, f, p->width, &opts);
	if (curses_height(p->curses) >= TALL)
		finding_ground_put(&words, "", f, p->width);
	text = out_take(&words);
	out_text(out, *below && !strcmp(*below, text) ? "" : text);
	free(*below);
	*below = text;
}

/* The failed requests of all processes: they must not push out what has led to them. */
struct failures {
	uint64_t requests;
	size_t processes;
	const struct oom_why *why; /* of the newest request; NULL: not known */
	struct out pids;
};

static void add_failure(struct failures *failures, const struct picture *p, const struct finding *f)
{
	failures->requests += f->count;
	if (f->why && (!failures->why || f->why->number > failures->why->number))
		failures->why = f->why;
	if (failures->processes < PIDS_SHOWN)
		out_printf(&failures->pids, "%s%u", failures->processes ? ", " : "", p->view->procs[f->proc].tgid);
	failures->processes++;
}

/* One line, or a second one for the reason. */
static void print_failures(struct out *out, const struct picture *p, struct failures *failures)
{
	char *pids = out_take(&failures->pids);
	struct out line;
	size_t size;

	if (failures->processes) {
		out_init_mem(&line);
		if (p->view->proc_count > 1)
			out_printf(&line, "pid %s%s: ", pids, failures->processes > PIDS_SHOWN ? " ..." : "");
		if (failures->why)
			finding_text_why(&line, failures->why, failures->requests);
		else
			out_printf(&line, "%s %s for memory failed", human_count(failures->requests).s,
				   human_plural(failures->requests, "request", "requests"));
		size = FINDING_TEXT_LABEL + line.size;
		/* The hint is worth no line of its own. */
		if (p->screen->has_keys && (size > p->width || size + strlen(MORE_HINT) <= p->width))
			out_text(&line, failures->why ? MORE_HINT : WHY_HINT);
		text_wrap(out, finding_text_label(FINDING_OF_OUT_OF_MEMORY), FINDING_TEXT_LABEL, p->width, &line);
	}
	free(pids);
}

void findings_draw(struct picture *p)
{
	const struct view *view = p->view;
	unsigned int most = curses_height(p->curses) / FINDINGS_PART;
	struct failures failures = { 0 };
	char *below = NULL;
	struct out out;

	out_init_mem(&failures.pids);
	for (size_t i = 0; i < view->finding_count; i++)
		if (view->findings[i].kind == FINDING_OF_OUT_OF_MEMORY && finding_is_shown(p, &view->findings[i]))
			add_failure(&failures, p, &view->findings[i]);
	out_init_mem(&out);
	print_failures(&out, p, &failures);
	for (size_t i = 0; i < view->finding_count; i++)
		if (view->findings[i].kind != FINDING_OF_OUT_OF_MEMORY && finding_is_shown(p, &view->findings[i]))
			print_finding(&out, p, &view->findings[i], &below);
	free(below);
	lines_put(p, STYLE_YELLOW, out_take(&out), most < FINDINGS_LEAST ? FINDINGS_LEAST : most,
		  p->screen->has_keys ? OPEN_HINT : "");
}

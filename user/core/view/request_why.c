// SPDX-License-Identifier: BSD-2-Clause
#include "core/view/request_why.h"

#include <string.h>

#include "base/xalloc.h"
#include "core/ledger/ledger_state.h"
#include "core/ledger/process.h"
#include "core/oom/oom_dump.h"
#include "core/oom/oom_kept.h"
#include "core/pipeline/pipeline.h"
#include "core/view/oom_view.h"

#define LINES_LEAST 10       /* lines are found among so many stacks at least */

/* The end of the text, from the start of a folder's or a file's name on. */
static void copy_end(char *to, const char *text)
{
	size_t size = strlen(text);
	const char *from = size < OOM_PLACE_BYTES ? text : text + size - (OOM_PLACE_BYTES - 1);
	const char *slash = from == text ? NULL : strchr(from, '/');

	from = slash ? slash + 1 : from;
	memcpy(to, from, strlen(from) + 1);
}

static void fill_place(const struct view *view, uint32_t symbol, struct oom_place *to)
{
	const struct view_symbol *s = symbol == VIEW_NO_FRAME ? NULL : &view->symbols[symbol];

	if (!s)
		return;
	copy_end(to->file, s->file);
	copy_end(to->function, s->function[0] ? s->function : s->module);
	to->line = s->line;
}

/* The largest process that is not traced. */
static void fill_untraced(const struct view_gpu *gpu, struct oom_why *why)
{
	if (!gpu->neighbour_count)
		return;
	why->other = gpu->neighbours[0].tgid;
	why->other_bytes = gpu->neighbours[0].bytes;
	memcpy(why->other_comm, gpu->neighbours[0].comm, sizeof(why->other_comm));
}

static void fill_cause(const struct oom_view *v, const struct oom_cause *c, struct oom_why *why)
{
	const struct oom_verdict *verdict = &v->verdict;
	const struct oom_line *line = verdict->line_count ? &verdict->lines[0] : NULL;

	why->is_known = true;
	why->cause = (uint8_t)c->kind;
	why->is_guess = c->ground == FINDING_GUESS;
	why->bytes = c->kind == OOM_CAUSE_LEAK && !c->bytes ? oom_left_by(c->each, c->count) : c->bytes;
	why->whole = c->whole;
	if (line && line->line->state == VIEW_LINE_OWN) {
		fill_place(&v->view, line->line->symbol, &why->at);
		why->at_bytes = line->bytes;
	}
	if (c->kind == OOM_CAUSE_UNTRACED)
		fill_untraced(&v->view.gpus[v->gpu], why);
	if (c->row != OOM_VIEW_NONE && v->rows[c->row].proc != v->proc) {
		const struct view_proc *other = &v->view.procs[v->rows[c->row].proc];

		why->other = other->tgid;
		why->other_bytes = c->bytes;
		memcpy(why->other_comm, other->comm, sizeof(why->other_comm));
	}
}

static void read_verdict(const struct oom_view *v, struct oom_why *why)
{
	const struct oom_verdict *verdict = &v->verdict;
	uint32_t asked = verdict->asked_symbol != VIEW_NO_FRAME ? verdict->asked_symbol : verdict->waiting_symbol;

	*why = (struct oom_why){
		.asked = v->facts.asked, .api = v->rec.api, .number = v->rec.number, .first_ns = v->rec.first_ns,
		.last_ns = v->rec.last_ns,
	};
	fill_place(&v->view, asked, &why->asked_at);
	if (verdict->cause_count)
		fill_cause(v, &verdict->causes[0], why);
}

/* Whether the reason has to be found out, or found out anew. */
static bool is_outdated(const struct pipeline *pl, const struct oom_kept *kept, size_t unnamed,
			const struct view_request *request)
{
	if (!kept->why.is_known)
		return true;
	if (kept->is_earlier)
		return pl->ledger->now_ns - kept->why_ns >= request->why_age_ns;
	return kept->unnamed != unnamed || kept->had_lines != (request->decide != NULL);
}

struct oom_why *view_find_why(const struct pipeline *pl, const struct process *p, const struct view_request *request)
{
	struct oom_kept *kept = ooms_kept(pl->ooms, p->index);
	size_t unnamed = kept ? oom_unnamed(pl->ledger, kept->oom, NULL) : 0;
	struct view_request all = *request;     /* who else holds memory belongs to the answer */
	struct oom_why *why;
	struct oom_view view;

	if (kept && is_outdated(pl, kept, unnamed, request)) {
		all.pid_count = 0;
		all.gpu = NULL;
		all.ages = false;
		all.top = all.top < LINES_LEAST ? LINES_LEAST : all.top;
		oom_view_build(pl, kept->oom, &all, &view);
		read_verdict(&view, &kept->why);
		oom_view_free(&view);
		kept->why_ns = pl->ledger->now_ns;
		kept->is_earlier = false;
		kept->unnamed = unnamed;
		kept->had_lines = request->decide != NULL;
	}
	if (!kept || !kept->why.is_known)
		return NULL;
	why = xmalloc(sizeof(*why));
	*why = kept->why;
	return why;
}

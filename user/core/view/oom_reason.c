// SPDX-License-Identifier: BSD-2-Clause
/* Makes the short form of a verdict, which a process keeps and findings have (core/terms/oom_why.h). */
#include <string.h>

#include "core/view/oom_view.h"

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

void oom_why_read(const struct oom_view *v, struct oom_why *why)
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

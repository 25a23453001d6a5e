/* SPDX-License-Identifier: BSD-2-Clause */
/* See history_dump.h. A window of the past is the present one, with the events since then undone. */
#include "core/history/history_dump.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "core/history/births.h"
#include "core/history/history.h"
#include "core/history/window.h"
#include "core/ledger/ledger_state.h"

/* A process as it was at the moment. */
struct past {
	bool is_in;              /* the newest life of its pid, and not empty */
	struct window window;
};

struct history_dump {
	const struct history *h;
	uint64_t until;
	struct past *processes;
	struct births births;
	uint64_t room;           /* so many more ranges fit into the dump */
	uint32_t some_tgid;      /* of a process that is in the dump; 0: none is */
	history_put_fn put;
	void *arg;
};

uint64_t history_moment(const struct history *h, const struct gmt_oom *rec)
{
	const struct history_request *request = &h->requests[rec->number % HISTORY_REQUESTS];
	uint64_t n = h->next;

	if (!rec->number)
		return n;
	if (request->number == rec->number && request->event >= h->first)
		return request->event + 1;
	/* The request was for no device memory, or many others have failed since. */
	while (n > h->first && history_event(h, n - 1)->ts_ns > rec->hdr.ts_ns)
		n--;
	return n > h->first ? n : h->next;
}

/* ---- processes ---- */

static bool is_in_dump(const struct history_dump *d, uint64_t number)
{
	uint32_t process = history_event(d->h, number)->process;

	return d->processes[process].is_in && number >= d->h->processes[process].since;
}

static void take_windows(struct history_dump *d)
{
	const struct history *h = d->h;

	d->processes = xcalloc(h->process_count + 1, sizeof(*d->processes));
	/* A process that has an event since the moment lived at the moment. */
	for (uint64_t n = h->first; n < h->next; n++)
		d->processes[history_event(h, n)->process].is_in = true;
	for (uint32_t i = 0; i < h->process_count; i++) {
		const struct process *p = h->processes[i].of;
		struct past *past = &d->processes[i];

		if (process_newest(&h->ledger->processes, p->tgid) == p) {
			history_window(h, i, &past->window);
			past->is_in |= past->window.segments.count != 0;
		} else {
			past->is_in = false;
		}
		if (past->is_in)
			d->some_tgid = p->tgid;
	}
}

/* ---- stacks and processes that the dump speaks of ---- */

static void add_stack(struct hash *seen, struct history_subjects *out, uint32_t stack_id)
{
	bool is_new;

	if (!stack_id)
		return;
	hash_put(seen, stack_id, &is_new);
	if (!is_new)
		return;
	out->stacks = xgrow(out->stacks, out->stack_count, sizeof(*out->stacks));
	out->stacks[out->stack_count++] = stack_id;
}

static void add_range_stacks(struct hash *seen, struct history_subjects *out, const struct rangemap *map,
			     uint64_t *room)
{
	struct rangemap_pos pos = { 0 };
	const struct range *r;

	for (; *room && (r = rangemap_next(map, &pos)); --*room)
		add_stack(seen, out, (uint32_t)r->value);
}

static void find_subjects(const struct history_dump *d, struct history_subjects *out)
{
	const struct history *h = d->h;
	uint64_t room = d->room;
	struct hash seen;

	*out = (struct history_subjects){ .tgids = xcalloc(h->process_count + 1, sizeof(*out->tgids)) };
	hash_init(&seen, 1);
	for (uint32_t i = 0; i < h->process_count; i++) {
		if (!d->processes[i].is_in)
			continue;
		out->tgids[out->tgid_count++] = h->processes[i].of->tgid;
		add_range_stacks(&seen, out, &d->processes[i].window.segments, &room);
		add_range_stacks(&seen, out, &d->processes[i].window.blocks, &room);
	}
	/* Memory that has ended since the moment has its stack in the event of its end. */
	for (uint64_t n = h->first; n < h->next; n++)
		if (is_in_dump(d, n))
			add_stack(&seen, out, history_event(h, n)->stack_id);
	hash_fini(&seen);
}

void history_subjects_free(struct history_subjects *subjects)
{
	free(subjects->stacks);
	free(subjects->tgids);
	*subjects = (struct history_subjects){ 0 };
}

struct history_dump *history_dump_begin(const struct history *h, uint64_t until, struct history_subjects *subjects)
{
	struct history_dump *d = xcalloc(1, sizeof(*d));

	d->h = h;
	d->until = until;
	d->room = HISTORY_DUMP_RANGES;
	take_windows(d);
	if (subjects)
		find_subjects(d, subjects);
	return d;
}

/* ---- back to the moment ---- */

static void go_back(struct history_dump *d)
{
	for (uint64_t n = d->h->next; n-- > d->until;) {
		const struct history_event *e = history_event(d->h, n);
		struct range r = history_range_of(e);

		if (is_in_dump(d, n))
			window_undo(&d->processes[e->process].window, (enum gmt_history_kind)e->kind, &r);
	}
}

/* ---- records ---- */

static void put_ranges(struct history_dump *d, uint32_t process, bool is_block, const struct gmt_hdr *of)
{
	const struct window *w = &d->processes[process].window;
	struct gmt_history_range rec = { .hdr = *of, .is_block = is_block };
	struct rangemap_pos pos = { 0 };
	const struct range *r;

	rec.hdr.kind = GMT_KIND_HISTORY_RANGE;
	rec.hdr.size = sizeof(rec);
	while (d->room && (r = rangemap_next(is_block ? &w->blocks : &w->segments, &pos))) {
		rec.base = r->base;
		rec.length = r->length;
		rec.born = births_of_range(&d->births, process, is_block, r);
		rec.asked = is_block ? window_asked(w, r) : 0;
		rec.stack_id = (uint32_t)r->value;
		rec.flags = r->aux & WINDOW_FLAGS;
		rec.category = is_block ? window_category(r) : 0;
		rec.device = r->gpu < 0 ? GMT_HISTORY_DEVICE_UNKNOWN : r->gpu;
		d->put(d->arg, &rec, sizeof(rec));
		d->room--;
	}
}

static void put_unseen(const struct history_dump *d, const struct window *w, const struct gmt_hdr *of)
{
	for (unsigned int i = 0; i < w->unseen_count; i++) {
		struct gmt_history_unseen rec = {
			.hdr = *of, .allocated = w->unseen[i].allocated, .reserved = w->unseen[i].reserved, .device = i,
		};

		rec.hdr.kind = GMT_KIND_HISTORY_UNSEEN;
		rec.hdr.size = sizeof(rec);
		if (rec.allocated || rec.reserved)
			d->put(d->arg, &rec, sizeof(rec));
	}
}

static void put_window_process(struct history_dump *d, uint32_t process, uint64_t ts_ns)
{
	const struct history_process *hp = &d->h->processes[process];
	const struct window *w = &d->processes[process].window;
	uint64_t count = w->segments.count + w->blocks.count;
	struct gmt_history rec = {
		.hdr = { .size = sizeof(rec), .kind = GMT_KIND_HISTORY, .tgid = hp->of->tgid, .ts_ns = ts_ns },
		.since = hp->since, .first = d->h->first, .left_out = count > d->room ? count - d->room : 0,
	};

	d->put(d->arg, &rec, sizeof(rec));
	put_unseen(d, w, &rec.hdr);
	put_ranges(d, process, false, &rec.hdr);
	put_ranges(d, process, true, &rec.hdr);
}

/* Events have no number but their order. So an event that is not in the dump becomes an empty record of any process. */
static void put_event(const struct history_dump *d, uint64_t number)
{
	const struct history_event *e = history_event(d->h, number);
	struct gmt_history_event rec = {
		.hdr = { .size = sizeof(rec), .kind = GMT_KIND_HISTORY_EVENT, .ts_ns = e->ts_ns,
			 .tgid = d->h->processes[e->process].of->tgid },
		.address = e->address, .size = e->size, .born = births_of_event(&d->births, number),
		.stack_id = e->stack_id, .kind = e->kind, .flags = e->flags, .device = e->device,
		.category = e->category,
	};

	if (!is_in_dump(d, number)) {
		rec.kind = GMT_HISTORY_NOTHING;
		rec.hdr.tgid = d->some_tgid;
	}
	d->put(d->arg, &rec, sizeof(rec));
}

static void put_marks(const struct history_dump *d)
{
	const struct history_marks *m = &d->h->marks;

	for (uint64_t n = history_marks_first(m); n < m->next; n++) {
		const struct history_mark *mark = history_marks_at(m, n);
		const struct history_process *hp = &d->h->processes[mark->process];
		struct gmt_history_mark rec = {
			.hdr = { .size = sizeof(rec), .kind = GMT_KIND_HISTORY_MARK, .tgid = hp->of->tgid,
				 .ts_ns = mark->ts_ns },
			.event = mark->event, .is_end = mark->is_end,
		};

		if (mark->event < d->h->first || mark->event > d->until || mark->event < hp->since ||
		    !d->processes[mark->process].is_in)
			continue;
		memcpy(rec.name, m->names[mark->name], strlen(m->names[mark->name]));
		d->put(d->arg, &rec, sizeof(rec));
	}
}

void history_dump_put(struct history_dump *d, history_put_fn put, void *arg)
{
	const struct history *h = d->h;

	d->put = put;
	d->arg = arg;
	births_init(&d->births, h, d->until);
	go_back(d);
	for (uint32_t i = 0; i < h->process_count; i++)
		if (d->processes[i].is_in)
			put_window_process(d, i, d->until > h->first ? history_event(h, d->until - 1)->ts_ns : 0);
	for (uint64_t n = h->first; n < d->until && d->some_tgid; n++)
		put_event(d, n);
	put_marks(d);
	births_fini(&d->births);
	for (uint32_t i = 0; i < h->process_count; i++)
		window_free(&d->processes[i].window);
	free(d->processes);
	free(d);
}

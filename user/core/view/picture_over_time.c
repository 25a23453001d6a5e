// SPDX-License-Identifier: BSD-2-Clause
/*
 * A window has the memory at its end, and the events that led there. What each key held when the window began follows
 * from both: the end with the events undone. From there the events are taken in once more, forwards.
 */
#include "core/view/picture_over_time.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/xalloc.h"
#include "core/history/history.h"
#include "core/history/instants.h"
#include "core/ledger/ledger_state.h"
#include "core/pipeline/pipeline.h"
#include "core/snapshot/snapshot.h"
#include "core/snapshot/snapshot_index.h"
#include "core/timeline/series.h"
#include "core/timeline/series_parts.h"
#include "core/timeline/series_peak.h"
#include "core/view/by_stack.h"
#include "core/view/view_over_time.h"
#include "core/view/view_placed.h"

#define SERIES_POINTS (1u << 18)       /* of each series, at most */
#define QUIET_NS 1000000000ULL         /* so long before the picture a window without events begins */

/* What a range or an event of a window is. */
enum kind { PLAIN, SEGMENT, BLOCK };

struct past_device {
	struct series calls, blocks, levels;
	bool has_blocks;
};

/* A process's memory in the window. */
struct past {
	struct by_stack *b;
	uint64_t from_ns;        /* when the window began */
	uint64_t until_ns;       /* when the picture was taken */
	struct past_device *devices[VIEW_DEVICES];  /* by CUDA's number; NULL: none */
	struct hash before;      /* uint64_t: bytes when the window began, by key_of_kind() */
	struct hash born;        /* uint64_t: when a block was allocated, by its address */
	struct hash purposes;    /* uint8_t: what the newest block of a stack was for: enum gmt_category + 1 */
	struct hash segments;    /* stacks that allocated a framework's segments */
	bool has_failed;         /* the window has a request that failed */
};

/* ---- one change ---- */

static void begin_one(const struct past *p, struct series *s)
{
	series_init(s, SERIES_POINTS);
	series_expect(s, p->until_ns - p->from_ns);
}

static struct past_device *device_at(struct past *p, unsigned int number)
{
	struct past_device **d = &p->devices[number % VIEW_DEVICES];

	if (*d)
		return *d;
	*d = xcalloc(1, sizeof(**d));
	begin_one(p, &(*d)->calls);
	begin_one(p, &(*d)->blocks);
	begin_one(p, &(*d)->levels);
	(*d)->levels.has_no_sum = true;
	return *d;
}

static uint64_t key_of_kind(unsigned int device, enum kind kind, uint32_t stack_id)
{
	return (uint64_t)(device << 2 | kind) << 32 | stack_id;
}

typedef void series_change(struct series *s, uint32_t stack_id, uint32_t what, uint64_t bytes, uint64_t ts_ns);

static void change_memory(struct past *p, unsigned int number, enum kind kind, uint32_t stack_id, uint64_t bytes,
			  series_change *change_series, uint64_t ts_ns)
{
	struct past_device *d = device_at(p, number);

	if (kind == BLOCK) {
		d->has_blocks = true;
		change_series(&d->blocks, stack_id, 0, bytes, ts_ns);
		return;
	}
	change_series(&d->calls, stack_id, TIMELINE_SEGMENT, bytes, ts_ns);
	if (kind == SEGMENT) {
		hash_put(&p->segments, stack_id, NULL);
		change_series(&d->levels, 0, TIMELINE_RESERVED, bytes, ts_ns);
	}
}

/* ---- when the window began ---- */

static void add_before(struct past *p, unsigned int device, enum kind kind, uint32_t stack_id, uint64_t bytes)
{
	*(uint64_t *)hash_put(&p->before, key_of_kind(device, kind, stack_id), NULL) += bytes;
}

static unsigned int device_of(const struct range *r)
{
	return r->gpu < 0 ? 0 : (unsigned int)r->gpu;
}

static unsigned int device_of_block(const struct window *w, const struct range *block)
{
	const struct range *segment = rangemap_find(&w->segments, block->base);

	return device_of(segment ? segment : block);
}

static void take_end(struct past *p, const struct window *end)
{
	struct rangemap_pos pos = { 0 };
	const struct range *r;

	while ((r = rangemap_next(&end->segments, &pos)))
		if (!(r->aux & GMT_HISTORY_GUESSED))
			add_before(p, device_of(r), r->aux & GMT_HISTORY_TORCH ? SEGMENT : PLAIN, (uint32_t)r->value,
				   r->length);
	pos = (struct rangemap_pos){ 0 };
	while ((r = rangemap_next(&end->blocks, &pos)))
		add_before(p, device_of_block(end, r), BLOCK, (uint32_t)r->value, r->length);
}

/* 1: memory comes; -1: memory goes; 0: neither. */
static int direction_of(const struct snapshot_event *e, enum kind *kind)
{
	bool is_block = e->action == SNAPSHOT_ALLOC || e->action == SNAPSHOT_FREE_COMPLETED;

	if (is_block ? e->is_plain : e->is_guessed)
		return 0;
	*kind = is_block ? BLOCK : e->is_plain ? PLAIN : SEGMENT;
	switch (e->action) {
	case SNAPSHOT_ALLOC:
	case SNAPSHOT_SEGMENT_ALLOC:
	case SNAPSHOT_SEGMENT_MAP:
		return 1;
	case SNAPSHOT_FREE_COMPLETED:
	case SNAPSHOT_SEGMENT_FREE:
	case SNAPSHOT_SEGMENT_UNMAP:
		return -1;
	default:
		return 0;
	}
}

static void take_back_events(struct past *p, const struct snapshot *s)
{
	for (size_t i = 0; i < s->event_count; i++) {
		const struct snapshot_event *e = &s->events[i];
		enum kind kind;
		int direction = direction_of(e, &kind);

		if (direction)
			add_before(p, e->device, kind, e->stack_id, direction > 0 ? -e->size : e->size);
	}
}

static void begin_series(struct past *p)
{
	size_t count;
	uint64_t *keys = hash_sorted_keys(&p->before, &count);

	for (size_t i = 0; i < count; i++) {
		uint64_t bytes = *(const uint64_t *)hash_get(&p->before, keys[i]);
		unsigned int place = (unsigned int)(keys[i] >> 32);

		if (bytes)
			change_memory(p, place >> 2, place & 3, (uint32_t)keys[i], bytes, series_add, p->from_ns);
	}
	free(keys);
}

/* ---- the window ---- */

static void end_window_block(struct past *p, const struct snapshot_event *e)
{
	const uint64_t *born = hash_get(&p->born, e->address);

	if (e->category) {
		*(uint8_t *)hash_put(&p->purposes, e->stack_id, NULL) = e->category;
		series_part(&device_at(p, e->device)->blocks, by_stack_purpose(p->b, e->stack_id, e->category), e->size,
			    born ? *born : p->from_ns, e->ts_ns);
	}
	hash_erase(&p->born, e->address);
}

static void take_change(struct past *p, const struct snapshot_event *e)
{
	enum kind kind;
	int direction = direction_of(e, &kind);

	if (e->action == SNAPSHOT_OOM) {
		series_moment(&device_at(p, e->device)->calls, SERIES_REQUEST, 0, e->ts_ns);
		p->has_failed = true;
	}
	if (!direction)
		return;
	change_memory(p, e->device, kind, e->stack_id, e->size, direction > 0 ? series_add : series_remove, e->ts_ns);
	if (kind == BLOCK && direction > 0)
		*(uint64_t *)hash_put(&p->born, e->address, NULL) = e->ts_ns;
	else if (kind == BLOCK)
		end_window_block(p, e);
}

/* Live blocks are for what the dump says; their part ends with the series. */
static void end_blocks(struct past *p, const struct window *end)
{
	struct rangemap_pos pos = { 0 };
	const struct range *r;

	while ((r = rangemap_next(&end->blocks, &pos))) {
		struct past_device *d = device_at(p, device_of_block(end, r));
		uint8_t category = (uint8_t)window_category(r);

		if (category)
			*(uint8_t *)hash_put(&p->purposes, (uint32_t)r->value, NULL) = category;
		series_part(&d->blocks, by_stack_purpose(p->b, (uint32_t)r->value, category), r->length,
			    r->offset ? r->offset : p->from_ns, SERIES_NOW);
	}
}

static void each_series(struct past *p, enum series_why why, uint64_t ts_ns)
{
	for (unsigned int i = 0; i < VIEW_DEVICES; i++) {
		if (!p->devices[i])
			continue;
		series_moment(&p->devices[i]->calls, why, 0, ts_ns);
		series_moment(&p->devices[i]->blocks, why, 0, ts_ns);
		series_moment(&p->devices[i]->levels, SERIES_TIME, 0, ts_ns);
	}
}

/* ---- the view ---- */

static void set_stack_purposes(const struct past *p, const struct series *s, struct view_series *out)
{
	for (uint32_t i = 0; i < s->key_count; i++) {
		const uint8_t *purpose = hash_get(&p->purposes, s->keys[i].stack_id);

		out->keys[i].purpose = purpose ? 1 + by_stack_purpose(p->b, s->keys[i].stack_id, *purpose) : 0;
	}
}

/* held: by the calls of the row, as the picture has it. */
static struct view_timeline *show_device(const struct past *p, struct past_device *d, uint64_t held)
{
	struct view_timeline *out = xcalloc(1, sizeof(*out));

	/* Memory without an address, such as handles that are not mapped, is in no window. */
	out->beside = held > d->calls.sums.live ? held - d->calls.sums.live : 0;
	series_put_peak(&d->calls);
	series_put_peak(&d->blocks);
	out->has_blocks = d->has_blocks;
	if (d->has_blocks) {
		view_series_take(&d->blocks, p->b, NULL, &out->blocks);
		set_stack_purposes(p, &d->blocks, &out->blocks);
	}
	view_series_take(&d->calls, p->b, &p->segments, &out->calls);
	view_series_take(&d->levels, NULL, NULL, &out->levels);
	return out;
}

static void show_devices(const struct past *p, struct view *view, uint32_t proc)
{
	for (unsigned int i = 0; i < VIEW_DEVICES; i++) {
		uint32_t row = p->devices[i] ? view_row_of_device(view, proc, i) : VIEW_INSTANT_NO_ROW;
		struct view_row *to = row == VIEW_INSTANT_NO_ROW ? NULL : &view->procs[proc].rows[row];

		if (to && !to->timeline)
			to->timeline = show_device(p, p->devices[i], to->attributed.live);
	}
}

static void free_past(struct past *p)
{
	for (unsigned int i = 0; i < VIEW_DEVICES; i++) {
		if (!p->devices[i])
			continue;
		series_fini(&p->devices[i]->calls);
		series_fini(&p->devices[i]->blocks);
		series_fini(&p->devices[i]->levels);
		free(p->devices[i]);
	}
	hash_fini(&p->before);
	hash_fini(&p->born);
	hash_fini(&p->purposes);
	hash_fini(&p->segments);
}

static uint64_t window_begins(const struct history *h, uint64_t until_ns)
{
	uint64_t quiet = until_ns > QUIET_NS ? until_ns - QUIET_NS : 0;
	uint64_t first = h->first < h->next ? history_event(h, h->first)->ts_ns : quiet;

	return first < until_ns ? first : quiet;
}

static bool is_asker(const struct gmt_oom *rec, const struct view *view, uint32_t proc)
{
	return rec->outcome != GMT_OOM_NONE && rec->hdr.tgid == view->procs[proc].tgid;
}

static void show_past(struct by_stack *b, const struct snapshot_index *x, uint32_t process, const struct gmt_oom *rec,
		      const struct window *end, struct view *view, uint32_t proc)
{
	struct past p = {
		.b = b, .from_ns = window_begins(x->h, rec->hdr.ts_ns), .until_ns = rec->hdr.ts_ns,
	};
	struct snapshot s = { 0 };

	hash_init(&p.before, sizeof(uint64_t));
	hash_init(&p.born, sizeof(uint64_t));
	hash_init(&p.purposes, sizeof(uint8_t));
	hash_init(&p.segments, sizeof(char));
	snapshot_replay(x, process, end, &s);
	take_end(&p, end);
	take_back_events(&p, &s);
	begin_series(&p);
	each_series(&p, SERIES_TIME, p.from_ns);
	for (size_t i = 0; i < s.event_count; i++)
		take_change(&p, &s.events[i]);
	each_series(&p, is_asker(rec, view, proc) && !p.has_failed ? SERIES_REQUEST : SERIES_TIME, rec->hdr.ts_ns);
	end_blocks(&p, end);
	show_devices(&p, view, proc);
	snapshot_free(&s);
	free_past(&p);
}

/* ---- whose memory ---- */

/* CUDA's number of the only GPU of which the process has a row. The event of the request that failed has the number;
 * else all of the process's memory in the window must be on one GPU. */
static uint32_t find_device(const struct snapshot_index *x, uint32_t process, uint32_t number, const struct window *end)
{
	struct rangemap_pos pos = { 0 };
	bool devices[VIEW_DEVICES] = { false };
	uint32_t only = VIEW_ORDINAL_UNKNOWN, count = 0;
	const struct range *r;

	for (uint64_t n = x->newest_event[process]; n != SNAPSHOT_NONE; n = x->event_before[n - x->h->first]) {
		const struct history_event *e = history_event(x->h, n);
		bool is_request = e->kind == GMT_HISTORY_OOM;

		if (is_request && number && e->born == number && e->device != GMT_HISTORY_DEVICE_UNKNOWN)
			return e->device;
		if (!is_request && e->kind != GMT_HISTORY_NOTHING)
			devices[e->device == GMT_HISTORY_DEVICE_UNKNOWN ? 0 : e->device] = true;
	}
	while ((r = rangemap_next(&end->segments, &pos)))
		devices[device_of(r)] = true;
	for (uint32_t i = 0; i < VIEW_DEVICES; i++)
		if (devices[i]) {
			only = i;
			count++;
		}
	return count == 1 ? only : VIEW_ORDINAL_UNKNOWN;
}

/* Of ranges that a dump has, the event of the allocation has the time. */
static struct range date_range(const struct snapshot_index *x, uint32_t process, bool is_block, const struct range *r)
{
	uint64_t number = births_of_range(&x->births, process, is_block, r);
	struct range dated = *r;

	dated.offset = number >= x->h->first && number < x->h->next ? history_event(x->h, number)->ts_ns : 0;
	return dated;
}

static void take_window(const struct snapshot_index *x, uint32_t process, struct window *out)
{
	struct rangemap_pos pos = { 0 };
	const struct range *r;
	struct window w;

	history_window(x->h, process, &w);
	window_init(out);
	while ((r = rangemap_next(&w.segments, &pos))) {
		struct range dated = date_range(x, process, false, r);

		rangemap_insert(&out->segments, &dated);
	}
	pos = (struct rangemap_pos){ 0 };
	while ((r = rangemap_next(&w.blocks, &pos))) {
		struct range dated = date_range(x, process, true, r);
		uint64_t asked = window_asked(&w, r);

		rangemap_insert(&out->blocks, &dated);
		if (asked)
			window_set_asked(out, &dated, asked);
	}
	window_free(&w);
}

static void show_window_process(struct by_stack *b, const struct snapshot_index *x, uint32_t process,
				const struct gmt_oom *rec, struct view *view, uint32_t proc)
{
	struct view_proc *shown = &view->procs[proc];
	bool is_unnumbered = shown->row_count == 1 && shown->rows[0].ordinal == VIEW_ORDINAL_UNKNOWN;
	struct instant then = {
		.why = is_asker(rec, view, proc) ? INSTANT_REQUEST : INSTANT_END, .ts_ns = rec->hdr.ts_ns,
		.bytes = history_asked_bytes(rec), .is_made = true,
	};

	take_window(x, process, &then.window);
	if (is_unnumbered)
		shown->rows[0].ordinal = find_device(x, process, rec->number, &then.window);
	show_past(b, x, process, rec, &then.window, view, proc);
	instant_cut(&then.window, INSTANT_RANGES, &then.left_out);
	view_placed_add(b, view, proc, &then, view->instants);
	/* The number may be a guess, and the verdict names numbers. */
	if (is_unnumbered)
		shown->rows[0].ordinal = VIEW_ORDINAL_UNKNOWN;
	window_free(&then.window);
}

void picture_over_time(const struct pipeline *pl, struct by_stack *b, const struct gmt_oom *rec, struct view *view)
{
	struct snapshot_index x;

	if (!pl->history)
		return;
	view->instants = xcalloc(1, sizeof(*view->instants));
	/* The picture of a failed request has the rows of one GPU alone; the window has the memory of all. */
	view->is_filtered = rec->outcome != GMT_OOM_NONE;
	snapshot_index_init(&x, pl->history);
	for (uint32_t i = 0; i < view->proc_count; i++) {
		const struct process *p = process_newest(&pl->ledger->processes, view->procs[i].tgid);
		const struct history_process *hp = p ? history_find(pl->history, p) : NULL;

		if (hp && hp->is_read)
			show_window_process(b, &x, (uint32_t)(hp - pl->history->processes), rec, view, i);
	}
	snapshot_index_fini(&x);
	view_placed_sort(view->instants);
}

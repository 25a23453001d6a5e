// SPDX-License-Identifier: BSD-2-Clause
#include "core/history/instants.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "core/framework/frameworks.h"
#include "core/framework/framework_state.h"
#include "core/ledger/process.h"

#define LOG_EVENTS 4096     /* a log has room for so many, or for twice as many as there are blocks */
#define LOG_FIRST 64
#define UNDO_LOOKS 64       /* so many events may lie between a release and its failure */
#define DEVICES_MOST 64
#define SHED_PART 8         /* memory is short: a part of the room stays */

struct instants *instants_new(const struct frameworks *frameworks)
{
	struct instants *all = xcalloc(1, sizeof(*all));

	all->frameworks = frameworks;
	all->room = INSTANTS_RANGES;
	return all;
}

static uint32_t ranges_of(const struct window *w)
{
	return (uint32_t)(w->segments.count + w->blocks.count);
}

static void clear_instant(struct instants *all, struct instant *instant)
{
	if (!instant->is_made)
		return;
	all->room += ranges_of(&instant->window);
	window_free(&instant->window);
	instant->is_made = false;
}

static void free_instants_of(struct instants *all, struct instants_process *ip)
{
	for (size_t i = 0; ip && i < ip->count; i++)
		clear_instant(all, &ip->list[i]);
	if (ip) {
		free(ip->list);
		free(ip->log);
		free(ip->blocks);
	}
	free(ip);
}

void instants_free(struct instants *all)
{
	if (!all)
		return;
	for (size_t i = 0; i < all->count; i++)
		free_instants_of(all, all->list[i]);
	free(all->list);
	free(all);
}

static struct instants_process *find_known(const struct instants *all, const struct process *p)
{
	return p->index < all->count ? all->list[p->index] : NULL;
}

static struct instants_process *instants_process_of(struct instants *all, const struct process *p)
{
	all->list = xreach(all->list, &all->count, p->index, sizeof(struct instants_process *));
	if (!all->list[p->index]) {
		all->list[p->index] = xcalloc(1, sizeof(struct instants_process));
		all->list[p->index]->of = p;
	}
	return all->list[p->index];
}

/* The bytes of the blocks on a device. */
static uint64_t *blocks_on(struct instants_process *ip, int device)
{
	unsigned int place = device < 0 || device >= DEVICES_MOST ? DEVICES_MOST : (unsigned int)device;

	ip->blocks = xreach(ip->blocks, &ip->device_count, place, sizeof(*ip->blocks));
	return &ip->blocks[place];
}

/* ---- the log ---- */

static uint64_t log_next(const struct instants_process *ip)
{
	return ip->log_first + ip->log_count;
}

/* Whether an instant has no window yet. */
static bool has_pending(const struct instants_process *ip)
{
	for (size_t i = 0; i < ip->count; i++)
		if (!ip->list[i].is_made)
			return true;
	return false;
}

/* The first event that an instant without a window needs; the next one: none does. */
static uint64_t first_needed(const struct instants_process *ip)
{
	uint64_t first = log_next(ip);

	for (size_t i = 0; i < ip->count; i++)
		if (!ip->list[i].is_made && ip->list[i].at < first)
			first = ip->list[i].at;
	return first;
}

/* Forgets the log if no instant needs it. */
static void tidy_log(struct instants_process *ip)
{
	if (first_needed(ip) < log_next(ip))
		return;
	ip->log_first = log_next(ip);
	ip->log_count = 0;
}

static void log_event(struct instants_process *ip, const struct delta *d)
{
	if (ip->log_count == ip->log_room) {
		ip->log_room = ip->log_room ? 2 * ip->log_room : LOG_FIRST;
		ip->log = xreallocarray(ip->log, ip->log_room, sizeof(*ip->log));
	}
	ip->log[ip->log_count++] = history_event_of(d);
}

/* ---- windows ---- */

static void make_window(struct instants *all, struct instant *instant, const struct window *then)
{
	if (instant->device == INSTANT_ALL_DEVICES)
		window_copy(&instant->window, then);
	else
		window_copy_device(&instant->window, then, instant->device);
	instant_cut(&instant->window, all->room < INSTANT_RANGES ? all->room : INSTANT_RANGES, &instant->left_out);
	instant->is_made = true;
	all->room -= ranges_of(&instant->window);
}

static void make_those_at(struct instants *all, struct instants_process *ip, uint64_t at, const struct window *then)
{
	for (size_t i = 0; i < ip->count; i++)
		if (!ip->list[i].is_made && ip->list[i].at == at)
			make_window(all, &ip->list[i], then);
}

/* Makes all windows, going back from the present. */
static void make_windows(struct instants *all, struct instants_process *ip)
{
	uint64_t first = first_needed(ip);
	struct window w;

	if (!has_pending(ip))
		return;
	window_now(&w, ip->of, frameworks_of(all->frameworks, ip->of));
	for (uint64_t n = log_next(ip);; n--) {
		make_those_at(all, ip, n, &w);
		if (n == first)
			break;
		const struct history_event *e = &ip->log[n - 1 - ip->log_first];
		struct range r = history_range_of(e);

		window_undo(&w, (enum gmt_history_kind)e->kind, &r);
	}
	window_free(&w);
	tidy_log(ip);
}

const struct instants_process *instants_made(struct instants *all, const struct process *p)
{
	struct instants_process *ip = find_known(all, p);

	if (ip && !p->exited)
		make_windows(all, ip);
	return ip;
}

/* ---- instants ---- */

static void remove_instant(struct instants *all, struct instants_process *ip, size_t index)
{
	clear_instant(all, &ip->list[index]);
	memmove(&ip->list[index], &ip->list[index + 1], (ip->count - index - 1) * sizeof(*ip->list));
	ip->count--;
}

/* The newest instants of a kind stay. */
static void make_place(struct instants *all, struct instants_process *ip, enum instant_why why)
{
	size_t count = 0, oldest = 0;

	for (size_t i = ip->count; i > 0; i--)
		if (ip->list[i - 1].why == why) {
			count++;
			oldest = i - 1;
		}
	if (count < INSTANT_NEWEST)
		return;
	remove_instant(all, ip, oldest);
	ip->dropped++;
}

static struct instant *begin_instant(struct instants_process *ip, const struct instant *instant)
{
	ip->list = xgrow(ip->list, ip->count, sizeof(*ip->list));
	ip->list[ip->count] = *instant;
	ip->list[ip->count].at = log_next(ip);
	return &ip->list[ip->count++];
}

static void note_placed_peak(struct instants *all, struct instants_process *ip, int device, uint64_t bytes,
			     uint64_t ts_ns)
{
	struct instant *found = NULL;

	for (size_t i = 0; i < ip->count; i++)
		if (ip->list[i].why == INSTANT_PEAK && ip->list[i].device == device)
			found = &ip->list[i];
	if (!found)
		found = begin_instant(ip, &(struct instant){ .why = INSTANT_PEAK, .device = device });
	else if (bytes <= found->bytes)
		return;
	clear_instant(all, found);
	found->bytes = bytes;
	found->ts_ns = ts_ns;
	found->at = log_next(ip);
	tidy_log(ip);
}

/* The process has a framework after all: the peak of segments is none of its peaks. */
static void drop_peak_of_segments(struct instants *all, struct instants_process *ip)
{
	for (size_t i = ip->count; i > 0; i--)
		if (ip->list[i - 1].why == INSTANT_PEAK && ip->list[i - 1].device == INSTANT_ALL_DEVICES)
			remove_instant(all, ip, i - 1);
}

static void see_placed_block(struct instants *all, const struct delta *d)
{
	struct instants_process *ip = instants_process_of(all, d->p);
	const struct range *r = d->block.range;
	uint64_t *sum = blocks_on(ip, r->gpu);

	if (has_pending(ip))
		log_event(ip, d);
	if (d->kind == DELTA_BLOCK_ALLOC || d->kind == DELTA_BLOCK_BACK) {
		*sum += r->length;
		drop_peak_of_segments(all, ip);
		note_placed_peak(all, ip, r->gpu, *sum, d->ts_ns);
	} else {
		*sum -= r->length < *sum ? r->length : *sum;
	}
}

static void see_placed_segment(struct instants *all, const struct delta *d)
{
	struct instants_process *ip = instants_process_of(all, d->p);
	uint64_t bytes = d->segment.range->length;

	if (has_pending(ip))
		log_event(ip, d);
	if (d->kind == DELTA_SEGMENT_FREE) {
		ip->segments -= bytes < ip->segments ? bytes : ip->segments;
		return;
	}
	ip->segments += bytes;
	if (!ip->device_count)
		note_placed_peak(all, ip, INSTANT_ALL_DEVICES, ip->segments, d->ts_ns);
}

/* The release failed: the segment did not end. */
static void find_segment_again(struct instants *all, const struct delta *d)
{
	struct instants_process *ip = instants_process_of(all, d->p);

	ip->segments += d->segment.range->length;
	for (size_t i = ip->log_count; i > 0 && ip->log_count - i < UNDO_LOOKS; i--) {
		struct history_event *e = &ip->log[i - 1];

		if (e->kind != GMT_HISTORY_SEGMENT_FREE || e->address != d->segment.range->base)
			continue;
		e->kind = GMT_HISTORY_NOTHING;
		return;
	}
}

static void see_mark(struct instants *all, const struct delta *d)
{
	struct instants_process *ip = find_known(all, d->p);

	if (!ip)
		return;
	make_place(all, ip, INSTANT_MARK);
	begin_instant(ip, &(struct instant){ .why = INSTANT_MARK, .device = INSTANT_ALL_DEVICES, .ts_ns = d->ts_ns });
}

static void drop_request(struct instants *all, struct instants_process *ip, uint32_t number)
{
	for (size_t i = ip->count; i > 0; i--)
		if (ip->list[i - 1].why == INSTANT_REQUEST && ip->list[i - 1].number == number)
			remove_instant(all, ip, i - 1);
}

/* An instant is of the newest try: the framework may have given back what it cached since the earlier one. */
static void see_failure(struct instants *all, const struct delta *d)
{
	struct instants_process *ip = find_known(all, d->p);
	const struct gmt_oom *rec = d->request.rec;

	if (!ip || !history_wants_request(d))
		return;
	drop_request(all, ip, rec->number);
	make_place(all, ip, INSTANT_REQUEST);
	begin_instant(ip, &(struct instant){
		.why = INSTANT_REQUEST, .device = INSTANT_ALL_DEVICES, .ts_ns = d->ts_ns, .number = rec->number,
		.bytes = history_asked_bytes(rec),
	});
}

static void see_met(struct instants *all, const struct delta *d)
{
	struct instants_process *ip = find_known(all, d->p);

	if (ip)
		drop_request(all, ip, d->request.rec->number);
}

static void forget_instants(struct instants *all, const struct delta *d)
{
	if (!d->forget.sum || d->p->index >= all->count)
		return;
	free_instants_of(all, all->list[d->p->index]);
	all->list[d->p->index] = NULL;
}

/* Memory is short: what has no window yet gets none. */
static void shed_logs(struct instants *all, const struct delta *d)
{
	if (d->shed != GMT_SHED_EVENTS)
		return;
	all->room /= SHED_PART;
	for (size_t i = 0; i < all->count; i++) {
		struct instants_process *ip = all->list[i];

		for (size_t n = ip ? ip->count : 0; n > 0; n--)
			if (!ip->list[n - 1].is_made) {
				remove_instant(all, ip, n - 1);
				ip->dropped++;
			}
		if (ip) {
			tidy_log(ip);
			free(ip->log);
			ip->log = NULL;
			ip->log_room = 0;
		}
	}
}

/* ---- deltas ---- */

void instants_see_due(void *instants, const struct delta *d)
{
	struct instants *all = instants;
	struct instants_process *ip = find_known(all, d->p);
	bool is_end = d->kind == DELTA_EXIT || d->kind == DELTA_EXEC;
	const struct framework *f = frameworks_of(all->frameworks, d->p);
	size_t most = f && 2 * f->blocks.count > LOG_EVENTS ? 2 * f->blocks.count : LOG_EVENTS;

	if (!ip || (!is_end && ip->log_count < most))
		return;
	if (d->kind == DELTA_EXIT)
		begin_instant(ip, &(struct instant){
			.why = INSTANT_END, .device = INSTANT_ALL_DEVICES, .ts_ns = d->ts_ns,
		});
	make_windows(all, ip);
	if (is_end)
		ip->segments = ip->device_count = 0;
}

static void (*const seers[DELTA_COUNT])(struct instants *all, const struct delta *d) = {
	[DELTA_BLOCK_ALLOC] = see_placed_block,
	[DELTA_BLOCK_FREE] = see_placed_block,
	[DELTA_BLOCK_LOST] = see_placed_block,
	[DELTA_BLOCK_BACK] = see_placed_block,
	[DELTA_SEGMENT_ALLOC] = see_placed_segment,
	[DELTA_SEGMENT_FREE] = see_placed_segment,
	[DELTA_SEGMENT_BACK] = find_segment_again,
	[DELTA_WINDOW] = see_mark,
	[DELTA_REQUEST_FAILED] = see_failure,
	[DELTA_REQUEST_MET] = see_met,
	[DELTA_FORGET] = forget_instants,
	[DELTA_SHED] = shed_logs,
};

void instants_see(void *instants, const struct delta *d)
{
	seers[d->kind](instants, d);
}

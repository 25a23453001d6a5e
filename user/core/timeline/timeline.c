// SPDX-License-Identifier: BSD-2-Clause
#include "core/timeline/timeline.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "core/framework/framework.h"
#include "core/framework/frameworks.h"
#include "core/framework/iteration_end.h"
#include "core/ledger/process.h"
#include "core/timeline/series_parts.h"
#include "core/terms/names.h"

_Static_assert(sizeof(struct series_point) + (sizeof(struct series_frame) + sizeof(struct series_parts)) /
	       SERIES_POINTS_EACH_FRAME <= TIMELINE_POINT_BYTES, "the room is stated");

#define SHED_PARTS 8         /* memory is short: a part of the room stays */

/* No series needs less than SERIES_POINTS_MIN, so little room has few series. */
static void set_room(struct timeline *t, uint64_t points)
{
	uint64_t series = points / SERIES_POINTS_MIN;

	series = series < TIMELINE_SERIES_MIN ? TIMELINE_SERIES_MIN : series;
	t->series_most = series < TIMELINE_SERIES_MAX ? (uint32_t)series : TIMELINE_SERIES_MAX;
	t->points = points;
}

struct timeline *timeline_new(const struct frameworks *frameworks, const struct frames *frames, uint64_t points)
{
	struct timeline *t = xcalloc(1, sizeof(*t));

	t->frameworks = frameworks;
	t->frames = frames;
	set_room(t, points);
	hash_init(&t->by_process, sizeof(uint32_t));
	return t;
}

static void free_line(struct timeline_line *line)
{
	if (!line)
		return;
	series_fini(&line->calls);
	series_fini(&line->levels);
	free(line);
}

static void free_device(struct timeline_device *device)
{
	if (device)
		series_fini(&device->blocks);
	free(device);
}

static void free_timeline_process(struct timeline_process *tp)
{
	for (unsigned int i = 0; i < tp->line_count; i++)
		free_line(tp->lines[i]);
	for (unsigned int i = 0; i < tp->device_count; i++)
		free_device(tp->devices[i]);
	free(tp->lines);
	free(tp->devices);
}

void timeline_free(struct timeline *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->process_count; i++)
		free_timeline_process(&t->processes[i]);
	hash_fini(&t->by_process);
	free(t->processes);
	free(t);
}

/* ---- each series ---- */

static void each_series(struct timeline_process *tp, void (*act)(struct series *s, const void *arg), const void *arg)
{
	for (unsigned int i = 0; i < tp->line_count; i++)
		if (tp->lines[i]) {
			act(&tp->lines[i]->calls, arg);
			act(&tp->lines[i]->levels, arg);
		}
	for (unsigned int i = 0; i < tp->device_count; i++)
		if (tp->devices[i])
			act(&tp->devices[i]->blocks, arg);
}

static void limit_series(struct series *s, const void *points)
{
	series_limit(s, *(const uint64_t *)points);
}

static void share_room(struct timeline *t)
{
	uint64_t each = t->series_count ? t->points / t->series_count : t->points;

	for (uint32_t i = 0; i < t->process_count; i++)
		each_series(&t->processes[i], limit_series, &each);
}

/* ---- who has a series ---- */

const struct timeline_process *timeline_find(const struct timeline *t, const struct process *p)
{
	const uint32_t *index = hash_get(&t->by_process, (uintptr_t)p);

	return index ? &t->processes[*index] : NULL;
}

static struct timeline_process *put_timeline_process(struct timeline *t, const struct process *p)
{
	bool is_new;
	uint32_t *index = hash_put(&t->by_process, (uintptr_t)p, &is_new);

	if (is_new && t->vacant) {
		*index = t->vacant - 1;
		t->vacant = t->processes[*index].next_vacant;
	} else if (is_new) {
		t->processes = xgrow(t->processes, t->process_count, sizeof(*t->processes));
		*index = t->process_count++;
	}
	if (is_new)
		t->processes[*index] = (struct timeline_process){ .of = p };
	return &t->processes[*index];
}

static void count_series(struct series *s, const void *arg)
{
	(void)s;
	++*(uint32_t *)(uintptr_t)arg;
}

/* The series go; the process stays. */
static void drop_series(struct timeline *t, struct timeline_process *tp)
{
	uint32_t series = 0;

	each_series(tp, count_series, &series);
	free_timeline_process(tp);
	*tp = (struct timeline_process){ .of = tp->of };
	t->series_count -= series;
}

/* The place of the process is for the next new process, so that the indices of other processes stay. */
static void vacate_place(struct timeline *t, struct timeline_process *tp)
{
	hash_erase(&t->by_process, (uintptr_t)tp->of);
	*tp = (struct timeline_process){ .next_vacant = t->vacant };
	t->vacant = (uint32_t)(tp - t->processes) + 1;
}

/* NULL: no process that has series has ended. */
static struct timeline_process *oldest_ended(struct timeline *t)
{
	struct timeline_process *oldest = NULL;

	for (uint32_t i = 0; i < t->process_count; i++) {
		struct timeline_process *tp = &t->processes[i];

		if (tp->end && (!oldest || tp->end < oldest->end))
			oldest = tp;
	}
	return oldest;
}

/* The slot at an index of a list of pointers, which grows. */
static void **slot_of(void ***list, unsigned int *count, unsigned int index)
{
	if (index >= *count) {
		*list = xreallocarray(*list, index + 1, sizeof(**list));
		while (*count <= index)
			(*list)[(*count)++] = NULL;
	}
	return &(*list)[index];
}

/* What ended longest ago makes room for so many more series. */
static void drop_oldest(struct timeline *t, unsigned int series)
{
	struct timeline_process *oldest;

	while (t->series_count + series > t->series_most && (oldest = oldest_ended(t))) {
		drop_series(t, oldest);
		t->dropped++;
	}
}

/* Whether there is room for so many more series of a process. */
static bool take_room(struct timeline *t, struct timeline_process *tp, unsigned int series)
{
	tp->end = 0;
	drop_oldest(t, series);
	if (t->series_count + series > t->series_most) {
		t->unseen += !tp->is_unseen;
		tp->is_unseen = true;
		return false;
	}
	t->series_count += series;
	return true;
}

static struct timeline_line *put_line(struct timeline *t, const struct process *p, unsigned int row)
{
	struct timeline_process *tp = put_timeline_process(t, p);
	struct timeline_line *line = row < tp->line_count ? tp->lines[row] : NULL;

	if (line || !take_room(t, tp, 2))
		return line;
	line = xcalloc(1, sizeof(*line));
	series_init(&line->calls, 0);
	series_init(&line->levels, 0);
	*slot_of((void ***)&tp->lines, &tp->line_count, row) = line;
	share_room(t);
	return line;
}

static struct timeline_device *put_device(struct timeline *t, const struct process *p, unsigned int ordinal)
{
	struct timeline_process *tp = put_timeline_process(t, p);
	struct timeline_device *device = ordinal < tp->device_count ? tp->devices[ordinal] : NULL;

	if (device || !take_room(t, tp, 1))
		return device;
	device = xcalloc(1, sizeof(*device));
	series_init(&device->blocks, 0);
	*slot_of((void ***)&tp->devices, &tp->device_count, ordinal) = device;
	share_room(t);
	return device;
}

/* ---- memory ---- */

/* NULL: the memory does not count for the GPU, as the memory of an importer. */
static struct timeline_line *line_of_booking(struct timeline *t, const struct delta *d, unsigned int row)
{
	return row == ROW_NONE || !gmt_class_is_device(d->memory.booking.class) ? NULL : put_line(t, d->p, row);
}

static void add_bytes(struct timeline *t, const struct delta *d, unsigned int row, uint64_t bytes)
{
	const struct booking *b = &d->memory.booking;
	struct timeline_line *line = line_of_booking(t, d, row);

	if (line)
		series_add(&line->calls, b->stack_id, b->class, bytes, d->ts_ns);
}

static void remove_bytes(struct timeline *t, const struct delta *d)
{
	const struct booking *b = &d->memory.booking;
	struct timeline_line *line = line_of_booking(t, d, b->row);

	if (line)
		series_remove(&line->calls, b->stack_id, b->class, b->bytes, d->ts_ns);
}

static void see_alloc(struct timeline *t, const struct delta *d)
{
	add_bytes(t, d, d->memory.booking.row, d->memory.booking.bytes);
}

static void see_move(struct timeline *t, const struct delta *d)
{
	remove_bytes(t, d);
	add_bytes(t, d, d->memory.to, d->memory.booking.bytes);
}

static void see_resize(struct timeline *t, const struct delta *d)
{
	remove_bytes(t, d);
	add_bytes(t, d, d->memory.booking.row, d->memory.bytes);
}

/* ---- blocks ---- */

/* An iteration has ended before this block. */
static void end_iteration(struct timeline *t, const struct delta *d, struct timeline_device *device,
			  unsigned int ordinal)
{
	uint32_t ended = iteration_end(frameworks_of(t->frameworks, d->p), ordinal, &device->iteration);

	if (ended)
		series_moment(&device->blocks, SERIES_ITERATION, ended, d->ts_ns - 1);
}

/* What a block was for is known at its end. */
static void note_purpose(struct timeline *t, const struct framework *f, struct timeline_device *device,
			 const struct range *block, unsigned int category, uint64_t until_ns)
{
	if (!device->has_returned && f && block->offset)
		series_part(&device->blocks, framework_purpose(f, t->frames, block, category), block->length,
			    block->offset, until_ns);
}

/* A block that comes back has its old birth, but was not there in between. */
static void note_return(struct timeline_device *device)
{
	device->has_returned = true;
	free(device->blocks.parts);
	device->blocks.parts = NULL;
}

static void see_block(struct timeline *t, const struct delta *d)
{
	const struct range *block = d->block.range;
	struct timeline_device *device = block->gpu < 0 ? NULL : put_device(t, d->p, (unsigned int)block->gpu);

	if (!device)
		return;
	end_iteration(t, d, device, (unsigned int)block->gpu);
	if (d->kind == DELTA_BLOCK_BACK)
		note_return(device);
	if (d->kind == DELTA_BLOCK_ALLOC || d->kind == DELTA_BLOCK_BACK) {
		series_add(&device->blocks, (uint32_t)block->value, 0, block->length, d->ts_ns);
	} else if (block->offset) {  /* else the block is older than the attach */
		series_remove(&device->blocks, (uint32_t)block->value, 0, block->length, d->ts_ns);
		note_purpose(t, frameworks_of(t->frameworks, d->p), device, block, d->block.category, SERIES_NOW);
	}
}

/* ---- sums beside the calls ---- */

static void set_levels(struct timeline *t, struct timeline_process *tp, uint64_t ts_ns)
{
	const struct framework *f = frameworks_of(t->frameworks, tp->of);

	for (unsigned int i = 0; i < tp->line_count; i++) {
		const struct row *row = &tp->of->account.rows[i];

		if (!tp->lines[i])
			continue;
		series_set(&tp->lines[i]->levels, 0, TIMELINE_PHYSICAL, row->physical.live, ts_ns);
		series_set(&tp->lines[i]->levels, 0, TIMELINE_NVML, row->nvml.has ? row->nvml.used : 0, ts_ns);
		series_set(&tp->lines[i]->levels, 0, TIMELINE_RESERVED, framework_reserved(f, i), ts_ns);
	}
}

static struct timeline_process *known_process(struct timeline *t, const struct process *p)
{
	return p ? (struct timeline_process *)timeline_find(t, p) : NULL;
}

/* A call has ended, and all that it changed is known; or NVML has told its number. */
static void see_call(struct timeline *t, const struct delta *d)
{
	struct timeline_process *tp = known_process(t, d->p);

	if (tp)
		set_levels(t, tp, d->ts_ns);
}

/* ---- moments and ends ---- */

struct moment {
	enum series_why why;
	uint64_t ts_ns;
};

static void add_moment(struct series *s, const void *arg)
{
	const struct moment *moment = arg;

	series_moment(s, moment->why, 0, moment->ts_ns);
}

static void see_moment(struct timeline *t, const struct delta *d)
{
	struct moment moment = { d->kind == DELTA_MARK ? SERIES_BASELINE : SERIES_REQUEST, d->ts_ns };
	struct timeline_process *tp = known_process(t, d->p);

	if (!tp)
		return;
	set_levels(t, tp, d->ts_ns);
	each_series(tp, add_moment, &moment);
}

static void restart_series(struct series *s, const void *ts_ns)
{
	series_restart(s, *(const uint64_t *)ts_ns);
}

/* Peaks count from here, as in the account. */
static void see_window(struct timeline *t, const struct delta *d)
{
	struct timeline_process *tp = known_process(t, d->p);

	if (tp)
		each_series(tp, restart_series, &d->ts_ns);
}

static void end_series(struct series *s, const void *ts_ns)
{
	series_close(s);
	series_drop(s, *(const uint64_t *)ts_ns);
	series_close(s);
}

static void see_end(struct timeline *t, const struct delta *d)
{
	struct timeline_process *tp = known_process(t, d->p);

	if (!tp)
		return;
	set_levels(t, tp, d->ts_ns);
	each_series(tp, end_series, &d->ts_ns);
	if (d->kind == DELTA_EXIT && (tp->line_count || tp->device_count))
		tp->end = ++t->ends;
	for (unsigned int i = 0; i < tp->device_count; i++)
		if (tp->devices[i])
			tp->devices[i]->iteration = 0;
}

void timeline_see_end(void *timeline, const struct delta *d)
{
	struct timeline *t = timeline;
	struct timeline_process *tp = known_process(t, d->p);
	const struct framework *f = frameworks_of(t->frameworks, d->p);
	struct rangemap_pos pos = { 0 };
	const struct range *block;

	for (unsigned int i = 0; tp && i < tp->device_count; i++)
		if (tp->devices[i])
			series_close(&tp->devices[i]->blocks);
	while (tp && f && (block = rangemap_next(&f->blocks, &pos))) {
		unsigned int gpu = (unsigned int)block->gpu;

		if (!(block->aux & BLOCK_LOST) && gpu < tp->device_count && tp->devices[gpu])
			note_purpose(t, f, tp->devices[gpu], block, framework_category(f, block, true),
				     SERIES_NOW);
	}
}

static void see_forget(struct timeline *t, const struct delta *d)
{
	struct timeline_process *tp = known_process(t, d->p);

	if (!tp || !d->forget.sum)
		return;
	drop_series(t, tp);
	vacate_place(t, tp);
	share_room(t);
}

static void see_shed(struct timeline *t, const struct delta *d)
{
	if (d->shed != GMT_SHED_EVENTS)
		return;
	set_room(t, t->points / SHED_PARTS);
	drop_oldest(t, 0);
	share_room(t);
	t->is_coarse = true;
}

static void (*const seers[DELTA_COUNT])(struct timeline *t, const struct delta *d) = {
	[DELTA_ALLOC] = see_alloc,
	[DELTA_FREE] = remove_bytes,
	[DELTA_RESTORE] = see_alloc,
	[DELTA_MOVE] = see_move,
	[DELTA_RESIZE] = see_resize,
	[DELTA_BLOCK_ALLOC] = see_block,
	[DELTA_BLOCK_FREE] = see_block,
	[DELTA_BLOCK_LOST] = see_block,
	[DELTA_BLOCK_BACK] = see_block,
	[DELTA_CALL] = see_call,
	[DELTA_NVML] = see_call,
	[DELTA_MARK] = see_moment,
	[DELTA_WINDOW] = see_window,
	[DELTA_REQUEST_FAILED] = see_moment,
	[DELTA_EXEC] = see_end,
	[DELTA_EXIT] = see_end,
	[DELTA_FORGET] = see_forget,
	[DELTA_SHED] = see_shed,
};

void timeline_see(void *timeline, const struct delta *d)
{
	seers[d->kind](timeline, d);
}

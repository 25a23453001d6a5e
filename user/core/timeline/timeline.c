// SPDX-License-Identifier: BSD-2-Clause
#include "core/timeline/timeline.h"

#include <stdlib.h>

#include "core/framework/framework.h"
#include "core/framework/frameworks.h"
#include "core/framework/iteration_end.h"
#include "core/ledger/process.h"
#include "core/timeline/series_parts.h"
#include "core/terms/names.h"

/* ---- memory ---- */

/* NULL: the memory does not count for the GPU, as the memory of an importer. */
static struct timeline_line *line_of_booking(struct timeline *t, const struct delta *d, unsigned int row)
{
	bool counts = row != ROW_NONE && gmt_class_is_device(d->memory.booking.class);

	return counts ? timeline_put_line(t, d->p, row) : NULL;
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

/* Where calls are traced, their series has no room for what lies beside them. */
static void see_driver(struct timeline *t, const struct delta *d)
{
	const struct booking *b = &d->memory.booking;
	struct timeline_line *line = process_has_calls(d->p) ? NULL : timeline_put_line(t, d->p, b->row);

	if (line && d->kind == DELTA_DRIVER_ADD)
		series_add(&line->calls, b->stack_id, TIMELINE_DRIVER, b->bytes, d->ts_ns);
	else if (line)
		series_remove(&line->calls, b->stack_id, TIMELINE_DRIVER, b->bytes, d->ts_ns);
}

static struct timeline_process *known_process(struct timeline *t, const struct process *p)
{
	return p ? (struct timeline_process *)timeline_find(t, p) : NULL;
}

/* ---- phases ---- */

static uint8_t device_phase(const struct framework *f, unsigned int ordinal)
{
	return f ? phases_now(&f->phases, ordinal) : PHASE_SPANS_NONE;
}

/* No forward begins with a free: what a program returns, it frees between iterations. */
static void note_phase_of_block(struct timeline *t, const struct delta *d, struct timeline_device *device,
				unsigned int ordinal)
{
	uint8_t phase = device_phase(frameworks_of(t->frameworks, d->p), ordinal);
	bool begins = phase == GMT_TRAINING_FORWARD && device->phases.phase != GMT_TRAINING_FORWARD;

	phase_spans_note(&device->phases, begins && d->kind != DELTA_BLOCK_ALLOC ? PHASE_SPANS_NONE : phase, d->ts_ns);
}

static void see_range(struct timeline *t, const struct delta *d)
{
	const struct framework *f = frameworks_of(t->frameworks, d->p);
	struct timeline_process *tp = known_process(t, d->p);

	for (unsigned int i = 0; tp && i < tp->device_count; i++)
		if (tp->devices[i])
			phase_spans_note(&tp->devices[i]->phases, device_phase(f, i), d->ts_ns);
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
static void note_purpose(struct timeline *t, struct timeline_device *device, const struct range *block,
			 unsigned int category, uint64_t until_ns)
{
	if (!device->has_returned && block->offset)
		series_part(&device->blocks, framework_purpose(t->frames, block, category), block->length,
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
	struct timeline_device *device = block->gpu < 0 ? NULL : timeline_put_device(t, d->p, (unsigned int)block->gpu);

	if (!device)
		return;
	end_iteration(t, d, device, (unsigned int)block->gpu);
	note_phase_of_block(t, d, device, (unsigned int)block->gpu);
	if (d->kind == DELTA_BLOCK_BACK)
		note_return(device);
	if (d->kind == DELTA_BLOCK_ALLOC || d->kind == DELTA_BLOCK_BACK) {
		series_add(&device->blocks, (uint32_t)block->value, 0, block->length, d->ts_ns);
	} else if (block->offset) {  /* else the block is older than the attach */
		series_remove(&device->blocks, (uint32_t)block->value, 0, block->length, d->ts_ns);
		note_purpose(t, device, block, d->block.category, SERIES_NOW);
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

/* A GPU has a line also where no call is seen. What lies on no known GPU has none: that mostly shows later. */
static void begin_lines(struct timeline *t, const struct process *p)
{
	for (unsigned int i = 0; i < p->account.count; i++) {
		const struct row *row = &p->account.rows[i];

		if (row->gpu != GPU_UNKNOWN && (row->physical.live || row->nvml.used))
			timeline_put_line(t, p, i);
	}
}

/* What is known beside the calls has changed. */
static void see_level(struct timeline *t, const struct delta *d)
{
	struct timeline_process *tp;

	begin_lines(t, d->p);
	tp = known_process(t, d->p);
	if (tp)
		set_levels(t, tp, d->ts_ns);
}

/* A call has ended, and all that it changed is known. */
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

	/* A baseline is when the series changed last: there is none before its first change. */
	if (moment->ts_ns || s->now_ns)
		series_moment(s, moment->why, 0, moment->ts_ns);
}

static void see_moment(struct timeline *t, const struct delta *d)
{
	struct moment moment = { d->kind == DELTA_MARK ? SERIES_BASELINE : SERIES_REQUEST, d->ts_ns };
	struct timeline_process *tp = known_process(t, d->p);

	if (!tp)
		return;
	set_levels(t, tp, d->ts_ns);
	timeline_each_series(tp, add_moment, &moment);
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
		timeline_each_series(tp, restart_series, &d->ts_ns);
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
	timeline_each_series(tp, end_series, &d->ts_ns);
	if (d->kind == DELTA_EXIT)
		timeline_end_process(t, tp);
	for (unsigned int i = 0; i < tp->device_count; i++)
		if (tp->devices[i]) {
			tp->devices[i]->iteration = 0;
			phase_spans_note(&tp->devices[i]->phases, PHASE_SPANS_NONE, d->ts_ns);
		}
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
			note_purpose(t, tp->devices[gpu], block, framework_category(f, block, true), SERIES_NOW);
	}
}

static void see_forget(struct timeline *t, const struct delta *d)
{
	struct timeline_process *tp = known_process(t, d->p);

	if (tp && d->forget.sum)
		timeline_forget_process(t, tp);
}

static void see_shed(struct timeline *t, const struct delta *d)
{
	if (d->shed == GMT_SHED_EVENTS)
		timeline_shed_room(t);
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
	[DELTA_DRIVER_ADD] = see_driver,
	[DELTA_DRIVER_REMOVE] = see_driver,
	[DELTA_PHYSICAL] = see_level,
	[DELTA_NVML] = see_level,
	[DELTA_RANGE] = see_range,
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

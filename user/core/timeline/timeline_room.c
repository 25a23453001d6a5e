// SPDX-License-Identifier: BSD-2-Clause
#include "core/timeline/timeline_room.h"

#include <stdlib.h>

#include "base/xalloc.h"

#define POINTS_EACH_PHASE_SPAN 16
#define SHED_PARTS 8         /* memory is short: a part of the room stays */

_Static_assert(sizeof(struct series_point) + (sizeof(struct series_frame) + sizeof(struct series_parts)) /
	       SERIES_POINTS_EACH_FRAME + sizeof(struct phase_span) / POINTS_EACH_PHASE_SPAN <= TIMELINE_POINT_BYTES,
	       "the room is stated");

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
	if (!device)
		return;
	series_fini(&device->blocks);
	phase_spans_fini(&device->phases);
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

void timeline_each_series(struct timeline_process *tp, void (*act)(struct series *s, const void *arg),
			  const void *arg)
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

/* ---- room ---- */

static void limit_series(struct series *s, const void *points)
{
	series_limit(s, *(const uint64_t *)points);
}

static void limit_process(struct timeline_process *tp, uint64_t each)
{
	timeline_each_series(tp, limit_series, &each);
	for (unsigned int i = 0; i < tp->device_count; i++)
		if (tp->devices[i])
			phase_spans_limit(&tp->devices[i]->phases, each / POINTS_EACH_PHASE_SPAN);
}

static void share_room(struct timeline *t)
{
	uint64_t each = t->series_count ? t->points / t->series_count : t->points;

	if (each == t->each)
		return;
	t->each = each;
	for (uint32_t i = 0; i < t->process_count; i++)
		limit_process(&t->processes[i], each);
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

/* The place of the process is for the next new process, so that the indices of other processes stay. */
static void vacate_place(struct timeline *t, struct timeline_process *tp)
{
	hash_erase(&t->by_process, (uintptr_t)tp->of);
	*tp = (struct timeline_process){ .next_vacant = t->vacant };
	t->vacant = (uint32_t)(tp - t->processes) + 1;
}

/* ---- processes that have ended, and have series: the one that ended longest ago is the oldest ---- */

static void unlink_ended(struct timeline *t, struct timeline_process *tp)
{
	if (!tp->has_ended)
		return;
	*(tp->older ? &t->processes[tp->older - 1].newer : &t->oldest) = tp->newer;
	*(tp->newer ? &t->processes[tp->newer - 1].older : &t->newest) = tp->older;
	tp->has_ended = false;
	tp->older = tp->newer = 0;
}

void timeline_end_process(struct timeline *t, struct timeline_process *tp)
{
	uint32_t place = (uint32_t)(tp - t->processes) + 1;

	unlink_ended(t, tp);
	if (!tp->line_count && !tp->device_count)
		return;
	tp->has_ended = true;
	tp->older = t->newest;
	*(t->newest ? &t->processes[t->newest - 1].newer : &t->oldest) = place;
	t->newest = place;
}

/* The series go; the process stays. */
static void drop_series(struct timeline *t, struct timeline_process *tp)
{
	uint32_t series = 0;

	unlink_ended(t, tp);
	timeline_each_series(tp, count_series, &series);
	free_timeline_process(tp);
	*tp = (struct timeline_process){ .of = tp->of };
	t->series_count -= series;
}

/* What ended longest ago makes room for so many more series. */
static void drop_ended(struct timeline *t, unsigned int series)
{
	while (t->series_count + series > t->series_most && t->oldest) {
		drop_series(t, &t->processes[t->oldest - 1]);
		t->dropped++;
	}
}

/* Whether there is room for so many more series of a process. */
static bool take_room(struct timeline *t, struct timeline_process *tp, unsigned int series)
{
	unlink_ended(t, tp);
	drop_ended(t, series);
	if (t->series_count + series > t->series_most) {
		t->unseen += !tp->is_unseen;
		tp->is_unseen = true;
		return false;
	}
	t->series_count += series;
	return true;
}

struct timeline_line *timeline_put_line(struct timeline *t, const struct process *p, unsigned int row)
{
	struct timeline_process *tp = put_timeline_process(t, p);
	struct timeline_line *line = row < tp->line_count ? tp->lines[row] : NULL;

	if (line || !take_room(t, tp, 2))
		return line;
	line = xcalloc(1, sizeof(*line));
	series_init(&line->calls, t->each);
	series_init(&line->levels, t->each);
	line->levels.has_no_sum = true;
	tp->lines = xreach(tp->lines, &tp->line_count, row, sizeof(struct timeline_line *));
	tp->lines[row] = line;
	share_room(t);
	return line;
}

struct timeline_device *timeline_put_device(struct timeline *t, const struct process *p, unsigned int ordinal)
{
	struct timeline_process *tp = put_timeline_process(t, p);
	struct timeline_device *device = ordinal < tp->device_count ? tp->devices[ordinal] : NULL;

	if (device || !take_room(t, tp, 1))
		return device;
	device = xcalloc(1, sizeof(*device));
	series_init(&device->blocks, t->each);
	phase_spans_init(&device->phases, t->each / POINTS_EACH_PHASE_SPAN);
	tp->devices = xreach(tp->devices, &tp->device_count, ordinal, sizeof(struct timeline_device *));
	tp->devices[ordinal] = device;
	share_room(t);
	return device;
}

void timeline_forget_process(struct timeline *t, struct timeline_process *tp)
{
	drop_series(t, tp);
	vacate_place(t, tp);
	share_room(t);
}

void timeline_shed_room(struct timeline *t)
{
	set_room(t, t->points / SHED_PARTS);
	drop_ended(t, 0);
	share_room(t);
	t->is_coarse = true;
}

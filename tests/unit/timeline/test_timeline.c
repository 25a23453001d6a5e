// SPDX-License-Identifier: BSD-2-Clause
/*
 * Memory over time of all recordings in tests/data: at each moment that was looked at while the records came, what the
 * account said lies within the bounds of the timeline's frames, with much room and with little. At the peak and at the end
 * each stack is exact.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "core/framework/framework_state.h"
#include "core/framework/frameworks.h"
#include "core/ledger/ledger_state.h"
#include "core/ledger/process.h"
#include "core/pipeline/pipeline.h"
#include "core/timeline/series_parts.h"
#include "core/timeline/timeline.h"
#include "each_recording.h"
#include "records.h"
#include "source/reader.h"

#define EACH 53              /* records between two looks */
#define MUCH (1 << 22)
#define LITTLE 1

struct look {
	const struct process *p;
	unsigned int place;      /* row, or ordinal */
	bool is_block;
	uint64_t ts_ns, live;
};

struct looks {
	struct look *list;
	size_t count;
	uint64_t frames, inexact;
};

static const struct series *series_of(const struct pipeline *pl, const struct look *look)
{
	const struct timeline_process *tp = timeline_find(pl->timeline, look->p);

	if (!tp)
		return NULL;
	if (look->is_block)
		return look->place < tp->device_count && tp->devices[look->place] ? &tp->devices[look->place]->blocks : NULL;
	return look->place < tp->line_count && tp->lines[look->place] ? &tp->lines[look->place]->calls : NULL;
}

static void note_look(struct looks *all, const struct pipeline *pl, struct look look)
{
	const struct series *s = series_of(pl, &look);

	assert_int_equal(s ? s->sums.live : 0, look.live);
	if (!s)
		return;
	look.ts_ns = s->now_ns;
	all->list = xgrow(all->list, all->count, sizeof(*all->list));
	all->list[all->count++] = look;
}

/* The device memory of calls: the row's stacks have kernel memory, too. Where no calls are traced, that alone. */
static const struct view_level *calls_of(const struct process *p, unsigned int row)
{
	return process_has_calls(p) ? &p->account.rows[row].attributed : &p->account.rows[row].physical;
}

static void look_at(struct looks *all, const struct pipeline *pl, const struct process *p)
{
	const struct framework *f = frameworks_of(pl->frameworks, p);

	for (unsigned int i = 0; i < p->account.count; i++)
		note_look(all, pl, (struct look){ .p = p, .place = i, .live = calls_of(p, i)->live });
	for (unsigned int i = 0; f && i < f->count; i++)
		note_look(all, pl, (struct look){
			.p = p, .place = i, .is_block = true, .live = f->devices[i].stacks.live });
}

static void look_around(struct looks *all, const struct pipeline *pl)
{
	const struct processes *processes = &pl->ledger->processes;

	for (size_t i = 0; i < processes->count; i++)
		if (processes->list[i] && !processes->list[i]->exited)
			look_at(all, pl, processes->list[i]);
}

static bool is_within(const struct series_frame *frame, const struct look *look)
{
	return look->live >= frame->least && look->live <= frame->most;
}

static void check_look(struct looks *all, const struct series *s, const struct look *look)
{
	uint32_t i = 0;

	while (i < s->frame_count && s->frames[i].ts_ns < look->ts_ns)
		i++;
	if (i == s->frame_count) {
		assert_int_equal(look->live, s->frame_count ? s->frames[i - 1].live : 0);
		return;
	}
	/* What came at the time of a frame may belong to the next frame. */
	while (i + 1 < s->frame_count && s->frames[i].ts_ns == look->ts_ns && !is_within(&s->frames[i], look))
		i++;
	assert_true(is_within(&s->frames[i], look));
	all->inexact += s->frames[i].least != s->frames[i].most && s->frames[i].ts_ns != look->ts_ns;
}

static void check_peaks(const struct series *s, const struct stacks *stacks)
{
	assert_int_equal(s->sums.peak, stacks->peak);
	for (uint32_t i = 0; i < s->key_count; i++) {
		const uint32_t *index = hash_get(&stacks->by_id, s->keys[i].stack_id);

		assert_non_null(index);
		assert_int_equal(series_at_peak(s, i), stacks_held(stacks, *index, STACKS_AT_PEAK));
	}
}

static void check_process(struct looks *all, const struct pipeline *pl, const struct process *p)
{
	const struct timeline_process *tp = timeline_find(pl->timeline, p);
	const struct framework *f = frameworks_of(pl->frameworks, p);

	for (unsigned int i = 0; tp && i < tp->line_count; i++)
		if (tp->lines[i]) {
			series_close(&tp->lines[i]->calls);
			all->frames += tp->lines[i]->calls.frame_count;
			assert_int_equal(tp->lines[i]->calls.unknown, 0);
			/* Memory that moved has moved with its past in the account, but at that moment here. */
			assert_true(tp->lines[i]->calls.sums.peak <= calls_of(p, i)->peak || p->account.count > 1);
		}
	for (unsigned int i = 0; tp && i < tp->device_count; i++)
		if (tp->devices[i]) {
			series_close(&tp->devices[i]->blocks);
			all->frames += tp->devices[i]->blocks.frame_count;
			assert_int_equal(tp->devices[i]->blocks.unknown, 0);
			if (!tp->devices[i]->blocks.keys_merged)
				check_peaks(&tp->devices[i]->blocks, &f->devices[i].stacks);
		}
}

static struct looks replay(const char *path, uint64_t points)
{
	struct pipeline_options options = { .watches_requests = true, .timeline_points = points };
	struct pipeline *pl = pipeline_new(&options);
	const struct gmt_hdr *hdr;
	struct looks all = { 0 };
	struct reader *reader;
	uint64_t records = 0;

	assert_int_equal(reader_open(&reader, path), 0);
	while ((hdr = reader_next(reader))) {
		pipeline_apply(pl, hdr, hdr->size);
		if (++records % EACH == 0)
			look_around(&all, pl);
	}
	for (size_t i = 0; i < pl->ledger->processes.count; i++)
		if (pl->ledger->processes.list[i])
			check_process(&all, pl, pl->ledger->processes.list[i]);
	for (size_t i = 0; i < all.count; i++)
		check_look(&all, series_of(pl, &all.list[i]), &all.list[i]);
	reader_close(reader);
	pipeline_free(pl);
	free(all.list);
	return all;
}

struct recordings {
	uint64_t points;
	struct looks *sum;
};

static void check_recording(void *arg, const char *path)
{
	const struct recordings *of = arg;
	struct looks all = replay(path, of->points);

	of->sum->count += all.count;
	of->sum->frames += all.frames;
	of->sum->inexact += all.inexact;
}

static void check_recordings(uint64_t points, struct looks *sum)
{
	each_recording(check_recording, &(struct recordings){ points, sum });
}

static void every_recording(void **state)
{
	struct looks much = { 0 }, little = { 0 };

	(void)state;
	check_recordings(MUCH, &much);
	check_recordings(LITTLE, &little);
	print_message("%zu moments, %ju inside of bounds; %ju frames; with little room %ju and %ju\n", much.count,
		      (uintmax_t)much.inexact, (uintmax_t)much.frames, (uintmax_t)little.inexact, (uintmax_t)little.frames);
	assert_true(much.count == little.count && much.count > 1000);
	assert_true(little.frames < much.frames && much.inexact < little.inexact);
}

/* ---- many processes ---- */

#define PROCESSES 1000       /* 2 series each; a third never ends */
#define STACKS 100

/* What the lists of a series take, with their room. */
static size_t bytes_of(const struct series *s)
{
	assert_true(s->point_count <= s->points_most && s->frame_count <= s->frames_most);
	return malloc_usable_size(s->points) + malloc_usable_size(s->frames) + malloc_usable_size(s->parts) +
	       malloc_usable_size(s->keys) + malloc_usable_size(s->changed) + malloc_usable_size(s->sums.list);
}

static size_t bytes_of_all(const struct timeline *t)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < t->process_count; i++)
		for (unsigned int n = 0; n < t->processes[i].line_count; n++)
			bytes += bytes_of(&t->processes[i].lines[n]->calls) + bytes_of(&t->processes[i].lines[n]->levels);
	for (uint32_t i = 0; i < t->process_count; i++)
		for (unsigned int n = 0; n < t->processes[i].device_count; n++)
			bytes += bytes_of(&t->processes[i].devices[n]->blocks);
	return bytes;
}

/* Allocates and frees, each time with another stack, so that a series has many keys, points and frames. */
static void work(struct timeline *t, struct process *p, uint64_t *ts_ns, unsigned int times)
{
	for (unsigned int i = 0; i < times; i++) {
		struct delta d = { .kind = DELTA_ALLOC, .p = p, .ts_ns = *ts_ns += 2000000 };

		d.memory.booking = (struct booking){ .row = 0, .class = GMT_CLASS_DEVICE, .stack_id = 1 + i % STACKS, .bytes = 4096 };
		timeline_see(t, &d);
		d.kind = DELTA_FREE;
		d.ts_ns = *ts_ns += 2000000;
		timeline_see(t, &d);
	}
}

static struct process *begin_process(uint32_t pid)
{
	struct process *p = xcalloc(1, sizeof(*p));

	p->tgid = pid;
	p->account.count = 1;
	p->account.rows = xcalloc(1, sizeof(*p->account.rows));
	return p;
}

static void free_processes(struct process **all, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		free(all[i]->account.rows);
		free(all[i]);
	}
}

/* Any number of processes comes and goes: the newest has memory over time, and all of it keeps the stated room. */
static void many_processes(void **state)
{
	const uint64_t points = 1 << 20;
	struct pipeline *pl = pipeline_new(&(struct pipeline_options){ .timeline_points = points });
	struct timeline *t = pl->timeline;
	struct process *all[PROCESSES];
	uint64_t ts_ns = 0;

	(void)state;
	for (uint32_t i = 0; i < PROCESSES; i++) {
		struct delta end = { .kind = DELTA_EXIT };

		all[i] = begin_process(i + 1);
		work(t, all[i], &ts_ns, 1500);
		assert_true(timeline_find(t, all[i])->line_count);
		assert_true(bytes_of_all(t) <= 2 * points * TIMELINE_POINT_BYTES);   /* lists that grow have room */
		end.p = all[i];
		end.ts_ns = ts_ns;
		if (i % 10)
			timeline_see(t, &end);
	}
	assert_true(t->series_count == TIMELINE_SERIES_MAX);
	assert_int_equal(t->dropped, PROCESSES - TIMELINE_SERIES_MAX / 2);
	assert_int_equal(t->unseen, 0);
	assert_true(timeline_find(t, all[0])->line_count && !timeline_find(t, all[1])->line_count);
	print_message("%zu of %ju bytes\n", bytes_of_all(t), (uintmax_t)(points * TIMELINE_POINT_BYTES));
	for (uint32_t i = 0; i < PROCESSES; i++) {
		struct view_ended sum = { 0 };
		struct delta forget = { .kind = DELTA_FORGET, .p = all[i], .forget.sum = &sum };

		timeline_see(t, &forget);
	}
	for (uint32_t i = 0; i < PROCESSES; i++)
		work(t, all[i], &ts_ns, 1);
	assert_int_equal(t->process_count, PROCESSES);   /* places are used again */
	assert_int_equal(t->unseen, PROCESSES - TIMELINE_SERIES_MAX / 2);   /* none of these has ended */
	free_processes(all, PROCESSES);
	pipeline_free(pl);
}

/* As many processes as have series at most, with the room that a small --memory has: the lists keep the room. When
 * memory is short, they give most of their memory back, and the view tells that. */
static void little_room(void **state)
{
	const uint64_t points = 8 * MiB / TIMELINE_POINT_BYTES;
	struct pipeline *pl = pipeline_new(&(struct pipeline_options){ .timeline_points = points });
	struct delta shed = { .kind = DELTA_SHED, .shed = GMT_SHED_EVENTS };
	struct process *all[TIMELINE_SERIES_MAX / 2];
	struct view view;
	uint64_t ts_ns = 0;
	size_t before;

	(void)state;
	for (uint32_t i = 0; i < TIMELINE_SERIES_MAX / 2; i++) {
		all[i] = begin_process(i + 1);
		work(pl->timeline, all[i], &ts_ns, 1500);
		assert_true(bytes_of_all(pl->timeline) <= 2 * points * TIMELINE_POINT_BYTES);
	}
	before = bytes_of_all(pl->timeline);
	print_message("%zu of %ju bytes\n", before, (uintmax_t)(points * TIMELINE_POINT_BYTES));
	assert_int_equal(pl->timeline->unseen, TIMELINE_SERIES_MAX / 2 - pl->timeline->series_most / 2);
	view_build(pl, NULL, &view);
	assert_false(view.timelines_are_coarse);
	view_free(&view);
	timeline_see(pl->timeline, &shed);
	assert_int_equal(pl->timeline->series_most, TIMELINE_SERIES_MIN);
	view_build(pl, NULL, &view);
	assert_true(view.timelines_are_coarse);
	view_free(&view);
	free_processes(all, TIMELINE_SERIES_MAX / 2);
	pipeline_free(pl);
}

/* A process with many points and parts in its series gives their memory back when memory is short. */
static void shed_gives_back(void **state)
{
	struct pipeline *pl = pipeline_new(&(struct pipeline_options){ .timeline_points = 1 << 18 });
	struct timeline *t = pl->timeline;
	struct delta shed = { .kind = DELTA_SHED, .shed = GMT_SHED_EVENTS };
	struct process *p = begin_process(1);
	uint64_t ts_ns = 0;
	size_t before;

	(void)state;
	work(t, p, &ts_ns, 60000);
	series_part(&timeline_find(t, p)->lines[0]->calls, 0, 1, 1, SERIES_NOW);
	before = bytes_of_all(t);
	for (unsigned int i = 1; i < 3; i++) {
		timeline_see(t, &shed);
		print_message("%zu bytes, %zu before\n", bytes_of_all(t), before);
		assert_true(bytes_of_all(t) < before / 4);
		work(t, p, &ts_ns, 60000);
		before = bytes_of_all(t);
	}
	free_processes(&p, 1);
	pipeline_free(pl);
}

static void give_delta(struct timeline *t, enum delta_kind kind, struct process *p, uint64_t ts_ns)
{
	struct view_ended sum = { 0 };
	struct delta d = { .kind = kind, .p = p, .ts_ns = ts_ns };

	if (kind == DELTA_FORGET)
		d.forget.sum = &sum;
	timeline_see(t, &d);
}

static bool has_line(const struct timeline *t, const struct process *p)
{
	const struct timeline_process *tp = timeline_find(t, p);

	return tp && tp->line_count;
}

/* Who ended first makes room first, in the order of the ends; who is forgotten is in that order no longer. */
static void ended_make_room_in_order(void **state)
{
	struct pipeline *pl = pipeline_new(&(struct pipeline_options){ .timeline_points = 1 });
	struct timeline *t = pl->timeline;
	struct process *all[TIMELINE_SERIES_MIN / 2 + 5];
	const uint32_t full = TIMELINE_SERIES_MIN / 2;
	uint64_t ts_ns = 0;

	(void)state;
	for (uint32_t i = 0; i < full + 5; i++)
		all[i] = begin_process(i + 1);
	for (uint32_t i = 0; i < full; i++)
		work(t, all[i], &ts_ns, 1);
	give_delta(t, DELTA_EXIT, all[3], ++ts_ns);
	give_delta(t, DELTA_EXIT, all[1], ++ts_ns);
	give_delta(t, DELTA_EXIT, all[4], ++ts_ns);
	give_delta(t, DELTA_EXIT, all[2], ++ts_ns);
	give_delta(t, DELTA_FORGET, all[1], ++ts_ns);
	for (uint32_t i = full; i < full + 5; i++) {
		work(t, all[i], &ts_ns, 1);
		assert_int_equal(has_line(t, all[3]), i < full + 1);   /* the first takes the room of who is forgotten */
		assert_int_equal(has_line(t, all[4]), i < full + 2);
		assert_int_equal(has_line(t, all[2]), i < full + 3);
		assert_int_equal(has_line(t, all[i]), i < full + 4);
	}
	assert_true(t->dropped == 3 && t->unseen == 1 && !t->oldest && !t->newest);
	free_processes(all, full + 5);
	pipeline_free(pl);
}

/* The sum of the kernel's, NVML's and the framework's bytes means nothing: its peak has no frame. */
static void levels_have_no_peak(void **state)
{
	struct pipeline *pl = pipeline_new(&(struct pipeline_options){ .timeline_points = 1 << 20 });
	struct process *p = begin_process(1);
	const struct series *levels, *calls;
	uint64_t ts_ns = 0;

	(void)state;
	for (uint64_t bytes = 3 * MiB; bytes; bytes -= MiB) {   /* all in one slot, so a peak would need a frame */
		work(pl->timeline, p, &ts_ns, bytes == 3 * MiB);
		p->account.rows[0].physical.live = bytes;
		give_delta(pl->timeline, DELTA_CALL, p, ++ts_ns);
	}
	give_delta(pl->timeline, DELTA_WINDOW, p, ++ts_ns);
	levels = &timeline_find(pl->timeline, p)->lines[0]->levels;
	calls = &timeline_find(pl->timeline, p)->lines[0]->calls;
	assert_true(levels->frame_count == 1 && levels->sums.live == MiB);
	assert_int_equal(levels->by_why[SERIES_PEAK], 0);
	assert_int_equal(calls->by_why[SERIES_MARK], 1);
	free_processes(&p, 1);
	pipeline_free(pl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_recording),
		cmocka_unit_test(many_processes),
		cmocka_unit_test(little_room),
		cmocka_unit_test(shed_gives_back),
		cmocka_unit_test(ended_make_room_in_order),
		cmocka_unit_test(levels_have_no_peak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

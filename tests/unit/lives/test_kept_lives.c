// SPDX-License-Identifier: BSD-2-Clause
/*
 * The lives that are shown one by one, beside a taker that keeps every life: of all recordings in tests/data, and of
 * stories with many moments. A life is shown if it began or ended around a moment that is shown, or if no more than
 * 1,000 lives are larger; all others are counted.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/xalloc.h"
#include "core/lives/kept_lives.h"
#include "core/lives/largest_lives.h"
#include "core/lives/lives.h"
#include "core/lives/lives_around.h"
#include "core/pipeline/pipeline.h"
#include "each_recording.h"
#include "source/reader.h"

struct everything {
	struct life *list;
	size_t count;
};

static void take_life(void *arg, const struct life *life)
{
	struct everything *all = arg;

	all->list = xgrow(all->list, all->count, sizeof(*all->list));
	all->list[all->count++] = *life;
}

static void take_allocation(void *arg, const struct life *life)
{
	if (life->is_counted)
		take_life(arg, life);
}

/* ---- what must be shown ---- */

static bool is_near(uint64_t own, const struct kept_moment *m)
{
	return own > m->of.at.own - (m->of.at.own < AROUND_CHANGES ? m->of.at.own : AROUND_CHANGES) &&
	       own <= m->of.at.own + AROUND_CHANGES;
}

static bool has_moment(const struct kept_shown *shown, const struct life *life)
{
	bool dies = life->end == LIFE_FREED || life->end == LIFE_CHANGED || life->end == LIFE_LOST;

	for (size_t i = 0; i < shown->moment_count; i++)
		if (shown->moments[i].of.process == life->process &&
		    (is_near(life->birth.own, &shown->moments[i]) || (dies && is_near(life->death.own, &shown->moments[i]))))
			return true;
	return false;
}

static bool has_life(const struct kept_shown *shown, const struct life *life)
{
	size_t low = 0, high = shown->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct life *at = &shown->lives[middle];

		if (at->birth.change < life->birth.change ||
		    (at->birth.change == life->birth.change && at->is_block < life->is_block))
			low = middle + 1;
		else
			high = middle;
	}
	return low < shown->count && shown->lives[low].birth.change == life->birth.change &&
	       shown->lives[low].bytes == life->bytes && shown->lives[low].death.change == life->death.change;
}

static int compare_bytes(const void *left, const void *right)
{
	const struct life *a = left, *b = right;

	return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

/* The bytes from which on a life is one of the largest. */
static uint64_t least_of_largest(const struct everything *all)
{
	struct life *sorted = xcalloc(all->count + 1, sizeof(*sorted));
	uint64_t least = 0;
	size_t count = 0;

	for (size_t i = 0; i < all->count; i++)
		if (!all->list[i].is_segment)
			sorted[count++] = all->list[i];
	qsort(sorted, count, sizeof(*sorted), compare_bytes);
	if (count > LARGEST_LIVES)
		least = sorted[LARGEST_LIVES].bytes;
	free(sorted);
	return least;
}

static void check_shown(const struct everything *all, const struct kept_shown *shown)
{
	uint64_t least = least_of_largest(all), seen = shown->unseen;

	for (size_t i = 0; i < all->count; i++) {
		const struct life *life = &all->list[i];
		bool is_large = !life->is_segment && life->bytes > least;

		if ((has_moment(shown, life) || is_large) && !has_life(shown, life))
			fail_msg("the life that began at change %ju with %ju bytes is not shown", (uintmax_t)life->birth.change,
				 (uintmax_t)life->bytes);
	}
	for (size_t i = 0; i < shown->count; i++) {
		const struct life *life = &shown->lives[i];

		assert_true(has_moment(shown, life) || (!life->is_segment && life->bytes >= least));
		assert_true(!i || life[-1].birth.change < life->birth.change);
	}
	for (size_t i = 0; i < shown->seen_count; i++)
		seen += shown->seen[i].lives;
	assert_int_equal(seen, all->count);
}

/* ---- recordings ---- */

static size_t replay(const char *path, bool keeps_all)
{
	struct pipeline_options options = { .watches_requests = true, .keeps_lives = true, .keeps_all_lives = keeps_all };
	struct everything all = { 0 };
	const struct life_taker taker = { .arg = &all, .allocation = take_allocation, .block = take_life };
	const struct gmt_hdr *hdr;
	struct kept_shown shown;
	struct pipeline *pl = pipeline_new(&options);
	struct reader *reader;
	size_t count;

	pipeline_tell(pl, &taker);
	assert_int_equal(reader_open(&reader, path), 0);
	while ((hdr = reader_next(reader)))
		pipeline_apply(pl, hdr, hdr->size);
	reader_close(reader);
	kept_lives_show(pl->kept_lives, pl->lives, &shown);
	lives_finish(pl->lives);
	if (keeps_all)
		assert_int_equal(shown.count, all.count);
	else
		check_shown(&all, &shown);
	count = all.count - shown.count;
	kept_shown_free(&shown);
	free(all.list);
	pipeline_free(pl);
	return count;
}

static void replay_twice(void *left_out, const char *path)
{
	*(size_t *)left_out += replay(path, false);
	assert_int_equal(replay(path, true), 0);
}

static void every_recording(void **state)
{
	size_t left_out = 0;

	(void)state;
	each_recording(replay_twice, &left_out);
	assert_true(left_out > 1000);
}

/* ---- stories ---- */

#define STEPS 60000

static uint64_t random_number(uint64_t *state)
{
	return *state = hash_mix(*state + 0x9e3779b97f4a7c15ULL);
}

/* Memory grows to a new peak and falls, again and again, while moments come. */
static void tell_story(const struct life_taker *kept, struct everything *all, unsigned int mark_each)
{
	struct life alive[512];
	uint64_t random = mark_each, live = 0, peak = 0;
	unsigned int count = 0;

	for (uint64_t change = 1; change <= STEPS; change++) {
		struct life_point now = { change, change, change };
		bool grows = count < 512 && (!count || random_number(&random) % 1000 < (change / 5000 % 2 ? 450 : 550));

		if (grows) {
			uint64_t bytes = random_number(&random) % 5000 + 1;

			alive[count++] = (struct life){ .birth = now, .bytes = bytes, .process = 1, .is_counted = true };
			live += bytes;
		} else {
			unsigned int index = (unsigned int)(random_number(&random) % count);
			struct life life = alive[index];

			life.end = LIFE_FREED;
			life.death = now;
			alive[index] = alive[--count];
			live -= life.bytes;
			kept->allocation(kept->arg, &life);
			take_life(all, &life);
		}
		if (live > peak) {
			peak = live;
			kept->peak(kept->arg, &(struct life_moment){ .why = LIFE_AT_PEAK, .at = now, .process = 1 }, false);
		}
		if (mark_each && !(change % mark_each))
			kept->moment(kept->arg, &(struct life_moment){
				.why = change % (7 * mark_each) ? LIFE_AT_WINDOW : LIFE_AT_REQUEST, .at = now, .process = 1,
			});
	}
	for (unsigned int i = 0; i < count; i++) {
		alive[i].end = LIFE_EXIT;
		alive[i].death = (struct life_point){ STEPS + 1, STEPS + 1, STEPS + 1 };
		kept->allocation(kept->arg, &alive[i]);
		take_life(all, &alive[i]);
	}
}

static void many_moments(void **state)
{
	static const unsigned int mark_each[] = { 0, 20000, 700, 90 };

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct kept_lives *kept = kept_lives_new(false);
		struct pipeline *none = pipeline_new(NULL);
		struct lives *lives = lives_new(none->ledger, none->frameworks);
		struct everything all = { 0 };
		struct kept_shown shown;

		tell_story(kept_lives_taker(kept), &all, mark_each[i]);
		kept_lives_show(kept, lives, &shown);
		assert_true(shown.moment_count <= AROUND_MOMENTS + 1u);
		assert_true(shown.count < 1000 + 2 * 2 * AROUND_CHANGES * (AROUND_MOMENTS + 1));
		if (mark_each[i])
			assert_int_equal(shown.moments_left_out + shown.moment_count - 1, STEPS / mark_each[i]);
		check_shown(&all, &shown);
		kept_shown_free(&shown);
		kept_lives_free(kept);
		lives_free(lives);
		pipeline_free(none);
		free(all.list);
	}
}

/* ---- bounds ---- */

#define PROCESSES (KEPT_PROCESSES + 44)

struct scene {
	struct kept_lives *kept;
	struct pipeline *none;
	struct lives *lives;
	struct everything all;
	const struct life_taker *to;
};

static void begin_scene(struct scene *s, bool keeps_all)
{
	*s = (struct scene){ .kept = kept_lives_new(keeps_all), .none = pipeline_new(NULL) };
	s->lives = lives_new(s->none->ledger, s->none->frameworks);
	s->to = kept_lives_taker(s->kept);
}

static void end_scene(struct scene *s)
{
	lives_free(s->lives);
	pipeline_free(s->none);
	kept_lives_free(s->kept);
	free(s->all.list);
}

static struct life_moment moment_of(uint32_t process, enum life_why why, uint64_t own, uint32_t number)
{
	return (struct life_moment){ .why = why, .at = { own, own, own }, .process = process, .number = number };
}

/* Each process has a life, and a request that fails beside it. */
static void live_once(struct scene *s, uint32_t process, uint64_t bytes)
{
	struct life life = {
		.birth = { 2ull * process, process, 1 }, .death = { 2ull * process + 1, process, 2 }, .end = LIFE_FREED,
		.bytes = bytes, .process = process, .is_counted = true,
	};
	struct life_moment request = moment_of(process, LIFE_AT_REQUEST, 1, process);

	s->to->moment(s->to->arg, &request);
	request.gpu = 1;
	s->to->moment(s->to->arg, &request);
	s->to->allocation(s->to->arg, &life);
	take_life(&s->all, &life);
}

static void too_many_processes(void **state)
{
	struct kept_shown shown;
	struct scene s;

	(void)state;
	begin_scene(&s, false);
	for (uint32_t process = 1; process <= PROCESSES; process++)
		live_once(&s, process, process);
	kept_lives_show(s.kept, s.lives, &shown);
	assert_int_equal(shown.moment_count, KEPT_PROCESSES);
	assert_int_equal(shown.moments_left_out, PROCESSES - KEPT_PROCESSES);
	assert_int_equal(shown.processes_left_out, PROCESSES - KEPT_PROCESSES);
	assert_int_equal(shown.unseen, PROCESSES - KEPT_PROCESSES);
	kept_shown_free(&shown);
	s.to->exit(s.to->arg, 7);
	s.to->exit(s.to->arg, 3);
	live_once(&s, PROCESSES + 1, 1);
	kept_lives_show(s.kept, s.lives, &shown);
	check_shown(&s.all, &shown);
	assert_int_equal(shown.processes_left_out, PROCESSES - KEPT_PROCESSES + 1);
	assert_int_equal(shown.moments_left_out, PROCESSES - KEPT_PROCESSES + 1);
	for (size_t i = 0; i < shown.moment_count; i++)
		assert_int_not_equal(shown.moments[i].of.process, 7);   /* has ended first */
	assert_int_equal(shown.moments[2].of.process, 3);
	assert_int_equal(shown.moments[shown.moment_count - 1].of.process, PROCESSES + 1);
	kept_shown_free(&shown);
	end_scene(&s);
}

/* A process that is forgotten is not shown, and its lives are counted. */
static void forgotten_processes(void **state)
{
	struct kept_shown shown;
	struct scene s;

	(void)state;
	begin_scene(&s, false);
	for (uint32_t process = 1; process <= PROCESSES; process++)
		live_once(&s, process, process);
	for (uint32_t process = 1; process <= PROCESSES; process++)
		s.to->forget(s.to->arg, process);
	kept_lives_show(s.kept, s.lives, &shown);
	assert_int_equal(shown.unseen, PROCESSES);
	assert_true(!shown.count && !shown.seen_count);
	kept_shown_free(&shown);
	end_scene(&s);
}

static void all_is_all(void **state)
{
	struct kept_shown shown;
	struct scene s;

	(void)state;
	begin_scene(&s, true);
	for (uint32_t process = 1; process <= PROCESSES; process++)
		live_once(&s, process, process);
	for (uint64_t own = 1; own <= 2 * AROUND_MOMENTS; own++) {
		struct life_moment window = moment_of(1, LIFE_AT_WINDOW, own, 0);

		s.to->moment(s.to->arg, &window);
	}
	kept_lives_show(s.kept, s.lives, &shown);
	assert_int_equal(shown.count, s.all.count);
	assert_int_equal(shown.moment_count, PROCESSES + 2 * AROUND_MOMENTS);
	assert_true(!shown.unseen && !shown.moments_left_out && !shown.processes_left_out);
	kept_shown_free(&shown);
	end_scene(&s);
}

/* Between requests that fail at once nothing changes: the same lives are around all of them. */
static void many_requests_at_once(void **state)
{
	struct life_moment moment;
	struct kept_shown shown;
	struct scene s;

	(void)state;
	begin_scene(&s, false);
	for (uint32_t number = 1; number <= 5 * AROUND_MOMENTS; number++) {
		moment = moment_of(1, number == 1 ? LIFE_AT_WINDOW : LIFE_AT_REQUEST, number == 1 ? 1 : 1000, number);
		s.to->moment(s.to->arg, &moment);
		moment = moment_of(1, LIFE_AT_WINDOW, 1000, 0);
		if (number > 1)
			s.to->moment(s.to->arg, &moment);
	}
	kept_lives_show(s.kept, s.lives, &shown);
	assert_int_equal(shown.moment_count, 3);
	assert_int_equal(shown.moments[0].of.at.own, 1);
	assert_int_equal(shown.moments_left_out, 0);
	kept_shown_free(&shown);
	end_scene(&s);
}

static void many_peaks(void **state)
{
	struct lives_around around = { 0 };

	(void)state;
	for (unsigned int i = 0; i < 3 * (AROUND_PEAKS + 10); i++) {
		struct life_moment peak = moment_of(1, LIFE_AT_PEAK, 1 + i, 0);

		peak.gpu = (int16_t)(i % (AROUND_PEAKS + 10));
		peak.ordinal = LIFE_NO_ORDINAL;
		lives_around_peak(&around, &peak, false);
	}
	assert_int_equal(around.peak_count, AROUND_PEAKS);
	assert_int_equal(around.left_out, 10);
	assert_int_equal(lives_around_moments(&around), AROUND_PEAKS + 10);
	lives_around_fini(&around);
}

/* Where a peak has moved away, the memory of its lives goes, too; and what lacks room is counted. */
static void room_comes_back(void **state)
{
	struct life_moment peak = moment_of(1, LIFE_AT_PEAK, 100, 0);
	struct life life = { .birth = { 100, 100, 100 }, .death = { 900, 900, 900 }, .end = LIFE_FREED };
	struct lives_around around = { 0 };
	uint64_t room = 3000;

	(void)state;
	lives_around_peak(&around, &peak, false);
	for (unsigned int i = 0; i < AROUND_LIVES; i++)
		lives_around_keep(&around, &life, &room);
	assert_int_equal(around.peaks[0].room, AROUND_LIVES);
	assert_int_equal(around.lives_left_out, 0);
	lives_around_keep(&around, &life, &room);
	assert_int_equal(around.lives_left_out, 1);
	peak.at.own = life.birth.own = life.death.own = 5000;
	lives_around_peak(&around, &peak, false);
	lives_around_keep(&around, &life, &room);
	assert_int_equal(room, 2999);
	assert_true(around.peaks[0].count == 1 && around.peaks[0].room <= 64);
	lives_around_fini(&around);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_recording),
		cmocka_unit_test(many_moments),
		cmocka_unit_test(too_many_processes),
		cmocka_unit_test(forgotten_processes),
		cmocka_unit_test(all_is_all),
		cmocka_unit_test(many_requests_at_once),
		cmocka_unit_test(many_peaks),
		cmocka_unit_test(room_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-2-Clause
#include "core/lives/lives_around.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#define FIRST_ROOM 64

void lives_around_fini(struct lives_around *around)
{
	for (uint32_t i = 0; i < around->moment_count; i++)
		free(around->moments[i].list);
	for (uint32_t i = 0; i < around->peak_count; i++)
		free(around->peaks[i].list);
	free(around->moments);
	free(around->peaks);
	free(around->waiting);
	*around = (struct lives_around){ 0 };
}

uint32_t lives_around_moments(const struct lives_around *around)
{
	return around->left_out + around->moment_count + around->peak_count;
}

void lives_around_shed(struct lives_around *around)
{
	uint32_t left_out = lives_around_moments(around);

	lives_around_fini(around);
	around->left_out = left_out;
}

/* ---- which lives are around a moment ---- */

static bool is_near_moment(const struct life_point *at, const struct life_moment *moment)
{
	return at->own + AROUND_CHANGES > moment->at.own && at->own <= moment->at.own + AROUND_CHANGES;
}

/* Where a program ends, all its memory goes, and none of this is an event. */
static bool has_death(const struct life *life)
{
	return life->end == LIFE_FREED || life->end == LIFE_CHANGED || life->end == LIFE_LOST;
}

static bool is_around(const struct around_moment *m, const struct life *life)
{
	return is_near_moment(&life->birth, &m->of) || (has_death(life) && is_near_moment(&life->death, &m->of));
}

bool lives_around_has(const struct lives_around *around, const struct life *life)
{
	for (uint32_t i = 0; i < around->moment_count; i++)
		if (is_around(&around->moments[i], life))
			return true;
	for (uint32_t i = 0; i < around->peak_count; i++)
		if (is_around(&around->peaks[i], life))
			return true;
	return false;
}

/* ---- keeping ---- */

static void resize_list(struct around_moment *m, uint32_t room)
{
	m->room = room;
	m->list = xreallocarray(m->list, room, sizeof(*m->list));
}

/* A peak that has moved leaves lives behind. */
static void drop_far(struct around_moment *m, uint64_t *room)
{
	uint32_t kept = 0, wanted = m->room;

	for (uint32_t i = 0; i < m->count; i++)
		if (is_around(m, &m->list[i]))
			m->list[kept++] = m->list[i];
	*room += m->count - kept;
	m->count = kept;
	while (wanted > FIRST_ROOM && kept < wanted / 4)
		wanted /= 2;
	if (wanted != m->room)
		resize_list(m, wanted);
}

static bool keep_life(struct around_moment *m, const struct life *life, uint64_t *room)
{
	if (m->count == m->room) {
		drop_far(m, room);
		if (m->count >= m->room / 2 && m->room < AROUND_LIVES)
			resize_list(m, m->room ? 2 * m->room : FIRST_ROOM);
	}
	if (m->count == m->room || !*room)
		return false;
	m->list[m->count++] = *life;
	--*room;
	return true;
}

/* A moment stays, so one of them is enough; a peak may move away, and another one stay. */
void lives_around_keep(struct lives_around *around, const struct life *life, uint64_t *room)
{
	bool is_wanted = false, is_kept = false;

	for (uint32_t i = 0; i < around->moment_count; i++)
		if (is_around(&around->moments[i], life)) {
			around->lives_left_out += !keep_life(&around->moments[i], life, room);
			return;
		}
	for (uint32_t i = 0; i < around->peak_count; i++)
		if (is_around(&around->peaks[i], life)) {
			is_wanted = true;
			is_kept |= keep_life(&around->peaks[i], life, room);
		}
	around->lives_left_out += is_wanted && !is_kept;
}

bool lives_around_wait(struct lives_around *around, const struct life *life, struct life *decided)
{
	uint32_t place = (around->first + around->waiting_count) % AROUND_CHANGES;
	bool is_full = around->waiting_count == AROUND_CHANGES;

	if (!around->waiting)
		around->waiting = xcalloc(AROUND_CHANGES, sizeof(*around->waiting));
	if (is_full) {
		*decided = around->waiting[place];
		around->first = (around->first + 1) % AROUND_CHANGES;
	} else {
		around->waiting_count++;
	}
	around->waiting[place] = *life;
	return is_full;
}

/* ---- moments ---- */

static uint32_t find_unwanted(const struct lives_around *around)
{
	for (uint32_t i = 0; i < around->moment_count; i++)
		if (around->moments[i].of.why != LIFE_AT_REQUEST)
			return i;
	return 0;
}

/* Its lives may be around another moment, too. */
static void drop_moment(struct lives_around *around, uint32_t index, uint64_t *room)
{
	struct around_moment *m = &around->moments[index], old = *m;

	around->moment_count--;
	around->left_out++;
	memmove(m, m + 1, (around->moment_count - index) * sizeof(*m));
	*room += old.count;
	for (uint32_t i = 0; i < old.count; i++)
		lives_around_keep(around, &old.list[i], room);
	free(old.list);
}

/* Moments at one change have the same lives around them, so one of each kind is enough. */
static bool has_moment(const struct lives_around *around, const struct life_moment *moment)
{
	for (uint32_t i = around->moment_count; i && around->moments[i - 1].of.at.own == moment->at.own; i--)
		if (around->moments[i - 1].of.why == moment->why)
			return true;
	return false;
}

void lives_around_moment(struct lives_around *around, const struct life_moment *moment, uint64_t *room)
{
	if (has_moment(around, moment))
		return;
	if (around->moment_count == AROUND_MOMENTS && !around->keeps_all)
		drop_moment(around, find_unwanted(around), room);
	around->moments = xgrow(around->moments, around->moment_count, sizeof(*around->moments));
	around->moments[around->moment_count++] = (struct around_moment){ .of = *moment };
}

/* The peak comes again and again while it moves. */
static void lose_peak(struct lives_around *around, const struct life_moment *moment, bool is_of_blocks)
{
	unsigned int number = is_of_blocks ? 256u + moment->ordinal : (uint8_t)moment->gpu;
	uint64_t *word = &around->lost_peaks[number / 64], bit = 1ULL << number % 64;

	around->left_out += !(*word & bit);
	*word |= bit;
}

void lives_around_peak(struct lives_around *around, const struct life_moment *moment, bool is_of_blocks)
{
	for (uint32_t i = 0; i < around->peak_count; i++) {
		struct around_moment *m = &around->peaks[i];

		if (m->is_of_blocks == is_of_blocks &&
		    (is_of_blocks ? m->of.ordinal == moment->ordinal : m->of.gpu == moment->gpu)) {
			m->of = *moment;
			return;
		}
	}
	if (around->peak_count == AROUND_PEAKS && !around->keeps_all) {
		lose_peak(around, moment, is_of_blocks);
		return;
	}
	around->peaks = xgrow(around->peaks, around->peak_count, sizeof(*around->peaks));
	around->peaks[around->peak_count++] = (struct around_moment){ .of = *moment, .is_of_blocks = is_of_blocks };
}

uint32_t lives_around_count(const struct lives_around *around)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < around->moment_count; i++)
		count += around->moments[i].count;
	for (uint32_t i = 0; i < around->peak_count; i++)
		count += around->peaks[i].count;
	return count;
}

static void each_of(const struct around_moment *moments, uint32_t count, void (*fn)(void *arg, const struct life *life),
		    void *arg)
{
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t n = 0; n < moments[i].count; n++)
			fn(arg, &moments[i].list[n]);
}

void lives_around_each(const struct lives_around *around, void (*fn)(void *arg, const struct life *life), void *arg)
{
	each_of(around->moments, around->moment_count, fn, arg);
	each_of(around->peaks, around->peak_count, fn, arg);
	for (uint32_t i = 0; i < around->waiting_count; i++)
		fn(arg, &around->waiting[(around->first + i) % AROUND_CHANGES]);
}

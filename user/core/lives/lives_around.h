/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lives of one process that began or ended around a moment: a peak, a failed request, a mark.
 *
 * A life that has ended waits until so many others have ended after it that no later moment can have it around itself.
 * Then the moments so far decide. A peak moves while memory grows, and leaves behind what is no longer around it.
 */
#ifndef GPUMEMTRACE_CORE_LIVES_LIVES_AROUND_H
#define GPUMEMTRACE_CORE_LIVES_LIVES_AROUND_H

#include <stdbool.h>
#include <stdint.h>

#include "core/terms/lives_told.h"

#define AROUND_CHANGES 250   /* of the process before a moment, and so many after it */
#define AROUND_MOMENTS 32    /* failed requests and marks: the newest stay, and requests rather than marks */
#define AROUND_PEAKS 64      /* of a process on GPUs, and of frameworks' blocks on devices */
#define AROUND_LIVES 2048    /* of a moment: more than so many changes can have */
#define AROUND_LOST_PEAKS 512 /* numbers of GPUs, then of devices */

struct around_moment {
	struct life_moment of;
	bool is_of_blocks;       /* PEAK: of a framework's blocks on a device */
	struct life *list;
	uint32_t count, room;
};

/* All 0: nothing is kept yet. */
struct lives_around {
	struct life *waiting;    /* a ring */
	uint32_t first, waiting_count;
	struct around_moment *moments, *peaks;
	uint32_t moment_count, peak_count;
	uint32_t left_out;       /* moments that are not there */
	uint64_t lives_left_out; /* at most so many lives around moments, for want of room */
	uint64_t lost_peaks[AROUND_LOST_PEAKS / 64]; /* bits: peaks for which there was no room, each counted once */
	bool keeps_all;          /* moments and peaks without a bound */
};

void lives_around_fini(struct lives_around *around);
/* Forgets all moments, and their lives: counts the moments. */
void lives_around_shed(struct lives_around *around);

/* A life has ended. Returns whether one is decided now: the one that has waited longest, in `decided`. */
bool lives_around_wait(struct lives_around *around, const struct life *life, struct life *decided);
/* Keeps the life if it is around a moment. room: lives that may still be kept, of all processes. */
void lives_around_keep(struct lives_around *around, const struct life *life, uint64_t *room);
/* Whether a life is around a moment that is there now. */
bool lives_around_has(const struct lives_around *around, const struct life *life);

void lives_around_moment(struct lives_around *around, const struct life_moment *moment, uint64_t *room);
void lives_around_peak(struct lives_around *around, const struct life_moment *moment, bool is_of_blocks);

/* Moments so far, with those that are not there. */
uint32_t lives_around_moments(const struct lives_around *around);
/* Lives that take room. */
uint32_t lives_around_count(const struct lives_around *around);
/* Calls fn for each life that is kept or waits. A life may come twice. */
void lives_around_each(const struct lives_around *around, void (*fn)(void *arg, const struct life *life), void *arg);

#endif

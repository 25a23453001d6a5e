/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lives (lives_told.h) of device memory that are shown one by one: those around peaks, failed requests and marks
 * (lives_around.h), and the largest; or all of them. Takes lives as they end. What is not kept is counted. Where
 * memory is short, the lives so far are given up, but not of those who asked for all of them.
 */
#ifndef GPUMEMTRACE_CORE_LIVES_KEPT_LIVES_H
#define GPUMEMTRACE_CORE_LIVES_KEPT_LIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/terms/lives_told.h"

#define KEPT_PROCESSES 256     /* for more, the process that ended first makes room */
#define KEPT_AROUND (1 << 17) /* lives around all moments together: 17 MiB */

struct kept_lives;
struct lives;

/* keeps_all: each life, without a bound. */
struct kept_lives *kept_lives_new(bool keeps_all);
void kept_lives_free(struct kept_lives *kept);   /* NULL is fine */
const struct life_taker *kept_lives_taker(const struct kept_lives *kept);

struct kept_moment {
	struct life_moment of;
	bool is_of_blocks;       /* PEAK: of a framework's blocks on a device */
};

/* Lives on one GPU, with those that are not kept. */
struct kept_count {
	uint32_t process;
	int16_t gpu;
	uint64_t lives;
};

struct kept_shown {
	struct life *lives;      /* each once, in the order of their births */
	size_t count;
	struct kept_moment *moments;
	size_t moment_count;
	struct kept_count *seen;
	size_t seen_count;
	uint64_t moments_left_out;
	uint64_t around_left_out; /* at most so many lives around moments, for want of room */
	uint64_t processes_left_out; /* without moments, for want of room */
	uint64_t unseen;         /* lives of these, and of forgotten processes */
	bool keeps_all;
	uint64_t shed_ns;        /* when memory was short, and all lives until then were given up; 0: never */
};

/* Copies what is kept, with what is alive now. */
void kept_lives_show(const struct kept_lives *kept, const struct lives *lives, struct kept_shown *out);
void kept_shown_free(struct kept_shown *shown);

#endif

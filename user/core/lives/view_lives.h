/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of a view (view.h) about single allocations and blocks: when each was made and freed, by whom, and for
 * what. */
#ifndef GPUMEMTRACE_CORE_LIVES_VIEW_LIVES_H
#define GPUMEMTRACE_CORE_LIVES_VIEW_LIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/terms/lives_told.h"

struct view_life {
	uint64_t birth_ns, death_ns; /* death_ns: 0 where it lives on */
	uint64_t bytes;
	uint32_t stack;          /* index in view.stacks */
	uint32_t asked;          /* likewise: the stack that waited for it (waiting.h); else the same */
	uint32_t proc, row;      /* index in view.procs, and in the rows there */
	uint32_t iteration;      /* of a block: in which it was made; 0: not known */
	uint8_t what;            /* of a block: enum gmt_category; else enum gmt_class */
	uint8_t end;             /* enum life_end */
	bool is_block;
	bool is_segment;         /* a framework's blocks lie in such memory */
	bool continues;          /* an earlier life of the same memory */
};

/* A moment around which lives are kept. */
struct view_life_moment {
	uint64_t ts_ns;
	enum life_why why;
	bool is_of_blocks;
	uint32_t proc, row;
};

struct view_lives {
	struct view_life *list;  /* in the order of births */
	size_t count;
	struct view_life_moment *moments; /* in the order of time */
	size_t moment_count;
	uint64_t left_out;       /* lives that are not in the list */
	uint64_t moments_left_out;
	uint64_t around_left_out; /* of left_out, at most so many around moments, for want of room */
	uint64_t processes_left_out; /* without moments, for want of room */
	bool is_all;             /* each life of these rows is in the list */
	uint64_t shed_ns;        /* gpumemtrace's memory was short: earlier lives are left out; 0: never */
};

void view_lives_free(struct view_lives *lives);   /* NULL is fine */

#endif

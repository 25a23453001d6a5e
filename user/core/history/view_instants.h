/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of a view (view.h) about instants: where segments and blocks of device memory lay. */
#ifndef GPUMEMTRACE_CORE_HISTORY_VIEW_INSTANTS_H
#define GPUMEMTRACE_CORE_HISTORY_VIEW_INSTANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(NAME, name) */
#define INSTANT_WHYS(X)                                                           \
	X(PEAK, "peak")          /* the framework's blocks were most; without a framework, the segments */ \
	X(REQUEST, "request")    /* a request for device memory failed */         \
	X(MARK, "mark")          /* somebody asked for a new window */            \
	X(END, "end")            /* the end of the process, or of the records */
enum instant_why {
#define X(name, text) INSTANT_##name,
	INSTANT_WHYS(X)
#undef X
};

struct view_placed_block {
	uint64_t address, bytes;
	uint64_t asked;          /* bytes that the program asked for; 0: not known */
	uint64_t born_ns;        /* 0: not seen */
	uint32_t stack, waiting; /* indices in view.stacks: its own, and the stack that waited for it; else the same */
	uint8_t purpose;         /* enum gmt_category */
};

/* A segment of no framework's has no block: all of it is used. */
struct view_placed_segment {
	uint64_t address, bytes;
	uint64_t born_ns;
	uint64_t held;           /* bytes of its blocks */
	size_t first_block, block_count; /* by address */
	uint32_t stack, waiting; /* likewise */
	bool is_frameworks, is_expandable, is_guessed;
};

#define VIEW_INSTANT_NO_ROW UINT32_MAX

struct view_instant {
	enum instant_why why;
	uint64_t ts_ns;
	uint32_t proc;           /* index in view.procs */
	uint32_t row;            /* in the rows there; VIEW_INSTANT_NO_ROW: nobody knows the GPU */
	uint64_t asked;          /* REQUEST: bytes */
	struct view_placed_segment *segments; /* by address */
	size_t segment_count;
	struct view_placed_block *blocks;
	size_t block_count;
	uint64_t unseen;         /* bytes of blocks from before tracing began, which lie nowhere */
	/* On all GPUs of the process, what lacks for want of room: */
	uint64_t segments_left_out, bytes_left_out, held_left_out, blocks_left_out;
};

struct view_instants {
	struct view_instant *list; /* by process and GPU, in the order of time */
	size_t count;
	uint64_t left_out;       /* older instants that are no longer there */
};

void view_instants_free(struct view_instants *instants);   /* NULL is fine */

#endif

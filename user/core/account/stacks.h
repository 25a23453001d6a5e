/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory by stack: what each stack id holds now, held when the sum of all was highest, and held at the marks that
 * growth is counted from. One struct stacks is one sum: a process on one GPU, or the memory of a process that lies on
 * none.
 *
 * Every change takes the same few steps however many stacks there are: what a stack held at the peak, or at a mark, is
 * only written down when the stack changes for the first time after that.
 *
 * What comes and goes is more at one moment and less at another, and looks like growth by chance. So each stack also
 * has the least that it held between two marks: only what stays raises the least.
 *
 * The one invariant: over all stacks, live sums to the total's live, and at_peak to its peak, exactly.
 */
#ifndef GPUMEMTRACE_CORE_ACCOUNT_STACKS_H
#define GPUMEMTRACE_CORE_ACCOUNT_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

#define STACKS_GROWTH_MARKS 3      /* of those by time, the first: the time between two of them has a least */
#define STACKS_PROCESS_MARKS 6     /* by time, of all memory of a process */
#define STACKS_ITERATION_MARKS 3   /* by a framework's iterations, of its blocks */
#define STACKS_MARKS (STACKS_PROCESS_MARKS + STACKS_ITERATION_MARKS)

struct stack {
	uint32_t id;             /* 0: none */
	uint32_t count;          /* live allocations */
	uint64_t live;
	uint64_t changed;        /* the last change of this stack: struct stacks.changes then */
	uint64_t at_peak;        /* good if the stack changed after the peak; else it held what is live */
	uint64_t at_mark[STACKS_MARKS]; /* good if the stack changed after the mark; else it held what is live */
	uint64_t least[STACKS_GROWTH_MARKS]; /* from the mark to the next one; good like at_mark */
	uint64_t least_at_peak[STACKS_GROWTH_MARKS]; /* the same until the peak; good like at_peak */
	uint64_t allocs, frees, alloc_bytes;
};

struct stacks {
	struct stack *list;
	uint32_t count;
	uint32_t last;           /* the stack that changed last: most changes come in runs */
	struct hash by_id;       /* uint32_t: index in list */
	uint64_t live, peak, peak_ts_ns;
	uint64_t allocs;         /* over all stacks */
	uint64_t changes;        /* so far */
	uint64_t peak_change;    /* the change that made the peak */
	uint64_t mark_change[STACKS_MARKS]; /* the last one before the mark */
	uint64_t newest_mark;    /* the greatest of them */
	uint8_t newest_growth;   /* the mark of growth that was set last */
	bool is_closed;          /* what a stack without a row asks for is booked as memory without a stack */
};

/* The moments between which growth is counted. */
enum stacks_moment {
	STACKS_AT_MARK = 0,      /* + the number of the mark */
	STACKS_AT_START = STACKS_MARKS,
	STACKS_AT_PEAK,
	STACKS_NOW,
};

struct stacks_row {
	uint32_t stack_id;
	uint64_t live, at_peak;
	int64_t grown;           /* from `since` until now */
	uint64_t count;          /* live allocations */
	uint64_t allocs, frees, alloc_bytes; /* ever */
};

/* How much a stack has risen between the first and the last of three moments, and between the last two. */
enum { STACKS_RISE_SINCE, STACKS_RISE_LATER, STACKS_RISE_UNTIL, STACKS_RISE_MOMENTS };
struct stacks_rise {
	int64_t all, later;
	int64_t least;           /* of the least in the first part to the least in the second */
	uint64_t then;           /* held at the first */
	int64_t each;            /* over the iterations of view_stacks.iterations */
};

/* Whether memory has risen in both parts of the time, stays, and was there before: no start-up. */
static inline bool stacks_is_steady(const struct stacks_rise *rise)
{
	return rise->all > rise->later && rise->later > 0 && rise->least > 0 && rise->then > 0;
}

void stacks_init(struct stacks *s);     /* allocates nothing */
void stacks_fini(struct stacks *s);

void stacks_add(struct stacks *s, uint32_t id, uint64_t bytes, uint64_t ts_ns);
void stacks_remove(struct stacks *s, uint32_t id, uint64_t bytes);
/* Takes stacks_remove() back. */
void stacks_restore(struct stacks *s, uint32_t id, uint64_t bytes, uint64_t ts_ns);
/* Moves a live allocation with its past. A stack that loses the only allocation it ever had loses its peak, too. */
void stacks_move(struct stacks *from, struct stacks *to, uint32_t id, uint64_t bytes, uint64_t ts_ns);
/* A live allocation turns out to have another size. */
void stacks_resize(struct stacks *s, uint32_t id, uint64_t old_bytes, uint64_t bytes, uint64_t ts_ns);
/* Nothing lives any longer. No frees are counted. */
void stacks_drop(struct stacks *s);

/* Takes no new stacks from now on: no row is added, but that of memory without a stack. For ever, as memory must be
 * freed from the row that it was booked in. */
void stacks_close(struct stacks *s);

/* Growth since `mark` (below STACKS_MARKS) counts from here. */
void stacks_mark(struct stacks *s, unsigned int mark);
/* The peak begins anew at what is live. */
void stacks_restart(struct stacks *s, uint64_t ts_ns);

/* Stack `index` (below s->count), in order of appearance. */
void stacks_row(const struct stacks *s, uint32_t index, unsigned int since, struct stacks_row *row);
/* What it held at a moment (enum stacks_moment). */
uint64_t stacks_held(const struct stacks *s, uint32_t index, unsigned int moment);
/* The same over all stacks. */
uint64_t stacks_sum(const struct stacks *s, unsigned int moment);
struct stacks_rise stacks_rise(const struct stacks *s, uint32_t index, const unsigned int at[STACKS_RISE_MOMENTS]);

#endif

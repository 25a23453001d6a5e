/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Live memory by stack: what each unique stack holds now, held when the sum of all was highest, and has
 * gained since a mark. One of these stands for one sum (a process, or one of its GPUs).
 *
 * Every change takes the same few steps however many stacks there are: a stack's bytes at the peak, or
 * at the mark, are only written down when it changes for the first time after that.
 *
 * The one invariant: over all stacks, live sums to the total's live, and at_peak to its peak, exactly.
 */
#ifndef GPUMEMTRACE_CORE_STACKS_H
#define GPUMEMTRACE_CORE_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/slab.h"

struct stacks {
	struct hash by_id;       /* stack id -> index in stacks */
	struct slab stacks;      /* struct stack */
	struct slab items;       /* struct item: a live allocation */
	uint64_t live, peak, peak_ts_ns;
	uint64_t count;          /* live allocations */
	uint64_t changes;        /* so far */
	uint64_t peak_change;    /* the change that made the peak */
	uint64_t mark_change;    /* the last one before the mark */
	uint64_t mark_ts_ns;
};

/* X(NAME, member, text): what stacks can be sorted by, greatest first. */
#define STACKS_ORDERS(X)                                                          \
	X(LIVE, live, "live")                                                     \
	X(PEAK, at_peak, "at the peak")                                           \
	X(GROWN, grown, "growth")                                                 \
	X(OLD, old_bytes, "old")
enum stacks_order {
#define X(name, member, text) STACKS_BY_##name,
	STACKS_ORDERS(X)
#undef X
	STACKS_ORDER_COUNT
};

struct stacks_row {
	uint64_t stack_id;       /* of a row of stacks_by_owner(): the owner */
	uint64_t live, at_peak;
	int64_t grown;           /* since the mark; without one, since the start */
	uint64_t count;          /* live allocations */
	uint64_t allocs, frees, alloc_bytes; /* ever */
	uint64_t oldest_ts_ns;   /* of the live ones, 0 without any */
	uint64_t old_bytes, old_count; /* those allocated before the query's `before_ts_ns` */
};

void stacks_init(struct stacks *s);
void stacks_fini(struct stacks *s);

/* Returns the allocation's handle, never 0, for stacks_remove(). Stack id 0 stands for "no stack". */
uint32_t stacks_add(struct stacks *s, uint64_t stack_id, uint64_t size_bytes, uint64_t ts_ns);
void stacks_remove(struct stacks *s, uint32_t item);
/* Several removes that are one event (a process ends, a pool is trimmed) need nothing special: sums only
 * sink. */

void stacks_mark(struct stacks *s, uint64_t ts_ns); /* growth counts from here */

/* The rows with something in the order's column, greatest first (ties: by id), at most `most`, into `rows`; returns
 * their number. `before_ts_ns` is for the old_ columns, 0: they stay 0. */
size_t stacks_top(const struct stacks *s, enum stacks_order order, uint64_t before_ts_ns, struct stacks_row *rows,
		  size_t most);
/* Number of different stacks seen: enough rows for all. */
size_t stacks_count(const struct stacks *s);
bool stacks_get(const struct stacks *s, uint64_t stack_id, uint64_t before_ts_ns, struct stacks_row *row);

/* The same summed by what owner_of() says about a stack (a small number below `owners`; others are left out).
 * `rows` has `owners` places, row i is of owner i. */
typedef uint32_t (*stacks_owner_fn)(void *arg, uint64_t stack_id);
void stacks_by_owner(const struct stacks *s, stacks_owner_fn owner_of, void *arg, uint64_t before_ts_ns,
		     struct stacks_row *rows, size_t owners);

/* Sorts rows as stacks_top() does. */
void stacks_sort(struct stacks_row *rows, size_t count, enum stacks_order order);
uint64_t stacks_value(const struct stacks_row *row, enum stacks_order order); /* negative growth: 0 */
const char *stacks_order_text(enum stacks_order order);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sums of one process: per class, and per class in each row (one row a GPU). Invariants: the sum of a class that
 * has rows is the sum over the rows. A row's `attributed` is the sum of its device-memory classes. A row's stacks hold
 * its attributed bytes, and the kernel's memory that no allocation explains. Row 0, the unknown GPU's, is always there.
 */
#ifndef GPUMEMTRACE_CORE_ACCOUNT_ACCOUNT_H
#define GPUMEMTRACE_CORE_ACCOUNT_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/rm/rm_sums.h"
#include "core/account/stacks.h"
#include "core/terms/view_levels.h"

/* The row of memory that lies on no GPU: managed, pinned, registered. */
#define ROW_NONE 255
/* The class of what is remembered, but not booked: a multicast handle, memory from before the attach. */
#define CLASS_NONE GMT_CLASS_COUNT

/* NVML's newest number, and the row as it was then. */
struct row_nvml {
	bool has;
	bool has_baseline;
	bool has_settled;        /* two baselines in a row said the same of what is from before the attach */
	bool inferred;
	uint64_t baseline;
	uint64_t before;         /* bytes of the baseline that are still there */
	/* Frees of unknown size. What they took is settled when two samples in a row say the same of `before`: a sample
	 * may have been read while memory was on its way. */
	uint64_t frees_settled;
	uint64_t frees_seen;     /* at the newest sample */
	uint64_t lowered;        /* what those that are not settled have taken off `before` */
	uint64_t used;
	uint64_t ts_ns;
	struct view_sum sum;
};

struct row {
	int gpu;
	struct view_class by_class[GMT_CLASS_COUNT];
	struct view_level attributed;
	struct view_level physical;
	struct rm_physical at_end;   /* of a process that has exited */
	unsigned int ordinal_at_end; /* likewise: CUDA's number of the GPU in the process */
	struct row_nvml nvml;
	struct stacks stacks;
};

struct account {
	struct row *rows;
	unsigned int count;
	struct view_class by_class[GMT_CLASS_COUNT];
	struct stacks stacks;        /* of managed, pinned and registered memory, which is in no row */
};

/* What is booked, and where. */
struct booking {
	unsigned int row;        /* ROW_NONE */
	unsigned int class;      /* enum gmt_class, CLASS_NONE */
	uint32_t stack_id;       /* 0: none */
	uint64_t bytes;
	uint64_t ts_ns;
};

void account_init(struct account *account);
void account_fini(struct account *account);

/* The row of a GPU, which is added if need be. There are at most GPUS_MAX + 1 rows. */
unsigned int account_row(struct account *account, int gpu);
/* The row of a GPU; the row of GPU_UNKNOWN if the GPU has none. */
unsigned int account_find_row(const struct account *account, int gpu);

/* Whether memory of the class lies on a GPU, so that it has a row. */
bool account_has_row(unsigned int class);

/* These are for book_memory() (ledger/books.h); the class is below GMT_CLASS_COUNT. */
void account_add(struct account *account, const struct booking *booking);
void account_remove(struct account *account, const struct booking *booking);
/* Takes account_remove() back. */
void account_restore(struct account *account, const struct booking *booking);
void account_fail(struct account *account, const struct booking *booking);
/* Moves a live allocation to another row, as if the allocation had always been there. */
void account_move(struct account *account, const struct booking *booking, unsigned int to);
/* A live allocation turns out to have another size. */
void account_resize(struct account *account, const struct booking *booking, uint64_t bytes);
/* Another program runs, so no memory lives any longer. No frees are counted, because nobody called a free. */
void account_drop(struct account *account);

/* Kernel memory that no allocation explains: it has no class, only a stack. */
struct stacks *account_stacks(struct account *account, int gpu);
void account_mark(struct account *account, unsigned int mark);  /* stacks_mark() of all */
void account_close(struct account *account);                    /* stacks_close(), also of later rows */
/* All peaks begin anew at what is live. */
void account_restart(struct account *account, uint64_t ts_ns);

void level_set(struct view_level *level, uint64_t live, uint64_t ts_ns);
void level_restart(struct view_level *level, uint64_t ts_ns);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the walks over stacks ended, by stack id: a process's stacks are counted by their ends, each stack once.
 *
 * Stack ids are never used again, so that their number grows for as long as programs come and go. Once at least half of
 * the ids are of processes that are only in the sums, these ids are forgotten, with the names that nobody else has.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_STACK_ENDS_H
#define GPUMEMTRACE_CORE_LEDGER_STACK_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

struct frames;
struct gmt_stack;
struct process;
struct processes;

struct stack_ends {
	struct hash by_id;       /* struct stack_end */
	uint64_t dropped;        /* stacks that were too many */
};

void stack_ends_init(struct stack_ends *ends);
void stack_ends_fini(struct stack_ends *ends);

/* Counts a stack of the process. A stack that was cut off because a table was missing comes again, with the same id. */
void stack_ends_see(struct stack_ends *ends, const struct processes *all, const struct process *p,
		    const struct gmt_stack *rec);

/* Whether the walk over the stack ended before the stack's outermost frame. */
bool stack_ends_is_cut(const struct stack_ends *ends, uint32_t id);

/* Forgets the ids of processes that are only in the sums, if these ids are many enough; an id that another process
 * uses, too, stays. */
void stack_ends_sweep(struct stack_ends *ends, struct processes *all, struct frames *frames);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a process holds, allocation by allocation: the same memory that is booked by stack (stacks.h). The list answers
 * what sums cannot, such as the age of memory. A process that has ended holds what it held at its end.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_HELD_H
#define GPUMEMTRACE_CORE_LEDGER_HELD_H

#include <stdint.h>

#include "base/hash.h"

struct process;

struct held {
	uint64_t bytes;
	uint64_t ts_ns;      /* of its allocation */
	uint32_t stack_id;
	uint32_t row;        /* of the process's account; ROW_NONE */
};

/* Keeps the list, because the process is about to end. */
void held_keep(struct process *p);

/* For a row and a stack id: when the oldest memory was allocated, and how much is from before a moment. */
struct held_age {
	uint64_t oldest_ts_ns;
	uint64_t old_bytes, old_count;
};
struct held_ages {
	struct hash by_stack;    /* struct held_age */
	uint64_t before_ts_ns;
};
void held_ages_init(struct held_ages *ages, const struct process *p, uint64_t before_ts_ns);
void held_ages_fini(struct held_ages *ages);
struct held_age held_age(const struct held_ages *ages, unsigned int row, uint32_t stack_id);

#endif

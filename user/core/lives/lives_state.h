/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of the observer of lives (lives.h), for its own files. */
#ifndef GPUMEMTRACE_CORE_LIVES_LIVES_STATE_H
#define GPUMEMTRACE_CORE_LIVES_LIVES_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "core/ledger/ledger_state.h"
#include "core/lives/life_takers.h"
#include "core/lives/live_process.h"
#include "core/lives/live_table.h"

struct frameworks;

struct lives {
	const struct ledger *ledger;
	const struct frameworks *frameworks;
	struct life_takers takers;
	const struct life_taker *to;     /* all of them */
	struct live_table allocations, blocks;
	uint32_t most_alive;             /* of each table */
	struct live_process **processes; /* by struct process.index; NULL: none of its memory was seen */
	size_t process_count;
	struct life_point now;           /* the newest change */
	uint64_t calls;
};

int lives_gpu_of_row(const struct process *p, unsigned int row);

/* The life of an allocation, and of a block, with all that is known now. */
struct life lives_allocation(const struct lives *l, const struct process *p, uint32_t index);
struct life lives_block(const struct lives *l, const struct process *p, uint32_t index, uint8_t category);
/* The purpose of a block that is still there. */
uint8_t lives_category_now(const struct lives *l, const struct process *p, const struct life *life);

/* Adds a life to its table. If this is full, what is alive is lost before. */
void lives_add(struct lives *l, struct live_table *table, const struct live_key *key, uint32_t *first,
	       const struct life *life);

/* Memory is short: each taker that can gives up what it has kept, and if all can, so does the observer. */
void lives_shed(struct lives *l, uint64_t ts_ns);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of each allocation and of each block of a framework's, every call, and the moments that people ask about:
 * an observer of deltas (core/ledger/delta.h) that hands each of them to a taker (core/terms/lives_told.h). A life is
 * handed over when it ends, so the observer keeps what is alive and nothing else. Where memory is short, and each taker
 * can do without, what is alive is lost, and so are lives from then on that would be too many: takers can count these.
 */
#ifndef GPUMEMTRACE_CORE_LIVES_LIVES_H
#define GPUMEMTRACE_CORE_LIVES_LIVES_H

#include <stdint.h>

#include "core/ledger/delta.h"
#include "core/terms/lives_told.h"

struct frameworks;
struct ledger;
struct lives;

struct lives *lives_new(const struct ledger *ledger, const struct frameworks *frameworks);
/* Before the first record. The taker must last as long. */
void lives_tell(struct lives *lives, const struct life_taker *taker);
void lives_free(struct lives *lives);   /* NULL is fine */

#define LIVES_DELTAS                                                                                             \
	(DELTA_BIT(DELTA_ALLOC) | DELTA_BIT(DELTA_FREE) | DELTA_BIT(DELTA_RESTORE) | DELTA_BIT(DELTA_MOVE) |     \
	 DELTA_BIT(DELTA_RESIZE) | DELTA_BIT(DELTA_CALL) | DELTA_BIT(DELTA_MARK) | DELTA_BIT(DELTA_WINDOW) |     \
	 DELTA_BIT(DELTA_EXEC) | DELTA_BIT(DELTA_EXIT) | DELTA_BIT(DELTA_FORGET) | DELTA_BIT(DELTA_NVML) |       \
	 DELTA_BIT(DELTA_BLOCK_ALLOC) | DELTA_BIT(DELTA_BLOCK_FREE) | DELTA_BIT(DELTA_BLOCK_LOST) |              \
	 DELTA_BIT(DELTA_BLOCK_BACK) | DELTA_BIT(DELTA_REQUEST_FAILED) | DELTA_BIT(DELTA_REQUEST_DECIDED) |  \
	 DELTA_BIT(DELTA_SHED))
void lives_see(void *lives, const struct delta *delta);

/* The number of the newest change. */
uint64_t lives_change(const struct lives *lives);

/* Hands over what is alive now to this taker alone. */
void lives_each_alive(const struct lives *lives, const struct life_taker *taker);

/* The records are over: hands over what is still alive, and the processes. */
void lives_finish(struct lives *lives);

#endif

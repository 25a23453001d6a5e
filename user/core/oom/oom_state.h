/* SPDX-License-Identifier: BSD-2-Clause */
/* What is known of requests that failed: one of them with its picture, and all of them. */
#ifndef GPUMEMTRACE_CORE_OOM_OOM_STATE_H
#define GPUMEMTRACE_CORE_OOM_OOM_STATE_H

#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "base/hash.h"

struct deltas;
struct frameworks;
struct ledger;

#define OOM_SILENCE_NS 5000000000ULL   /* PyTorch waits for the GPU between two tries */
#define OOM_FATAL_NS 10000000000ULL    /* the end of a Python process takes its time */

/* One request, and the picture: rows[i].stacks stacks belong to row i, in order. */
struct oom {
	struct gmt_oom rec;
	struct gmt_oom_row *rows;
	struct gmt_oom_stack *stacks;
	size_t row_count, stack_count;
};

/* A thread whose request has failed, until all is told about it. */
struct oom_watch;

#define OOM_QUEUE 32
#define OOM_PICTURES 16              /* in a row, and after that one for each so long (oom_watch.c) */

struct ooms {
	const struct ledger *ledger;
	const struct frameworks *frameworks;
	struct deltas *out;
	struct oom_watch *watches;
	size_t count;
	struct oom *queue[OOM_QUEUE];/* decided, oldest first, until they are taken */
	size_t queued;
	struct oom *reading;         /* from records, not complete yet */
	struct hash threads;         /* struct oom_thread (oom_ask.h), by tid */
	struct hash counts;          /* struct oom_counts, by the number of the process */
	uint32_t last_number;
	uint32_t pictures;           /* that may still be taken, and since when that is known */
	uint64_t pictures_ns;
	uint64_t dropped;            /* that nobody took */
};

struct oom_counts {
	uint64_t of[GMT_OOM_OUTCOME_COUNT]; /* requests that could not be met, decided ones */
};

#endif

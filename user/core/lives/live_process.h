/* SPDX-License-Identifier: BSD-2-Clause */
/* What is remembered of a process while its lives (lives.h) are told: when its peaks were, and its newest levels. */
#ifndef GPUMEMTRACE_CORE_LIVES_LIVE_PROCESS_H
#define GPUMEMTRACE_CORE_LIVES_LIVE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ledger/process.h"
#include "core/terms/lives_told.h"

struct framework;

/* A row of the process's account. */
struct live_row {
	struct life_point peak;
	uint64_t peak_bytes, peak_ns; /* as the ledger had them then */
	uint64_t levels[LIFE_LEVEL_COUNT];
};

/* A device of a framework, by CUDA's number. */
struct live_device {
	uint32_t iteration;      /* that goes on; 0: none yet */
	uint64_t peak_bytes, peak_ns; /* as the framework had them */
};

struct live_process {
	uint64_t changes;        /* of its memory, so far */
	uint32_t allocations, blocks; /* the first of each, in their tables; 0: none */
	struct live_row *rows;
	size_t row_count;
	struct live_device *devices;
	size_t device_count;
};

void live_process_free(struct live_process *lp);   /* NULL is fine */

/* The row has changed: keeps the moment if the ledger has a new peak, and says so. ROW_NONE is fine. */
bool live_process_peak(struct live_process *lp, const struct process *p, unsigned int row,
		       const struct life_point *now);
/* Hands over the moment of each row's peak. */
void live_process_give_peaks(const struct live_process *lp, const struct process *p, uint32_t number,
			     const struct life_taker *to);

/* Hands over the levels that have changed. f may be NULL. */
void live_process_levels(struct live_process *lp, const struct process *p, const struct framework *f,
			 const struct life_point *now, const struct life_taker *to);

struct live_device *live_process_device(struct live_process *lp, unsigned int ordinal);

/* Another program, or none: its iterations count anew. */
void live_process_restart(struct live_process *lp);

#endif

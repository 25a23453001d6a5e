/* SPDX-License-Identifier: BSD-2-Clause */
/* What one device had allocated while its program was in a phase, or in a range. */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_PHASE_LINE_H
#define GPUMEMTRACE_CORE_FRAMEWORK_PHASE_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/framework/category.h"

#define PHASES_NAMES_MAX 64      /* different names of ranges that are kept of a process */
#define PHASES_ITERATIONS 32     /* the newest that are kept of a device */

/* Allocated bytes. A cell of an iteration: `begin` is of the first time, `end` of the last. One of a range:
 * both are of the newest time. The peak is of all. */
struct phase_cell {
	uint32_t times;          /* that it began; 0: never */
	uint64_t begin, end, peak;
	uint64_t alloc_bytes;
};

struct phase_iteration {
	uint32_t number;         /* from 1 on; 0: none */
	bool is_over;
	uint64_t end;            /* bytes allocated when it was over */
	struct phase_cell cells[GMT_TRAINING_COUNT];
};

struct phase_line {
	uint32_t owner;          /* thread; 0: none yet */
	uint32_t iteration;      /* the current one; 0: nothing has happened yet */
	uint32_t forward;        /* span of the forward that goes on; 0: none does */
	bool is_training;        /* there has been a backward */
	bool had_backward;       /* in this iteration */
	bool had_step;           /* inside a backward */
	uint64_t live;           /* bytes allocated, by the newest event */
	struct training_moment now;       /* of that */
	struct phase_iteration *iterations; /* ring by number; NULL without any */
	struct phase_cell *ranges;          /* by the name's number; NULL without any */
};

void phase_line_fini(struct phase_line *line);
uint64_t phase_line_bytes(const struct phase_line *line);

/* A phase begins, or a range. */
void phase_line_begin(struct phase_line *line, enum gmt_training phase);
void phase_line_begin_range(struct phase_line *line, unsigned int name);
void phase_line_end_range(struct phase_line *line, unsigned int name);

/* A block came or went in it. */
void phase_line_block(struct phase_line *line, enum gmt_training phase, int64_t delta);
void phase_line_block_range(struct phase_line *line, unsigned int name, int64_t delta);

void phase_line_next_iteration(struct phase_line *line);

/* By how much every iteration of late has left more behind than the one before it, on average; `count` is how
 * many in a row did. 0: the last one did not, or there are too few. */
#define PHASES_GROWTH_MIN 3
uint64_t phase_line_growth(const struct phase_line *line, uint32_t *count);

/* One of the newest PHASES_ITERATIONS; NULL: it is not there. */
const struct phase_iteration *phase_line_iteration(const struct phase_line *line, uint32_t number);

#endif

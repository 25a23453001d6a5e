/* SPDX-License-Identifier: BSD-2-Clause */
/* The allocated bytes of one device while its program was in a phase, or in a named range. */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_PHASE_LINE_H
#define GPUMEMTRACE_CORE_FRAMEWORK_PHASE_LINE_H

#include "core/framework/category.h"
#include "core/framework/rises.h"
#include "core/framework/view_torch.h"

#define PHASES_NAMES_MAX 64      /* different names of ranges that are kept for a process */
#define PHASES_ITERATIONS 32     /* the newest iterations that are kept for a device */

struct phase_line {
	uint32_t owner;          /* thread; 0: none yet */
	uint32_t forward;        /* span of the current forward; 0: none */
	bool had_backward;       /* this iteration has had a backward */
	bool had_step;           /* a step has ended inside the backward */
	uint64_t live;           /* bytes allocated, by the newest event */
	struct training_moment now;         /* of that event; iteration 0: nothing has happened yet */
	struct phase_iteration *iterations; /* ring by number; NULL without any */
	struct phase_cell *ranges;          /* by the name's number; NULL without any */
	struct rises rises;                 /* of what iterations have left */
};

void phase_line_fini(struct phase_line *line);

/* Where bytes are counted: a phase (enum gmt_training) of the current iteration, or a range by its name's number. */
#define PHASE_LINE_RANGE(name) (GMT_TRAINING_COUNT + (name))
void phase_line_begin(struct phase_line *line, unsigned int place);
void phase_line_end_range(struct phase_line *line, unsigned int name);
/* Counts a block of `delta` bytes that came, or went (negative); line->live is the sum after the block. */
void phase_line_block(struct phase_line *line, unsigned int place, int64_t delta);

void phase_line_next_iteration(struct phase_line *line, uint64_t now_ns);

/* Growth in each of the newest iterations, at least PHASES_GROWTH_MIN; or growth in some of more iterations, if this is
 * more memory. */
#define PHASES_GROWTH_MIN 3
struct view_growth phase_line_growth(const struct phase_line *line);

/* One of the newest PHASES_ITERATIONS; NULL: the iteration is not kept. */
const struct phase_iteration *phase_line_iteration(const struct phase_line *line, uint32_t number);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ranks of one job beside each other: processes that do the same work, each with a view of its own moment. Records
 * do not have the number of a rank: ranks are in the order of the recordings, those of one recording by GPU and pid.
 *
 * A rank differs if it holds more or less than the median rank by RANK_BYTES and RANK_SHARE (thresholds.h). Of an even
 * number of ranks, the median is the lower one of the two in the middle: of two ranks the one that holds less.
 */
#ifndef GPUMEMTRACE_CORE_COMPARE_RANKS_H
#define GPUMEMTRACE_CORE_COMPARE_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/compare/held_entries.h"
#include "core/view/view.h"

#define RANKS_NONE SIZE_MAX

/* A recording at a moment. */
struct ranks_source {
	const char *name;            /* "data/rank0.gmt@peak"; it begins with: */
	const char *path;
	const struct view *view;     /* with all lines */
	bool has_ended;              /* as in struct diff_side, like the next */
	bool is_incomplete;
	uint64_t lost;
};

struct rank {
	size_t source;
	const struct view_proc *proc;
	int64_t gpu_memory;          /* on all its GPUs */
	int64_t lines;               /* what LINES adds up to */
};

/* How an amount is spread over the ranks: numbers of ranks. Those that hold nothing count, too. */
struct ranks_spread {
	int64_t sum;
	size_t least, median, most;
};

struct ranks_row {
	int64_t *bytes;              /* by rank */
	struct ranks_spread spread;
	bool is_empty;               /* there was no entry yet */
	int64_t greatest;            /* entry, on one GPU of a rank */
	size_t shown;                /* the rank of that entry, whose view has the names */
	const struct view_line_row *line; /* as in held_entries.h, in that view, like the next */
	size_t index;
};

struct ranks_table {
	size_t count;
	struct ranks_row *rows;      /* the greatest sum first */
	struct ranks_row all;        /* sums of the rows; `shown`, line and index say nothing */
};

/* A rank that differs, and the line that differs most in the same direction. */
struct ranks_odd {
	size_t rank;
	int64_t difference;          /* to the median */
	size_t row;                  /* in `telling`; RANKS_NONE: no row explains the difference */
	int64_t of_row;              /* the row's difference to its own median */
};

struct ranks {
	size_t source_count;
	const struct ranks_source *sources;
	size_t count;
	struct rank *list;
	bool is_tensors;             /* lines, owners and modules are of tensors: all ranks have their stacks */
	struct ranks_table tables[HELD_TABLE_COUNT];
	enum held_table telling;     /* LINES; or CALLS, where no stacks were taken */
	struct ranks_row gpu_memory;
	size_t odd_count;
	struct ranks_odd *odd;       /* the greatest difference first */
};

/* The result points to the sources. */
void ranks_build(const struct ranks_source *sources, size_t count, struct ranks *out);
void ranks_free(struct ranks *ranks);

#endif

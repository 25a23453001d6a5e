/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables of a view: rows that people compare and sort. A table is of all processes and GPUs, of one process, or of one
 * GPU. A row has the same key in a later view. Screens lay rows out and compute nothing.
 */
#ifndef GPUMEMTRACE_CORE_VIEW_TABLE_H
#define GPUMEMTRACE_CORE_VIEW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/view/view.h"

/* X(NAME, name). Lines, stacks and owners are those of tensors where the stacks of tensors are known, else those of the
 * driver's memory (view_best_stacks()). */
#define TABLES(X)                                                                 \
	X(PROCESSES, "processes")                                                 \
	X(GPUS, "GPUs")                                                           \
	X(LINES, "lines")                                                         \
	X(STACKS, "stacks")                                                       \
	X(OWNERS, "owners")                                                       \
	X(CATEGORIES, "what for")                                                 \
	X(MODULES, "modules")
enum table_kind {
#define X(name, text) TABLE_##name,
	TABLES(X)
#undef X
	TABLE_KIND_COUNT
};

#define TABLE_ALL_GPUS (-2)
#define TABLE_ALL_PROCS SIZE_MAX
#define TABLE_BEFORE_ATTACH GMT_CATEGORY_COUNT /* the category of blocks from before the attach */

/* Which rows. Processes that have ended are only in the table of processes, unless `proc` names one. */
struct table_ask {
	enum table_kind kind;
	enum view_order order;
	int gpu;                 /* in view.gpus, VIEW_GPU_UNKNOWN or TABLE_ALL_GPUS */
	size_t proc;             /* in view.procs, or TABLE_ALL_PROCS */
};

struct table_row {
	uint64_t key;            /* never 0 */
	size_t index;            /* in view.procs, .gpus, .stacks, .owners or .modules (also VIEW_NO_MODULE), or a
				  * category. A line has none */
	const struct view_line_row *line; /* of a line: that of the process that has most of it */
	uint8_t purpose;         /* as view_line_row.purpose */
	struct view_held held;   /* live: what is held now. A GPU's live_count is its traced processes */
	bool has_each;           /* iterations are known */
	int64_t each;            /* what an iteration adds, on average */
	bool is_before;          /* of memory from before the attach: nothing but `held.live` is known */
	/* Of a process: */
	uint64_t tensors, cached; /* allocated by the framework, and reserved but not allocated */
	uint64_t before;         /* bytes from before the attach */
	bool has_torch, has_exited;
};

struct table {
	enum table_kind kind;
	size_t count;
	struct table_row *rows;  /* the greatest in the order first; processes that have ended come last */
};

/* table_free() releases the rows. They point into the view. */
void table_build(const struct view *view, const struct table_ask *ask, struct table *out);
void table_free(struct table *table);

/* The tables' names. */
const char *table_name(enum table_kind kind);

/* Whether any running process has a table of this kind. */
bool table_has(const struct view *view, enum table_kind kind);

/* Who uses a GPU, at the time of NVML's numbers where there are some. */
struct table_gpu {
	uint64_t total;          /* 0: not known */
	uint64_t traced;         /* by traced processes */
	bool has_others;
	uint64_t others;         /* by other processes */
	uint64_t rest;           /* used by no process that NVML lists: the driver's own */
	uint64_t free;           /* with has_others */
	unsigned int processes;  /* traced ones */
};
void table_gpu_use(const struct view *view, int gpu, struct table_gpu *out);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a process holds, as entries of tables whose keys mean the same in other recordings: names, never numbers of a
 * recording. Entries with one key are one row of a comparison.
 */
#ifndef GPUMEMTRACE_CORE_COMPARE_HELD_ENTRIES_H
#define GPUMEMTRACE_CORE_COMPARE_HELD_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/view/view.h"

/* X(NAME, name): the tables. Lines, owners and modules are those of tensors where is_tensors says so, else those of the
 * driver's memory. */
#define HELD_TABLES(X)                                                            \
	X(LINES, "lines")                                                         \
	X(USES, "categories")        /* a framework's blocks, by purpose */       \
	X(OWNERS, "owners")                                                       \
	X(MODULES, "modules")                                                     \
	X(CALLS, "calls")            /* by kind of call, also host memory */      \
	X(MEMORY, "gpu_memory")      /* by owner, where OWNERS is of tensors */
enum held_table {
#define X(name, text) HELD_##name,
	HELD_TABLES(X)
#undef X
	HELD_TABLE_COUNT
};
const char *held_table_name(enum held_table table);

#define HELD_USE_BEFORE GMT_CATEGORY_COUNT    /* of USES: blocks from before the attach */
#define HELD_MEMORY_ROUNDING SIZE_MAX         /* of MEMORY: rounding, and the reserve of pools */

/* What an entry is: of LINES `line`; else an index in view.owners or .modules (also VIEW_NO_MODULE), an enum
 * gmt_category or gmt_class, or a number of above. */
struct held_entry {
	uint64_t key;
	size_t side;                 /* the caller's number of the recording or process */
	int64_t bytes;               /* below 0: small allocations lie in blocks that were obtained for other memory */
	uint64_t count;              /* allocations, or a framework's blocks; 0 where these are not known */
	const struct view_line_row *line;
	size_t index;
};

struct held_entries {
	struct held_entry *list;     /* to be freed */
	size_t count;
};

/* Whose memory. */
struct held_of {
	size_t side;
	const struct view *view;     /* has all lines: view_request.top has no limit */
	const struct view_proc *proc;
	const struct view_row *row;  /* NULL: the memory of the host */
	bool is_tensors;
	bool is_physical;            /* MEMORY has what the kernel gave */
	bool has_memory;             /* the table MEMORY is wanted */
};

/* Adds the entries of a table. Entries without bytes and without allocations are left out. */
void held_entries_add(struct held_entries *entries, enum held_table table, const struct held_of *of);
/* Sorts by key, then by side, then the greatest first. */
void held_entries_sort(struct held_entries *entries);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The difference between two views, A and B, of one recording or of two: what each line, use, owner, module and kind of
 * call holds in A and in B.
 *
 * Rows are matched by what means the same in both: names, never numbers of a recording. A line of code is a file, a
 * function and a line. Where the other recording has never had such a line, the line may have moved: then lines of one
 * function in files of one name are matched, in their order.
 *
 * The amounts of a table's rows add up to what the table covers, exactly.
 */
#ifndef GPUMEMTRACE_CORE_COMPARE_DIFF_H
#define GPUMEMTRACE_CORE_COMPARE_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "core/compare/held_entries.h"
#include "core/terms/frames.h"
#include "core/view/view.h"

enum { DIFF_A, DIFF_B, DIFF_SIDES };

#define DIFF_NONE SIZE_MAX

/* One side. */
struct diff_side {
	const char *name;            /* of the moment: "data/run.gmt@peak"; it begins with: */
	const char *path;
	const struct view *view;     /* all lines are in it: view_request.top has no limit */
	const struct frames *frames; /* of all stacks of the recording, also those that hold nothing now */
	bool has_ended;              /* processes that have ended count, with what they held at their ends */
	bool is_picture;             /* of a dump: one moment, with the largest stacks */
	bool is_incomplete;          /* the file lacks a part */
	uint64_t lost;               /* records, in the whole file */
};

struct diff_amount {
	int64_t bytes[DIFF_SIDES];   /* below 0: small allocations lie in blocks that were obtained for other memory */
	uint64_t count[DIFF_SIDES];  /* allocations, or a framework's blocks */
};

static inline int64_t diff_bytes(const struct diff_amount *amount)
{
	return amount->bytes[DIFF_B] - amount->bytes[DIFF_A];
}

/* How the two sides of a row were matched. */
enum diff_match {
	DIFF_BY_NAME,
	DIFF_BY_FUNCTION,        /* another line of the same function */
	DIFF_BY_FILE_NAME,       /* the same line of a file in another folder */
	DIFF_MATCHES
};

struct diff_row {
	uint64_t key;                /* breaks ties */
	struct diff_amount amount;
	enum diff_match match;
	bool is_there[DIFF_SIDES];   /* not: holds nothing there */
	/* What the row is on each side where it is, as in held_entries.h. */
	const struct view_line_row *line[DIFF_SIDES];
	size_t index[DIFF_SIDES];
};

struct diff_table {
	size_t count;
	struct diff_row *rows;       /* the greatest difference first */
	struct diff_amount all;
};

/* Why two processes are a pair. */
enum diff_pairing {
	DIFF_PAIR_SAME,          /* of one recording: the same process */
	DIFF_PAIR_COMMAND,       /* the same command line */
	DIFF_PAIR_COMM,          /* the same program */
	DIFF_PAIR_ONLY,          /* each is the only one left */
	DIFF_PAIR_NONE,          /* there is no other */
};

struct diff_pair {
	size_t proc[DIFF_SIDES];     /* in view.procs; DIFF_NONE */
	enum diff_pairing how;
	size_t first_part, part_count;
};

/* The memory of a pair of processes on one GPU, or their host memory. */
struct diff_part {
	size_t pair;
	size_t row[DIFF_SIDES];      /* in view.procs[].rows; DIFF_NONE: that process has none, or it is host memory */
	bool is_host;
	bool is_tensors;             /* what LINES, OWNERS and MODULES are of */
	bool is_physical;            /* `held` is what the kernel gave, on both sides */
	struct diff_amount held;     /* on the GPU: count is 0 */
	struct diff_table tables[HELD_TABLE_COUNT];
};

/* X(NAME, name): what cannot be compared, or what made the numbers of the sides differ. */
#define DIFF_LIMITS(X)                                                            \
	X(LOSSES, "losses")              /* records that were lost */             \
	X(INCOMPLETE, "incomplete")      /* the file lacks a part */              \
	X(NO_STACKS, "no_stacks")        /* no stacks were taken: lines are not known */ \
	X(NO_TENSORS, "no_tensors")      /* only the other side has the stacks of tensors */ \
	X(NO_KERNEL, "no_kernel")        /* only the other side has the kernel's numbers */ \
	X(LATE, "late_attach")           /* processes with memory from before the attach */ \
	X(PICTURE, "dump")               /* a dump has one moment, and the largest stacks */
enum diff_limit {
#define X(name, text) DIFF_LIMIT_##name,
	DIFF_LIMITS(X)
#undef X
	DIFF_LIMIT_COUNT
};

struct diff {
	struct diff_side sides[DIFF_SIDES];
	bool is_one_recording;
	size_t pair_count, part_count;
	struct diff_pair *pairs;
	struct diff_part *parts;     /* by pair */
	bool is_tensors;             /* some part is */
	struct diff_amount held;     /* on all GPUs */
	struct diff_table tables[HELD_TABLE_COUNT]; /* over all parts */
	uint64_t limits[DIFF_LIMIT_COUNT][DIFF_SIDES]; /* how much of it; 0: none */
	size_t matched[DIFF_MATCHES]; /* rows of LINES that were not matched by name, by how they were */
	struct hash places[DIFF_SIDES]; /* char; keys of all lines that a recording knows, where there are two */
};

/* The result points into the views and the frames. */
void diff_build(const struct diff_side sides[DIFF_SIDES], bool is_one_recording, struct diff *out);
void diff_free(struct diff *diff);

static inline size_t diff_moved(const struct diff *diff)
{
	return diff->matched[DIFF_BY_FUNCTION] + diff->matched[DIFF_BY_FILE_NAME];
}

/* The names of DIFF_LIMITS. */
const char *diff_limit_name(enum diff_limit limit);

/* ---- the steps: diff_pairs.c, diff_tables.c, diff_moved.c ---- */

/* Makes the pairs and their parts, with `held` and without tables. */
void diff_find_pairs(struct diff *diff);
/* Makes a table of so many parts. */
void diff_fill_table(const struct diff *diff, enum held_table kind, const struct diff_part *parts, size_t count,
		     struct diff_table *out);
/* Finds what diff_match_moved() needs of the recordings. */
void diff_find_places(struct diff *diff);
/* Matches lines that have moved: rows of LINES become one row with the sum of both. */
void diff_match_moved(const struct diff *diff, struct diff_table *lines);

#endif

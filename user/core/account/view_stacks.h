/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of a view (view.h) that says who asked for memory: by owner and by call stack.
 *
 * The part is of one process on one GPU (device memory that calls asked for, and memory that the kernel gave and no
 * allocation explains: context, modules, streams, graphs), or of one process's host and managed memory. Owners sum to
 * these bytes exactly, live and at the peak. Live bytes with `unexplained` sum to the row's physical bytes.
 *
 * Stacks that read alike are shown as one. A stack without names is only a number: all stacks without names are shown
 * as one, VIEW_STACK_NOT_NAMED. Memory without a stack is VIEW_STACK_NONE.
 *
 * Lines are the stacks once more, added up by the innermost frame of the program's own code. The driver's own memory
 * (contexts, modules) and a framework's reserve are apart: the line that happened to need them first holds nothing.
 */
#ifndef GPUMEMTRACE_CORE_ACCOUNT_VIEW_STACKS_H
#define GPUMEMTRACE_CORE_ACCOUNT_VIEW_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <gpumemtrace/python.h>
#include <gpumemtrace/terms.h>
#include <gpumemtrace/unwind.h>

struct frames;

/* X(NAME, member, name): the member that stacks are sorted by, greatest first; stacks with 0 are left out. */
#define VIEW_ORDERS(X)                                                            \
	X(LIVE, live, "live")                                                     \
	X(PEAK, at_peak, "peak")                                                  \
	X(GROWN, grown, "growth")                                                 \
	X(OLD, old_bytes, "old")                                                  \
	X(ALLOCATED, alloc_bytes, "allocated")
enum view_order {
#define X(name, member, json) VIEW_BY_##name,
	VIEW_ORDERS(X)
#undef X
	VIEW_ORDER_COUNT
};

struct view_held {
	uint64_t live;
	uint64_t at_peak;        /* when the sum of all was highest */
	int64_t grown;           /* live, less what it was at view_stacks.since_ns */
	int64_t rise, rise_later; /* between the moments of view_stacks.rise; rise_later: since its later_ns */
	int64_t least_rise;      /* of the least before later_ns to the least since: what comes and goes is not in it */
	uint64_t then;           /* held at the first of these moments */
	int64_t each;            /* what the iterations of view_stacks.iterations have added, all together */
	uint64_t live_count;
	uint64_t allocs, frees;  /* ever */
	uint64_t alloc_bytes;
	uint64_t oldest_ts_ns;   /* of what is live; 0: nothing is, or ages were not asked for */
	uint64_t old_bytes, old_count; /* live, and older than the request's age; likewise */
};

struct view_owner {
	uint32_t owner;          /* index in view.owners */
	struct view_held held;
};

struct view_stack_row {
	uint32_t stack;          /* index in view.stacks */
	uint8_t purpose;         /* what most of its memory is for, now or, if the process has ended, at the peak:
				  * 1 + enum gmt_category; 0: not told */
	bool is_segment;         /* of the driver's memory: a framework's segments, in which its blocks lie */
	struct view_held held;
};

struct view_top {
	size_t count;
	struct view_stack_row *rows;
};

/* What a row by line stands for. */
enum view_line_state {
	VIEW_LINE_NO_STACK,
	VIEW_LINE_NOT_NAMED,
	VIEW_LINE_NOT_OWN,       /* no frame of the stacks is the program's own code */
	VIEW_LINE_OWN,
	VIEW_LINE_CUT,           /* the stacks ended early, and no frame of theirs is the program's own code */
	VIEW_LINE_GONE,          /* likewise, and the code of the outermost frame was gone before it was named */
	VIEW_LINE_RESERVE,       /* a framework took the memory from the driver, for its blocks and its cache */
	VIEW_LINE_DRIVER,        /* the driver took the memory for itself: the owner of `stack` says what for */
	VIEW_LINE_STATE_COUNT
};

/* All stacks with the same line of the program's own code. */
struct view_line_row {
	uint8_t state;           /* enum view_line_state */
	uint8_t purpose;         /* what most of the memory of `stack` is for, as above */
	bool has_ended;          /* the process has */
	bool has_callers;        /* not all stacks have this caller */
	uint32_t symbol;         /* VIEW_LINE_OWN: index in view.symbols */
	uint32_t caller;         /* the line that called it in `stack`: 1 + index in view.symbols; 0: none */
	uint32_t stack;          /* index in view.stacks: of the line's stacks the greatest in this order */
	uint32_t stacks;         /* the line's stacks that are above 0 in this order */
	uint64_t by_category[GMT_CATEGORY_COUNT]; /* of a framework's blocks: the live bytes by purpose */
	uint64_t at_peak[GMT_CATEGORY_COUNT]; /* likewise, of an ended process, at the peak */
	struct view_held held;
};

/* The bytes of a line that are for a purpose: now; of an ended process at the peak, if these are more. */
static inline uint64_t view_line_part(const struct view_line_row *line, enum gmt_category category)
{
	uint64_t now = line->by_category[category], at_peak = line->has_ended ? line->at_peak[category] : 0;

	return at_peak > now ? at_peak : now;
}

/* Whether it is known who took the memory, be it the program's own code or not. */
static inline bool view_line_has_code(const struct view_line_row *line)
{
	return line->state != VIEW_LINE_NO_STACK && line->state != VIEW_LINE_NOT_NAMED;
}

struct view_lines {
	size_t count;
	struct view_line_row *rows;
};

/* Whether two rows, of any orders of one view, stand for the same line. */
static inline bool view_line_is_same(const struct view_line_row *a, const struct view_line_row *b)
{
	return a->state == b->state && a->symbol == b->symbol &&
	       (a->state != VIEW_LINE_DRIVER || a->stack == b->stack);
}

static inline bool view_lines_have(const struct view_lines *lines, const struct view_line_row *line)
{
	for (size_t i = 0; i < lines->count; i++)
		if (view_line_is_same(&lines->rows[i], line))
			return true;
	return false;
}

/* All stacks with the same path of torch.nn modules. */
struct view_module_row {
	uint32_t module;         /* index in view.modules; VIEW_NO_MODULE: outside of all modules */
	struct view_held held;
};
#define VIEW_NO_MODULE UINT32_MAX

struct view_modules {
	size_t count;            /* 0 if no stack is in a module */
	struct view_module_row *rows;
};

/* The moments between which a line has to rise to be one that grows. A program frees its memory before it ends: of a
 * process that has ended, until_ns is the peak, or a moment after the peak in the second half of its time. Otherwise
 * until_ns is now, and the rise is what has grown. */
struct view_rise {
	uint64_t since_ns;
	uint64_t later_ns;       /* in about the middle of that time; 0: there is none yet, or none is known */
	uint64_t until_ns;
};

struct view_stacks {
	uint64_t live, peak, peak_ts_ns; /* of the sum of all */
	uint64_t since_ns;       /* growth is counted from here */
	struct view_rise rise;
	uint32_t iterations;     /* of a framework's blocks: so many of the newest iterations; 0: none are known */
	int64_t unexplained;     /* rows with physical: its live bytes less these. Rounding and the reserve of
				  * pools; less than 0 where small allocations lie in blocks of the context */
	size_t stack_count;      /* different ones; 0 if none are to be shown */
	size_t owner_count;
	struct view_owner *owners; /* greatest live first */
	struct view_top top[VIEW_ORDER_COUNT];
	struct view_lines lines[VIEW_ORDER_COUNT]; /* at most as many as stacks */
	struct view_modules modules[VIEW_ORDER_COUNT]; /* likewise */
};

/* The first two of view.owners. */
#define VIEW_OWNER_NO_STACK 0
#define VIEW_OWNER_NOT_NAMED 1

struct view_symbol {
	const char *function, *module, *file; /* "" unknown */
	uint64_t offset;         /* in the module; an address where that is unknown */
	uint32_t line;           /* 0 unknown */
	bool is_python, is_inlined, is_guessed;
	bool is_skipped;         /* says nothing about the owner: an entry point, an interpreter */
};

enum view_stack_state { VIEW_STACK_NONE, VIEW_STACK_NOT_NAMED, VIEW_STACK_NAMED };

#define VIEW_NO_FRAME UINT32_MAX

struct view_stack {
	enum view_stack_state state;
	uint32_t owner;          /* index in view.owners */
	uint32_t decisive;       /* the frame that decided about the owner; VIEW_NO_FRAME */
	uint32_t own;            /* the innermost frame of the program's own code; VIEW_NO_FRAME */
	uint32_t module;         /* index in view.modules, of the module in which the code ran; VIEW_NO_MODULE */
	uint32_t frame_count;
	uint32_t *frames;        /* indices in view.symbols, innermost first */
};

/* How complete the stacks of a process are: stacks, each counted once. */
struct view_unwinding {
	uint64_t stacks;
	uint64_t reasons[GMT_UNWIND_REASON_COUNT]; /* why the walk ended */
	uint64_t py_reasons[GMT_PY_REASON_COUNT];
};

/* What view_request.decide() says of a stack. `frame` and `line` may be VIEW_NO_FRAME. */
struct view_verdict {
	uint32_t owner;          /* below owner_count */
	uint32_t frame;          /* the frame that decided about the owner */
	uint32_t line;           /* the innermost frame of the program's own code */
	uint32_t caller;         /* the next such frame outwards, of another line; 0: none, as it is never the first */
	bool is_driver;          /* the driver took the memory for itself */
	bool is_framework;       /* nothing but a framework's own code is known */
};
/* The names of an owner of the memory of a stack. */
struct view_owner_names {
	const char *name;
	const char *allocator;   /* the framework that took the memory for this owner; NULL: none */
};
struct view_request {
	/* Who owns the memory of a stack (frames.h, from FRAMES_FIRST on), and whether a symbol says nothing about
	 * the owner. NULL: nobody knows. These are called often, so they should keep their answers. */
	struct view_verdict (*decide)(void *arg, const struct frames *frames, uint32_t stack);
	bool (*is_skipped)(void *arg, const struct frames *frames, uint32_t symbol);
	struct view_owner_names (*owner_names)(void *arg, uint32_t owner);
	uint32_t owner_count;
	uint64_t (*owners_dropped)(const void *arg); /* stacks without one: there are too many. May be NULL */
	void *arg;
	size_t top;              /* most stacks of each order; 0 is cheaper than any */
	uint64_t ends;           /* so many processes that ended first are only in the sums (view.h) */
	/* Only these processes, and only this GPU (view_filter.h). 0 and NULL: all. */
	const pid_t *pids;
	size_t pid_count;
	const char *gpu;
	bool lives;              /* single allocations (core/lives/view_lives.h) */
	bool instants;           /* where memory lay (core/history/view_instants.h) */
	bool ages;               /* costs a look at each live allocation */
	bool over_time;          /* costs a copy of all memory over time (view_row.timeline) */
	/* A process whose requests fail again and again may have the reason of a request before the newest one, which
	 * was found so long ago at most: finding a reason costs more than the rest of a view. */
	uint64_t why_age_ns;
	uint64_t older_than_ns;
};

/* What each iteration has added to held->each, on average. */
static inline int64_t view_each(const struct view_stacks *stacks, const struct view_held *held)
{
	return stacks->iterations ? held->each / (int64_t)stacks->iterations : 0;
}

static inline int64_t view_value(const struct view_held *held, enum view_order order)
{
	switch (order) {
#define X(name, member, json) case VIEW_BY_##name: return (int64_t)held->member;
	VIEW_ORDERS(X)
#undef X
	default:
		return 0;
	}
}

/* Whether no order before this one has the row, as each has the rows that are above 0 in it. */
bool view_is_first_in(const struct view_held *held, enum view_order order);
/* Whether memory has risen in both parts of the time of view_stacks.rise, stays, and was there before: no start-up. */
bool view_is_steady(const struct view_held *held);
const char *view_order_name(enum view_order order);
uint64_t view_complete(const struct view_unwinding *unwinding);   /* stacks with all their frames */
/* Whether any stack was taken: else there is nothing to tell. */
bool view_has_stacks(const struct view_stacks *stacks);

#endif

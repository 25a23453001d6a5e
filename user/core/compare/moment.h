/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moments of a recording: how people write a moment ("peak", "iteration=3"), and after which record of a replay the
 * moment has come. The search sees the whole recording; a second replay stops at the record that was found.
 */
#ifndef GPUMEMTRACE_CORE_COMPARE_MOMENT_H
#define GPUMEMTRACE_CORE_COMPARE_MOMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"

struct gmt_hdr;
struct pipeline;

/* X(NAME, word, value): the words, and what stands behind the word. A time has no word. The peak is that of the tensors
 * of all processes together; where no stacks of tensors are known, that of the driver's memory. */
#define MOMENTS(X)                                                                \
	X(PEAK, "peak", NULL)                                                     \
	X(END, "end", NULL)              /* of each process, or of the recording */ \
	X(ITERATION, "iteration", "N")   /* a process has ended iteration N */    \
	X(MARK, "mark", "N|NAME")        /* window N, or a range NAME, begins */  \
	X(OOM, "oom", "N")               /* request N fails for the first time */ \
	X(TIME, "", "TIME")              /* since the first record */
enum moment_kind {
#define X(name, word, value) MOMENT_##name,
	MOMENTS(X)
#undef X
	MOMENT_KIND_COUNT
};

struct moment {
	enum moment_kind kind;
	uint32_t number;         /* of an iteration, mark or request; 0: `name` is known */
	const char *name;        /* of a range: a part of the text that was read */
	uint64_t ns;             /* TIME */
};

/* Reads a moment. False: the text is none. */
bool moment_read(const char *text, struct moment *out);

/* What people can write, for a sentence: "peak, end, iteration=N, mark=N|NAME, oom=N or a time such as 12.5s". */
#define MOMENT_WORDS "peak, end, iteration=N, mark=N, mark=NAME, oom=N or a time (12.5s)"

struct moment_held {
	uint64_t tensors, driver;
};

struct moment_search {
	struct moment moment;
	uint64_t records;        /* that were seen */
	uint64_t found;          /* the moment has come after so many records; 0: not yet, or never */
	uint64_t found_ns;       /* the time then */
	uint64_t newest;         /* the greatest number of an iteration, mark or request that has come */
	struct hash held;        /* PEAK: struct moment_held, what a process holds, by its pid */
	struct moment_peak {
		uint64_t sum, most;
		uint64_t found, found_ns; /* as above */
	} tensors, driver;
	uint64_t lost;           /* records, in the whole recording; as view_lost() */
};

void moment_search_init(struct moment_search *search, const struct moment *moment);
void moment_search_fini(struct moment_search *search);
/* After the pipeline has taken in the record. */
void moment_search_see(struct moment_search *search, const struct pipeline *pl, const struct gmt_hdr *record);
/* All records have come: `found`, `found_ns` and `lost` are final. */
void moment_search_end(struct moment_search *search, const struct pipeline *pl);

/* Whether the record only names what was there before: a moment has the names that come after the moment. */
bool moment_is_name(const struct gmt_hdr *record);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the names in a profile for pprof: texts, functions, locations, and mappings, which are the files of code. Each
 * symbol of the view is a location with one function. A text is written when it is used first, so nothing but the
 * hashes of texts stays in memory.
 */
#ifndef GPUMEMTRACE_SINK_EXPORT_PPROF_NAMES_H
#define GPUMEMTRACE_SINK_EXPORT_PPROF_NAMES_H

#include <stdint.h>

#include "base/hash.h"
#include "base/out.h"
#include "core/view/view.h"

/* Frames that stand for what has no stack trace, behind the symbols of the view. */
#define PPROF_OTHER_FRAMES(X)                                                     \
	X(NO_STACK, "[without a stack]")                                          \
	X(NOT_NAMED, "[not named]")                                               \
	X(CACHED, "[cached, in no block]")                                        \
	X(ROUNDING, "[rounding, pool reserve]")
enum pprof_other_frame {
#define X(name, text) PPROF_##name,
	PPROF_OTHER_FRAMES(X)
#undef X
};

struct pprof_names {
	struct out *out;
	const struct view *view;
	struct hash texts;       /* uint64_t: index in the profile's string table; by the hash of the text */
	uint64_t text_count;     /* behind "", which is the first one */
	struct hash mappings;    /* uint64_t: id; by the index of the file's name in the string table */
	uint64_t mapping_count;
	struct out message, part; /* scratch: what is being written, and a message in it */
};

/* Begins the string table. */
void pprof_names_init(struct pprof_names *p, struct out *out, const struct view *view);
void pprof_names_fini(struct pprof_names *p);

/* The index of a text, which is written to `out` if it is new; 0: "". */
uint64_t pprof_text(struct pprof_names *p, const char *text);

/* All symbols and the other frames. */
void pprof_write_symbols(struct pprof_names *p);

/* Their locations. */
static inline uint64_t pprof_location(uint32_t symbol)
{
	return symbol + UINT64_C(1);
}
static inline uint64_t pprof_other_location(const struct pprof_names *p, enum pprof_other_frame frame)
{
	return p->view->symbol_count + UINT64_C(1) + frame;
}

#endif

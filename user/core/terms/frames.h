/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks in words: the symbols of frames, and the symbols that make up each stack, from the collector's records. Names
 * may come long after the allocations, or never: a stack id is FRAMES_NOT_NAMED until then.
 *
 * Several stack ids may have the same names (code mapped elsewhere, another iteration of a loop): people see one stack.
 * The one invariant: two stacks with different numbers differ in a symbol, and two symbols with different numbers in
 * what people see. Numbers are given out in order. A number, a symbol and its texts stay until frames_compact().
 */
#ifndef GPUMEMTRACE_CORE_TERMS_FRAMES_H
#define GPUMEMTRACE_CORE_TERMS_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "base/hash.h"
#include "core/terms/module_paths.h"
#include "core/terms/symbol_hint.h"

/* Stacks that have no names. Stacks with names are numbered from FRAMES_FIRST. */
#define FRAMES_NO_STACK 0
#define FRAMES_NOT_NAMED 1
#define FRAMES_FIRST 2

/* Far more symbols than programs have. Further records are counted and not kept. */
#define FRAMES_SYMBOLS_MAX (1u << 20)
#define FRAMES_STACKS_MAX (1u << 20)
#define FRAMES_IDS_MAX (1u << 22)    /* stack ids; several may be one stack */
#define FRAMES_LIST_MAX (1u << 26)   /* frames of all stacks: 256 MiB */

struct frames_symbol {
	const char *function, *module, *file; /* "" unknown */
	uint64_t offset;
	uint32_t line;           /* 0 unknown */
	uint8_t kind;            /* enum gmt_symbol_kind */
	uint8_t flags;           /* enum gmt_symbol_flag */
	uint8_t hint;            /* symbol_hint() */
	uint8_t role;            /* enum module_role */
	uint32_t place;          /* the first symbol with the same file and line; where these are unknown, with the same
				  * function and module */
};

struct frames_stack {
	uint32_t first, count;   /* in frames.lists */
	uint32_t next;           /* of the same hash; 0: none */
	uint32_t module;         /* in frames.modules; MODULE_PATHS_NONE */
	uint8_t hint;            /* of the innermost frame that has a hint */
};

struct frames {
	struct hash symbol_ids;  /* uint32_t: index in symbols */
	struct hash by_content;  /* hash of all members -> uint32_t: the symbol */
	struct hash by_place;    /* hash of the place -> uint32_t: its first symbol */
	struct frames_symbol *symbols; /* [0]: of frames whose symbol was not kept */
	uint32_t symbol_count;
	struct hash stack_ids;   /* uint32_t: number of the stack */
	struct hash by_list;     /* hash of the list -> uint32_t: number of the first stack */
	struct frames_stack *stacks;
	uint32_t stack_count;
	uint32_t *lists;         /* indices in symbols, innermost first */
	uint32_t list_count, list_capacity;
	struct module_paths modules;
	uint32_t ended_id;       /* symbols up to this id come no more */
	uint32_t epoch;          /* changes when numbers do */
	uint64_t dropped;        /* records that were not kept, and symbols that were forgotten */
	bool is_closed;          /* frames_forget() */
};

void frames_init(struct frames *frames);
void frames_fini(struct frames *frames);

/* Take in a record of at least its structure's size. 0; -EINVAL: malformed, nothing has changed. */
int frames_add_symbol(struct frames *frames, const struct gmt_symbol *rec);
int frames_add_stack(struct frames *frames, const struct gmt_stack_frames *rec);

/* Symbols up to this id come no more. */
void frames_end_symbols(struct frames *frames, uint32_t last_id);

/* Forgets the names of a stack id, which comes no more. */
void frames_forget_stack(struct frames *frames, uint32_t stack_id);

/* Forgets the stacks that no id has, and the symbols that no stack has and that come no more. The others get new
 * numbers, in the same order. */
void frames_compact(struct frames *frames);

/* Forgets all names for ever: each stack is FRAMES_NOT_NAMED, and further records are counted and not kept. */
void frames_forget(struct frames *frames);

/* The number of a stack id. */
uint32_t frames_of(const struct frames *frames, uint32_t stack_id);

/* The purpose of a stack's memory, as the code tells: enum gmt_category, SYMBOL_HINT_NONE. */
uint8_t frames_hint(const struct frames *frames, uint32_t stack_id);

/* Frames of a numbered stack, innermost first. A stack without names has none. */
static inline const uint32_t *frames_list(const struct frames *frames, uint32_t stack, uint32_t *count)
{
	*count = frames->stacks[stack].count;
	return frames->lists + frames->stacks[stack].first;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Python's pickle format, protocol 4, as a stream: what is written is gone from memory. Only the opcodes
 * that PyTorch's viewer knows are used, which are few.
 *
 * A value may be kept when it is written, and be written again as a reference to it: the reader then has
 * one object in both places.
 */
#ifndef GPUMEMTRACE_SINK_EXPORT_PICKLE_H
#define GPUMEMTRACE_SINK_EXPORT_PICKLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

struct out;

struct pickle {
	struct out *out;
	uint32_t kept;           /* values so far */
	struct hash words;       /* uint32_t: number of a kept string; by its address */
};

/* Begins: one value is to follow, then pickle_end(). The writer is flushed now and then. */
void pickle_begin(struct pickle *p, struct out *out);
void pickle_end(struct pickle *p);

/* Keeps the value that was written last, and nothing since: its number. */
uint32_t pickle_keep(struct pickle *p);
void pickle_again(struct pickle *p, uint32_t number);

void pickle_bool(struct pickle *p, bool value);
void pickle_int(struct pickle *p, int64_t value);
/* Any bytes: what is no UTF-8 becomes '?'. */
void pickle_text(struct pickle *p, const char *text);
/* A string that stays as it is and where it is until the end: written out once. */
void pickle_word(struct pickle *p, const char *word);

/* { begin, then word and value by turns, end }. */
void pickle_dict_begin(struct pickle *p);
void pickle_dict_end(struct pickle *p);

/* { begin, then next and value by turns, end }. Items go into the list by the thousand: readers hold no more at
 * a time. Number of items so far. */
struct pickle_list {
	uint64_t count;
};
void pickle_list_begin(struct pickle *p, struct pickle_list *list);
void pickle_list_next(struct pickle *p, struct pickle_list *list);
void pickle_list_end(struct pickle *p, struct pickle_list *list);

/* Makes a tuple of the two values that were written last. */
void pickle_pair(struct pickle *p);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes Python's pickle format, protocol 4, as a stream: written values leave memory. The writer uses the few opcodes
 * that PyTorch's viewer knows.
 *
 * A written value may be kept and written again as a reference: the reader then has one object in both places.
 */
#ifndef GPUMEMTRACE_SINK_EXPORT_PICKLE_H
#define GPUMEMTRACE_SINK_EXPORT_PICKLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

struct out;

struct pickle {
	struct out *out;
	uint32_t kept;           /* number of kept values */
	struct hash words;       /* uint32_t: the number of a kept string, by the string's address */
};

/* The caller writes one value, then calls pickle_end(). Long lists flush `out`. */
void pickle_begin(struct pickle *p, struct out *out);
void pickle_end(struct pickle *p);

/* Keeps the value that was just written. Returns its number, which pickle_again() takes. */
uint32_t pickle_keep(struct pickle *p);
void pickle_again(struct pickle *p, uint32_t number);

void pickle_bool(struct pickle *p, bool value);
void pickle_int(struct pickle *p, int64_t value);
/* Writes any bytes; broken UTF-8 becomes '?'. */
void pickle_text(struct pickle *p, const char *text);
/* Writes a string once and refers to it later. Its memory must not change or move until the end. */
void pickle_word(struct pickle *p, const char *word);

/* For a dictionary call begin, write a word and a value for each member, then call end. */
void pickle_dict_begin(struct pickle *p);
void pickle_dict_end(struct pickle *p);

/* For a list call begin, call next and write a value for each item, then call end. Items join the list in batches of
 * a thousand, so that readers hold no more items at a time. */
struct pickle_list {
	uint64_t count;          /* items so far */
};
void pickle_list_begin(struct pickle *p, struct pickle_list *list);
void pickle_list_next(struct pickle *p, struct pickle_list *list);
void pickle_list_end(struct pickle *p, struct pickle_list *list);

/* Makes a tuple of the last two values. */
void pickle_pair(struct pickle *p);

#endif

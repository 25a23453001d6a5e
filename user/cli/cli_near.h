/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the known word that a misspelt word probably means: the word that needs the fewest changes. A change adds,
 * drops or replaces a letter, or swaps two neighbours. A word that needs a change in more than every third letter is
 * not near.
 */
#ifndef GPUMEMTRACE_CLI_NEAR_H
#define GPUMEMTRACE_CLI_NEAR_H

#include <stddef.h>

struct cli_near {
	const char *word;
	size_t size;             /* only these first bytes of the word count */
	const char *best;        /* NULL: no word is near */
	unsigned int changes;    /* that lead to `best`; at first, one more than the most that are near */
};

struct cli_near cli_near_begin(const char *word);
struct cli_near cli_near_begin_sized(const char *word, size_t size);
/* Of words that are equally near the first stays. */
void cli_near_try(struct cli_near *near, const char *known);

#endif

// SPDX-License-Identifier: BSD-2-Clause
#include "cli/cli_near.h"

#include <stdint.h>
#include <string.h>

#define WORD_MAX 40   /* longer words are near nothing */

struct cli_near cli_near_begin_sized(const char *word, size_t size)
{
	return (struct cli_near){ .word = word, .size = size, .changes = (unsigned int)size / 3 + 1 };
}

struct cli_near cli_near_begin(const char *word)
{
	return cli_near_begin_sized(word, strlen(word));
}

static unsigned int least_of(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* The optimal string alignment distance: rows[i][k] is the number of changes from the first i to the first k bytes. */
static unsigned int count_changes(const char *from, size_t from_size, const char *to, size_t to_size)
{
	uint8_t rows[WORD_MAX + 1][WORD_MAX + 1];

	for (size_t i = 0; i <= from_size; i++)
		rows[i][0] = (uint8_t)i;
	for (size_t k = 0; k <= to_size; k++)
		rows[0][k] = (uint8_t)k;
	for (size_t i = 1; i <= from_size; i++) {
		for (size_t k = 1; k <= to_size; k++) {
			unsigned int replace = rows[i - 1][k - 1] + (from[i - 1] != to[k - 1]);
			unsigned int least = least_of(replace, least_of(rows[i - 1][k], rows[i][k - 1]) + 1u);

			if (i > 1 && k > 1 && from[i - 1] == to[k - 2] && from[i - 2] == to[k - 1])
				least = least_of(least, rows[i - 2][k - 2] + 1u);
			rows[i][k] = (uint8_t)least;
		}
	}
	return rows[from_size][to_size];
}

void cli_near_try(struct cli_near *near, const char *known)
{
	size_t size = strlen(known);
	unsigned int changes;

	if (near->size > WORD_MAX || size > WORD_MAX || !near->size)
		return;
	changes = count_changes(near->word, near->size, known, size);
	if (changes >= near->changes)
		return;
	near->changes = changes;
	near->best = known;
}

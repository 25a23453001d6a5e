// SPDX-License-Identifier: BSD-2-Clause
/*
 * Any words as a command line: it is taken, or refused with the exit status of wrong usage and a sentence.
 *
 * The input is words that end with NUL. A word that begins with a control character is the name of an option.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS_MAX = 24, WORD_BYTES = 256 };

static void name_option(char *word, unsigned int number)
{
	struct cli_table table;

	cli_table_fill(&table);
	snprintf(word, WORD_BYTES, "--%s", table.rows[number % table.count].name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char words[WORDS_MAX][WORD_BYTES], program[] = "gpumemtrace", *argv[WORDS_MAX + 2] = { program };
	struct options options;
	char *cause = NULL;
	int argc = 1, status;

	while (size && argc <= WORDS_MAX) {
		size_t len = strnlen((const char *)data, size);
		char *word = words[argc - 1];

		if (*data && *data < 32)
			name_option(word, *data + 32u * (len > 1 ? data[1] & 3u : 0));
		else
			snprintf(word, WORD_BYTES, "%.*s", (int)len, (const char *)data);
		argv[argc++] = word;
		len += len < size;
		data += len;
		size -= len;
	}
	status = cli_parse(&options, argc, argv, &cause);
	if (status && (!cause || !cause[0]))
		abort();
	free(cause);
	options_free(&options);
	return 0;
}

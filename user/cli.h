/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command line as a value. Parsing touches nothing but its arguments, prints nothing, and names
 * the error in one sentence.
 */
#ifndef GPUMEMTRACE_CLI_H
#define GPUMEMTRACE_CLI_H

#include <stdbool.h>

#include "cli_options.h"
#include "exit_codes.h"

struct out;

/* 0 or GMT_EXIT_USAGE with a sentence in *cause, to be freed. `options` is to be freed either way. */
int cli_parse(struct options *options, int argc, char **argv, char **cause);
void options_free(struct options *options);

void cli_help(struct out *out);

/* Whether a file's path is standard output; NULL is no file. */
bool cli_is_stdout(const char *path);

/* Whether to colour: as asked for, else on a terminal unless NO_COLOR is set (no-color.org). */
bool cli_use_color(const struct options *options, bool terminal);

#endif

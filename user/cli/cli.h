/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses the command line into a value. The parser touches only its arguments and prints nothing. One sentence names an
 * error.
 */
#ifndef GPUMEMTRACE_CLI_H
#define GPUMEMTRACE_CLI_H

#include <stdbool.h>

#include "cli/cli_options.h"
#include "cli/exit_codes.h"

struct out;

/* Returns 0, or GMT_EXIT_USAGE with a sentence in *cause, to be freed. Free `options` in both cases. */
int cli_parse(struct options *options, int argc, char **argv, char **cause);
void options_free(struct options *options);

/* Prints the help for options->topic. */
void cli_help(struct out *out, const struct options *options);

/* Whether the format for programs goes to standard output. */
bool cli_has_data_on_stdout(const struct options *options);

/* Whether a file's path is standard output; NULL is no file. */
bool cli_is_stdout(const char *path);

/* Whether to use colour: as the option says, or else on a terminal unless NO_COLOR is set (no-color.org). */
bool cli_use_color(const struct options *options, bool terminal);

#endif

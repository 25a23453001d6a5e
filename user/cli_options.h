/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of options: what is parsed, what --help prints and what the shell completes. */
#ifndef GPUMEMTRACE_CLI_OPTIONS_H
#define GPUMEMTRACE_CLI_OPTIONS_H

#include <stddef.h>

struct options;

struct cli_option {
	int letter;               /* 0: has only the long name */
	const char *name;
	const char *argument;     /* NULL: takes none */
	unsigned commands;        /* bit c: of enum cli_command c, which take it */
	/* 0, or GMT_EXIT_USAGE and a sentence. */
	int (*apply)(struct options *options, const char *argument, char **cause);
	const char *help;
};

#define CLI_OPTIONS_MAX 64

extern const struct cli_option cli_options[];
extern const size_t cli_option_count;

#endif

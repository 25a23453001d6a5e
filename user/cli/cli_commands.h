/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands: their words, other words for them, and the examples that --help shows. */
#ifndef GPUMEMTRACE_CLI_COMMANDS_H
#define GPUMEMTRACE_CLI_COMMANDS_H

#include <stddef.h>

#include "cli/cli_options.h"

struct cli_command_info {
	const char *word, *arguments, *help; /* as in CLI_COMMANDS */
};
extern const struct cli_command_info cli_commands[CLI_COMMAND_COUNT];

/* Words that have no row in CLI_COMMANDS, such as "replay". Ends with a line of NULL. */
struct cli_alias {
	const char *word;
	enum cli_command command;
	const char *help;
};
extern const struct cli_alias cli_aliases[];

/* The command that the word stands for, such as "report" or "replay"; -1: none. */
int cli_command_find(const char *word);
/* The word for a command that comes nearest to a misspelt word; NULL: no word is near. */
const char *cli_command_near(const char *word);

struct cli_example {
	enum cli_command command;
	const char *line;        /* without the program's name */
	const char *what;
};
/* Ends with a line of NULL. */
extern const struct cli_example cli_examples[];

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command line as a value. Parsing touches nothing but its arguments, prints nothing, and names
 * what is wrong in one sentence. One table of options (cli_rows.h) is what is parsed, what --help
 * prints, what the manual page lists and what the shell completes.
 */
#ifndef GPUMEMTRACE_CLI_H
#define GPUMEMTRACE_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include <gpumemtrace/stackmap.h>

#include "cli_values.h"
#include "core/account/view_stacks.h"
#include "exit_codes.h"
#include "sink/sink.h"

struct out;

/* X(NAME, word, arguments, help): what gpumemtrace can be asked for. Without a word it traces. */
#define CLI_COMMANDS(X)                                                           \
	X(TRACE, "", "-p PID[,PID...] | -a | -- COMMAND [ARG...]", "")            \
	X(REPLAY, "replay", "FILE.gmt", "print the report of a recording; needs neither root nor a GPU") \
	X(OOM, "oom", "FILE.gmt", "explain why memory ran out, from a dump or a recording") \
	X(RECORDS, "records", "FILE.gmt", "print the records of a recording or a dump, a line each") \
	X(DOCTOR, "doctor", "", "check this machine: what tracing needs, what is missing, the remedy") \
	X(LIST, "list", "", "print the probed functions of libcuda and what they mean")
enum cli_command {
#define X(name, word, arguments, help) CLI_##name,
	CLI_COMMANDS(X)
#undef X
	CLI_HELP,
	CLI_VERSION,
};

enum cli_when { CLI_AUTO, CLI_ALWAYS, CLI_NEVER };

struct options {
	enum cli_command command;
	char **child;             /* -- COMMAND ARGS, NULL-terminated, part of argv; NULL: none */
	const char *input;        /* replay, oom, records: recording; "-": standard input */
#define OPTION(letter, name, argument, section, commands, kind, help, manual) FIELD_##kind
#include "cli_rows.h"
};

/* 0 or GMT_EXIT_USAGE with a sentence in *cause, to be freed. `options` is to be freed either way. */
int cli_parse(struct options *options, int argc, char **argv, char **cause);
void options_free(struct options *options);

void cli_help(struct out *out);
void cli_version(struct out *out);

/* NULL is none. */
bool cli_is_stdout(const char *path);

/* Whether to colour: as asked for, else on a terminal unless NO_COLOR is set (no-color.org). */
bool cli_use_color(const struct options *options, bool terminal);

#endif

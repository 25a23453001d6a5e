/* SPDX-License-Identifier: BSD-2-Clause */
/* The options: what the command line can say (cli_rows.h), and the structure that holds what it said. */
#ifndef GPUMEMTRACE_CLI_OPTIONS_H
#define GPUMEMTRACE_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/cli_values.h"
#include "sink/sink.h"

/* X(NAME, word, arguments, help): what gpumemtrace can be asked for. Without a word it traces. */
#define CLI_COMMANDS(X)                                                           \
	X(TRACE, "", "-p PID|NAME | -a | -- COMMAND [ARG...]", \
	  "trace CUDA processes, and show who holds GPU memory")            \
	X(TOP, "top", "", "show the live view of all processes that use CUDA, or of some (-p)") \
	X(REPORT, "report", "FILE.gmt...", "print the report of a recording, or compare the ranks of a job") \
	X(OOM, "oom", "FILE.gmt|DIR...", "explain why memory ran out; DIR: list the dumps there") \
	X(DIFF, "diff", "FILE.gmt[@MOMENT] FILE.gmt[@MOMENT]", \
	  "say what one recording or moment holds more than another") \
	X(RECORDS, "records", "FILE.gmt", "print the records of a recording or a dump, a line each") \
	X(DOCTOR, "doctor", "", "check this machine: what tracing needs, what is missing, the remedy") \
	X(PS, "ps", "", "list the processes that use CUDA: GPU memory, container, job") \
	X(LIST, "list", "", "print the probed functions of libcuda and what they mean")
enum cli_command {
#define X(name, word, arguments, help) CLI_##name,
	CLI_COMMANDS(X)
#undef X
	CLI_HELP,
	CLI_VERSION,
};
#define CLI_COMMAND_COUNT ((size_t)CLI_HELP)   /* commands that have a word */

/* X(NAME, title): how --help and the manual page group the options. Only --help=all shows EXPERT. */
#define CLI_SECTIONS(X)                                                           \
	X(TRACED, "What is traced")                                               \
	X(SHOWN, "What is shown")                                                 \
	X(KEPT, "What is kept")                                                   \
	X(OBSERVED, "How it is observed")                                         \
	X(CHOSEN, "What is chosen")                                              \
	X(OTHERS, "Others")                                                       \
	X(EXPERT, "Expert options")
enum cli_section {
#define X(name, title) CLI_##name,
	CLI_SECTIONS(X)
#undef X
	CLI_SECTION_COUNT
};

enum cli_when { CLI_AUTO, CLI_ALWAYS, CLI_NEVER };
enum cli_events { CLI_EVENTS_SOME, CLI_EVENTS_ALL };

struct options {
	enum cli_command command;
	char **child;             /* -- COMMAND ARGS, NULL-terminated, part of argv; NULL: none */
	bool pipe_ignored;        /* SIGPIPE was ignored when this process was started */
	const char *input;        /* report, oom, diff, records: recording; "-": standard input */
	struct cli_list more;     /* report, oom, diff: further recordings */
	const char *output;       /* -o: recording; NULL: none */
	const struct sink *format;    /* the requested format; NULL: none */
	const char *format_path;      /* where that goes; NULL or "-": standard output */
	int format_fd;                /* of format_path, once main() has opened it; 0: there is none */
	const char *files[SINKS_MAX]; /* paths by index in sinks[]; NULL: none */
	enum cli_when live;
	enum cli_command topic;   /* help: of what */
	bool help_all;            /* help: also about expert options */
#define FIELD_MEMBER(kind, name, ...) cli_##kind name;
#define FIELD_SETS(...)
#define FIELD_TAKES(...)
#define OPTION(letter, name, argument, section, commands, value, help, manual) FIELD_##value
#include "cli/cli_rows.h"
};

#define CLI_OPTIONS_MAX 80

/* The first option that names processes to trace, as people write it; NULL: there is none. */
const char *cli_target_option(const struct options *options);

/* All options by section, including the options of the outputs. */
struct cli_table {
	size_t count;
	struct cli_option rows[CLI_OPTIONS_MAX];
};
void cli_table_fill(struct cli_table *table);

/* What the option does for a command, in one line. */
const char *cli_option_help(const struct cli_option *option, enum cli_command command);

#endif

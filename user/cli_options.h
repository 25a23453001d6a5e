/* SPDX-License-Identifier: BSD-2-Clause */
/* The options, of cli_rows.h: what is parsed, what --help prints and what the shell completes. */
#ifndef GPUMEMTRACE_CLI_OPTIONS_H
#define GPUMEMTRACE_CLI_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

struct cli_option;
struct options;
struct out;

/* X(NAME, title): how --help and the manual page group the options. */
#define CLI_SECTIONS(X)                                                           \
	X(TRACED, "What is traced")                                               \
	X(SHOWN, "What is shown")                                                 \
	X(KEPT, "What is kept")                                                   \
	X(OBSERVED, "How it is observed")                                         \
	X(CHOSEN, "Which records")                                                \
	X(OTHERS, "Others")
enum cli_section {
#define X(name, title) CLI_##name,
	CLI_SECTIONS(X)
#undef X
	CLI_SECTION_COUNT
};

/* Reads a value: 0, or GMT_EXIT_USAGE and a sentence in *cause, to be freed. */
typedef int cli_take_fn(const struct cli_option *option, struct options *options, const char *argument, char **cause);

struct cli_option {
	int letter;               /* 0: has only the long name */
	const char *name;
	const char *argument;     /* NULL: takes none */
	enum cli_section section;
	unsigned commands;        /* bit c: of enum cli_command c, which take it */
	const char *help;
	cli_take_fn *take;
	size_t offset;            /* of the member of struct options that it sets */
	uint64_t least, most;     /* of a number */
	const char *const *words; /* that the value can be; NULL ends them */
	int value;                /* what an option without an argument sets; of an output: its index in sinks[] */
	const char *suffix;       /* of the files it names; NULL: any */
	const char *initial;      /* the value that holds without the option; NULL: 0 */
};

#define CLI_OPTIONS_MAX 64

/* All options, those of the outputs among them, by section. */
struct cli_table {
	size_t count;
	struct cli_option rows[CLI_OPTIONS_MAX];
};
void cli_table_fill(struct cli_table *table);

/* Text of a row, with the initial value in place of '@'. */
void cli_option_text(struct out *out, const struct cli_option *option, const char *text);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command line as a value. Parsing touches nothing but its arguments, prints nothing, and names
 * what is wrong in one sentence. One table of options (cli_options.h) is what is parsed, what --help
 * prints and what the shell completes.
 */
#ifndef GPUMEMTRACE_CLI_H
#define GPUMEMTRACE_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/view/view_stacks.h"
#include "exit_codes.h"

struct out;

/* X(NAME, word, arguments, help): what gpumemtrace can be asked for. Without a word it traces. */
#define CLI_COMMANDS(X)                                                           \
	X(TRACE, "", "-p PID[,PID...] | -a | -- COMMAND [ARG...]", "")            \
	X(REPLAY, "replay", "FILE.gmt", "print the report of a recording; needs neither root nor a GPU") \
	X(OOM, "oom", "FILE.gmt", "explain why memory ran out, from a dump or a recording") \
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
	pid_t *pids;              /* each once */
	size_t pid_count;
	bool all;
	char **child;             /* -- COMMAND ARGS, NULL-terminated, part of argv; NULL: none */
	uint64_t duration_ns;     /* 0: until asked to stop */
	uint64_t interval_ns;
	const char *output;       /* recording; "-": standard output; NULL: none */
	const char *input;        /* replay, oom: recording; "-": standard input */
	bool json;
	bool strict;
	bool no_children;
	bool quiet;
	unsigned verbose;         /* how often it was given */
	enum cli_when live;       /* AUTO: unless the command shares the terminal */
	enum cli_when color;
	uint64_t ring_bytes;      /* a power of two */
	uint32_t layers;          /* enum gmt_layer, or-ed: those wanted */
	uint32_t stack_mode;      /* enum gmt_stack_mode */
	uint32_t stack_depth;     /* native frames */
	uint64_t stack_sample_bytes; /* 0: a stack for each call */
	bool block_stacks;        /* of PyTorch's blocks, too */
	bool requested_sizes;     /* of PyTorch's blocks */
	const char *oom_dir;      /* where dumps go; NULL: the current directory */
	bool no_oom;              /* none but those that are asked for */
	uint32_t oom_max;         /* so many of a session */
	const char *driver_root;  /* NULL: this machine's */
	const char *nvml_path;    /* NULL: the usual places */
	const char **libcuda;     /* further libraries to probe */
	size_t libcuda_count;
	const char **owners;      /* files of rules, asked before the standard ones */
	size_t owners_count;
	uint32_t top;             /* stacks of each order that are shown */
	uint64_t older_than_ns;   /* what counts as never freed */
	bool full_stacks;
	const char *snapshot;     /* file for PyTorch's viewers; "-": standard output; NULL: none */
	uint64_t window_events;   /* the newest that are kept for it and for dumps; 0: none */
	uint64_t window_ns;       /* and from no longer ago; 0: whenever they were */
	const char *folded;       /* file of folded stacks; "-": standard output; NULL: none */
	enum view_order folded_by;
};

/* 0 or GMT_EXIT_USAGE with a sentence in *cause, to be freed. `options` is to be freed either way. */
int cli_parse(struct options *options, int argc, char **argv, char **cause);
void options_free(struct options *options);

void cli_help(struct out *out);
void cli_version(struct out *out);

/* Whether to colour: as asked for, else on a terminal unless NO_COLOR is set (no-color.org). */
bool cli_use_color(const struct options *options, bool terminal);

/* The option table, for tests: long names in order, NULL-terminated by index; the short letter or 0. */
const char *cli_option_name(size_t index, int *letter);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kinds of values on the command line. A kind is the type of a member of struct options and a function that reads the
 * option's text into the member. The rows of cli_rows.h name kinds.
 */
#ifndef GPUMEMTRACE_CLI_VALUES_H
#define GPUMEMTRACE_CLI_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cli_pids {
	pid_t *list;             /* each once; to be freed */
	size_t count;
	const char **names;      /* of processes; the array is to be freed */
	size_t name_count;
};

struct cli_list {
	const char **texts;      /* the array is to be freed */
	size_t count;
};

struct cli_place {
	const char *path;        /* NULL: not given, or off */
	bool is_off;
};

struct cli_window {
	uint64_t events;         /* the newest that are kept; 0: none */
	uint64_t ns;             /* events are no older than this; 0: any age */
};

struct cli_moment {
	int64_t ns;              /* since the session's start */
	bool is_given;
};

/* X(kind, type): cli_KIND is the member's type, cli_take_KIND() reads it. */
#define CLI_VALUES(X)                                                             \
	X(flag, bool)                 /* the option was given */                  \
	X(times, unsigned int)        /* how often it was given */                \
	X(set, int)                   /* .value */                                \
	X(text, const char *)         /* as given */                              \
	X(place, struct cli_place)    /* a path or "off" */                       \
	X(list, struct cli_list)      /* all texts that were given */             \
	X(pids, struct cli_pids)                                                  \
	X(time, uint64_t)             /* nanoseconds, at least .least */          \
	X(moment, struct cli_moment)  /* a time of the session */                 \
	X(size, uint64_t)             /* bytes, from .least to .most */           \
	X(power, uint64_t)            /* bytes, at most .most, rounded up to .least times a power of two */ \
	X(number, uint32_t)           /* from .least to .most */                  \
	X(word, int)                  /* an index in .words */                    \
	X(words, uint32_t)            /* of a comma-separated list; bit i: words[i] */ \
	X(kinds, uint64_t)            /* of comma-separated lists; cli_kind_bit() of each record kind */ \
	X(window, struct cli_window)

struct options;
struct cli_option;

/* An option on the command line. */
struct cli_given {
	const struct cli_option *option;
	const char *text;        /* its value; NULL: it has none */
	struct options *options;
	void *member;            /* of *options, at the option's offset */
	char **cause;            /* where a sentence goes (cli_wrong()) */
};

/* Reads a value: 0, or what cli_wrong() returns. */
typedef int cli_take_fn(const struct cli_given *given);

#define X(kind, type)                                                             \
	typedef type cli_##kind;                                                  \
	cli_take_fn cli_take_##kind;
CLI_VALUES(X)
#undef X

#define CLI_OTHER_HELPS 3
struct cli_option {
	int letter;               /* 0: the option has only the long name */
	const char *name;
	const char *argument;     /* NULL: the option takes none */
	bool is_optional;         /* the argument may be missing, and stands behind '=' */
	unsigned int section;     /* enum cli_section */
	unsigned int commands;    /* bit c: enum cli_command c takes the option */
	const char *help;
	struct { unsigned int commands; const char *help; } others[CLI_OTHER_HELPS]; /* for some of the commands */
	cli_take_fn *take;
	size_t offset;            /* of the member of struct options */
	uint64_t least, most;     /* of a number */
	const char *const *words; /* the words that the value can be; NULL ends the list */
	int value;                /* what an option without an argument sets; of an output: its index in sinks[] */
	const char *suffix;       /* of the files that the option names; NULL: any */
	const char *initial;      /* the value that holds without the option; NULL: 0 */
};

/* The bit of a record kind (wire.h); 0: kinds that this version has no name for. */
uint64_t cli_kind_bit(unsigned int kind);

/* Writes a sentence to *cause, to be freed, in place of an earlier one. Always GMT_EXIT_USAGE. */
int cli_wrong(char **cause, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kinds of values on the command line. A kind is a function that reads a value into the member of struct options that
 * an option's row names, and in cli_rows.h a word. FIELD_ of that word declares the member (cli.h), ROW_ fills the
 * part of struct cli_option that is about the value: the member and its limits.
 */
#ifndef GPUMEMTRACE_CLI_VALUES_H
#define GPUMEMTRACE_CLI_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli_options.h"

struct cli_pids {
	pid_t *list;             /* each once; to be freed */
	size_t count;
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
	uint64_t ns;             /* and from no longer ago; 0: whenever they were */
};

struct cli_moment {
	int64_t ns;              /* since the session's start */
	bool is_given;
};

/* A member that is set as an int: an enum. */
#define CLI_INT(field) \
	.offset = offsetof(struct options, field) + \
		  0 * sizeof(char[sizeof(((struct options *)0)->field) == sizeof(int) ? 1 : -1])

/* true */
#define FIELD_FLAG(field) bool field;
#define ROW_FLAG(member) .take = cli_take_flag, .offset = offsetof(struct options, member)
/* How often the option was given. */
#define FIELD_TIMES(field) unsigned int field;
#define ROW_TIMES(field) .take = cli_take_times, .offset = offsetof(struct options, field)
/* An enum cli_when, and what the option sets it to; another option's member, likewise. */
#define FIELD_WHEN(field, set) enum cli_when field;
#define ROW_WHEN(field, set) ROW_SET(field, set)
#define FIELD_SET(field, set)
#define ROW_SET(field, set) .take = cli_take_set, CLI_INT(field), .value = set
/* As it was given; a path or "off"; all that were given. */
#define FIELD_TEXT(field) const char *field;
#define ROW_TEXT(field) .take = cli_take_text, .offset = offsetof(struct options, field)
#define FIELD_PLACE(field) struct cli_place field;
#define ROW_PLACE(field) .take = cli_take_place, .offset = offsetof(struct options, field)
#define FIELD_LIST(field) struct cli_list field;
#define ROW_LIST(field) .take = cli_take_list, .offset = offsetof(struct options, field)
#define FIELD_PIDS(field) struct cli_pids field;
#define ROW_PIDS(field) .take = cli_take_pids, .offset = offsetof(struct options, field)
/* Nanoseconds, .least of them or more; a moment of the session; bytes, .most at most; the same, the next power of two
 * from .least on. */
#define FIELD_TIME(field, ...) uint64_t field;
#define ROW_TIME(field, ...) .take = cli_take_time, .offset = offsetof(struct options, field), __VA_ARGS__
#define FIELD_MOMENT(field) struct cli_moment field;
#define ROW_MOMENT(field) .take = cli_take_moment, .offset = offsetof(struct options, field)
#define FIELD_SIZE(field, ...) uint64_t field;
#define ROW_SIZE(field, ...) .take = cli_take_size, .offset = offsetof(struct options, field), __VA_ARGS__
#define FIELD_POWER(field, ...) uint64_t field;
#define ROW_POWER(field, ...) .take = cli_take_power, .offset = offsetof(struct options, field), __VA_ARGS__
/* From .least to .most. */
#define FIELD_NUMBER(field, ...) uint32_t field;
#define ROW_NUMBER(field, ...) .take = cli_take_number, .offset = offsetof(struct options, field), __VA_ARGS__
/* The index of one of `list`, which NULL ends; bit i for the word i of a comma-separated list of them. */
#define FIELD_WORD(type, field, list, ...) type field;
#define ROW_WORD(type, field, list, ...) .take = cli_take_word, CLI_INT(field), .words = list, __VA_ARGS__
#define FIELD_WORDS(field, list, ...) uint32_t field;
#define ROW_WORDS(field, list, ...) \
	.take = cli_take_words, .offset = offsetof(struct options, field), .words = list, __VA_ARGS__
/* cli_kind_bit() of each record kind in comma-separated lists; `list`: what completes them. */
#define FIELD_KINDS(field, list) uint64_t field;
#define ROW_KINDS(field, list) .take = cli_take_kinds, .offset = offsetof(struct options, field), .words = list
/* Of -o: a recording. Of the outputs: the format that was asked for, or NULL; a file's path by index in sinks[], or
 * NULL. These three are read in cli_options.c. */
#define FIELD_OUTPUT(field) const char *field;
#define FIELD_FORMATS(field) const struct sink *field;
#define FIELD_FILES(field) const char *field[SINKS_MAX];
/* Of --window. */
#define FIELD_WINDOW(field, ...) struct cli_window field;
#define ROW_WINDOW(field, ...) .take = cli_take_window, .offset = offsetof(struct options, field), __VA_ARGS__

cli_take_fn cli_take_flag, cli_take_times, cli_take_set, cli_take_text, cli_take_place, cli_take_list, cli_take_pids,
	cli_take_time, cli_take_moment, cli_take_size, cli_take_power, cli_take_number, cli_take_word, cli_take_words,
	cli_take_kinds, cli_take_window;

/* The bit of a record kind (wire.h); 0: kinds that this version has no name for. */
uint64_t cli_kind_bit(unsigned int kind);

/* A sentence in *cause, to be freed; what was there is. GMT_EXIT_USAGE, always. */
int cli_wrong(char **cause, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

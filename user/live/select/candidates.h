/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists processes with the same name, so that a person can tell them apart: what all their commands begin with is
 * shortened, not what differs.
 */
#ifndef GPUMEMTRACE_LIVE_SELECT_CANDIDATES_H
#define GPUMEMTRACE_LIVE_SELECT_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>

struct find_process;
struct out;

/* Prints a title, then a line for each process. columns: of a line. has_numbers: the lines have the numbers 1, 2, 3. */
void candidates_print(struct out *out, const struct find_process *list, size_t count, unsigned columns,
		      bool has_numbers);
/* Prints "-p 12,13,14" with all pids. */
void candidates_print_option(struct out *out, const struct find_process *list, size_t count);

/* Prints a command of which the first `same` bytes are those of the other commands, too. */
void candidates_print_command(struct out *out, const char *command, size_t same, unsigned columns);
/* The bytes that all texts begin with, up to the beginning of a word. */
size_t candidates_same(const char *const *texts, size_t count);

#endif

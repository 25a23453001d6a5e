/* SPDX-License-Identifier: BSD-2-Clause */
/* What the outputs of a difference share: the names of rows, and the answer in one sentence. */
#ifndef GPUMEMTRACE_SINK_COMPARE_DIFF_NAMES_H
#define GPUMEMTRACE_SINK_COMPARE_DIFF_NAMES_H

#include <jansson.h>

#include "core/compare/diff.h"

struct out;
struct sink_opts;

/* "train.py:31 append", "optimizer state": of B, or of A where B has no such row. */
void diff_name(struct out *out, const struct diff *diff, enum held_table kind, const struct diff_row *row);

/* Whether the lines are of tensors, wherever there is memory of a GPU. */
bool diff_is_of_tensors(const struct diff *diff);

/* "B holds 832 MiB more than A: 800 MiB of them train.py:31 append", without an end of line. */
void diff_answer(struct out *out, const struct diff *diff);

/* Why a limit matters, in a sentence: of A, B or both. */
void diff_limit_text(struct out *out, const struct diff *diff, enum diff_limit limit);

/* The table of the rows that name what differs: lines, or kinds of calls where no lines are known. */
enum held_table diff_telling_table(const struct diff *diff);

json_t *diff_to_json(const struct diff *diff, const struct sink_opts *opts);

/* For sinks (sink.h). */
void diff_print(struct out *out, const struct diff *diff, const struct sink_opts *opts);
void diff_print_json(struct out *out, const struct diff *diff, const struct sink_opts *opts);

#endif

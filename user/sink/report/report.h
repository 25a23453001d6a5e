/* SPDX-License-Identifier: BSD-2-Clause */
/* The report for people, the parts that other outputs share, and the texts of `doctor` and `list`. */
#ifndef GPUMEMTRACE_SINK_REPORT_REPORT_H
#define GPUMEMTRACE_SINK_REPORT_REPORT_H

#include "core/terms/feature.h"
#include "core/view/view.h"

struct out;
struct sink_opts;

/* `gpumemtrace doctor` and `gpumemtrace list`. */
void doctor_print(struct out *out, const struct feature *features, size_t count, const struct sink_opts *opts);
void doctor_print_json(struct out *out, const struct feature *features, size_t count, const struct sink_opts *opts);
void list_print(struct out *out, const struct sink_opts *opts);
void list_print_json(struct out *out, const struct sink_opts *opts);

void report_print(struct out *out, const struct view *view, const struct sink_opts *opts);

/* Prints a line for each thing that is missing or odd: losses, malformed records, notes, anomalies, limits, layers
 * that were not active and why. columns: as in text_wrap(). */
void report_warnings(struct out *out, const struct view *view, const struct sink_opts *opts, unsigned columns);

/* Prints the answer: what the largest processes hold, what was found, and the lines with the most memory. Returns
 * whether the answer leaves things out; then it says which command prints them. */
bool report_answer(struct out *out, const struct view *view, const struct sink_opts *opts);
/* The command with the report's choice of processes and GPU; the caller frees the text. */
char *report_command(const char *command, const struct sink_opts *opts, const char *file);
/* Prints the commands that show more: about a failed request, and, unless the answer has named it, the tables. */
void report_next(struct out *out, const struct view *view, const struct sink_opts *opts, bool has_more);

/* Prints the column of numbers that adds up to NVML's number for a row. */
void report_sum(struct out *out, const struct view *view, const struct view_proc *proc,
		const struct view_row *row);

/* A report numbers the stack traces that it prints. */
struct report_numbers {
	uint32_t *of_stack;   /* by index in view.stacks; 0: not printed yet */
	uint32_t last;
};

/* Prints the memory of a sum by owner and by stack trace; nothing if no stack traces were taken. row: the row of the
 * sum, NULL for host memory. */
void report_stacks(struct out *out, const struct view *view, const struct view_proc *proc,
		   const struct view_stacks *stacks, const struct view_row *row, const struct sink_opts *opts,
		   struct report_numbers *numbers);
/* Prints one of the lists under a title, unless the list is empty. */
void report_stack_list(struct out *out, const struct view *view, const struct view_stacks *stacks,
		       enum view_order order, const char *title, const struct sink_opts *opts,
		       struct report_numbers *numbers);
/* Prints the use of PyTorch's memory by category and phase; nothing if no training was seen. */
void report_training(struct out *out, const struct view_torch *torch, bool has_exited);
/* Prints how complete the stack traces of a process are. */
void report_unwinding(struct out *out, const struct view_unwinding *unwinding);

#endif

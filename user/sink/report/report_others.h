/* SPDX-License-Identifier: BSD-2-Clause */
/* What the answer of a report says of the processes that are not shown by themselves. */
#ifndef GPUMEMTRACE_SINK_REPORT_REPORT_OTHERS_H
#define GPUMEMTRACE_SINK_REPORT_REPORT_OTHERS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/view/view.h"
#include "sink/report/report_parts.h"

/* Where the answer has a process: not at all, in its own lines, or in the line of one that is like it. */
enum report_place { REPORT_NOWHERE, REPORT_SHOWN, REPORT_ALIKE };

/* Bytes of a process on all GPUs: what it holds, and the sum of its peaks. */
uint64_t report_holds(const struct view_proc *proc);
uint64_t report_most(const struct view_proc *proc);

/* Writes one part for the processes that are nowhere and are like the process `index`, such as the other ranks of a
 * training, and sets their places: the same command, about the same memory, as many GPUs. */
void report_alike(struct report_answer *answer, size_t index, enum report_place *places);

/* Writes a line for each finding of the processes that are not shown: a few of each kind; with opts->full all. */
void report_other_findings(struct report_answer *answer, const enum report_place *places);
/* Says that nothing was found, and what was looked at; nothing if something was found, or nobody used a GPU. */
void report_nothing(struct report_answer *answer);

#endif

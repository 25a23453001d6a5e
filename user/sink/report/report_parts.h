/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of a report's answer, and which of the parts are left out first where the answer has no room (page.h). */
#ifndef GPUMEMTRACE_SINK_REPORT_REPORT_PARTS_H
#define GPUMEMTRACE_SINK_REPORT_REPORT_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/view/view.h"
#include "sink/text/page.h"

struct out;
struct sink_opts;

/* The parts that stay longest come first. The first process is the heaviest one. */
enum report_rank {
	REPORT_FIRST,            /* the first process: its name, its fullest GPU, its findings with their GPUs */
	REPORT_FIRST_NUMBERS,    /* the numbers of this GPU, and the line of code with the most memory */
	REPORT_FINDINGS,         /* findings of others, with the names of the processes and the GPUs */
	REPORT_FIRST_ADVICE,     /* what stands below the findings of the first process */
	REPORT_FIRST_GPUS,       /* its other GPUs, and more lines of code */
	REPORT_ADVICE,           /* what stands below findings of others */
	REPORT_PROCESSES,        /* processes without findings */
	REPORT_GPUS,
	REPORT_FIRST_TABLES,     /* numbers and lines of code of the first process's other GPUs, and all its modules */
	REPORT_ALIKE_ONES,
	REPORT_TABLES,           /* the same of other processes */
};

/* An answer that is being written, and the process that it has come to. */
struct report_answer {
	struct page page;
	const struct view *view;
	const struct sink_opts *opts;
	const struct view_proc *proc;
	bool is_first;           /* the process is the heaviest */
	size_t fullest;          /* the row of the process with the most memory */
};

/* A line of the answer, which is taken, behind a word; lines that are too long are broken. */
void report_put(struct out *out, const struct sink_opts *opts, const char *label, struct out *line);
/* What a row has held at most. */
uint64_t report_most_of(const struct view_row *row);

/* The parts about a GPU of the process: how full it is, what the sum consists of, and what the framework holds. */
void report_gpu(struct report_answer *answer, size_t row, bool has_findings);
/* The lines of code with the most memory on the GPU. */
void report_lines(struct report_answer *answer, size_t row);

#endif

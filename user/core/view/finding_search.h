/* SPDX-License-Identifier: BSD-2-Clause */
/* What the rules of findings (findings.c, findings_growth.c) share: where the search is, and what it has found. */
#ifndef GPUMEMTRACE_CORE_VIEW_FINDING_SEARCH_H
#define GPUMEMTRACE_CORE_VIEW_FINDING_SEARCH_H

#include "core/view/finding.h"
#include "core/view/view.h"

/* What running processes have on a GPU. */
struct finding_load {
	uint64_t traced;         /* bytes, by NVML where it is known */
	uint64_t most;           /* bytes of the process that has most of it */
	size_t most_proc;
};

struct finding_search {
	const struct view *view;
	struct finding *list;
	size_t count;
	struct finding_load *loads; /* by GPU */
	/* where the search is */
	size_t proc_index, row_index;
	const struct view_proc *proc;
	const struct view_row *row;
	const struct view_gpu *gpu;  /* NULL: not known */
};

/* The new finding is of the process and the row where the search is; valid until the next one is added. */
struct finding *finding_add(struct finding_search *s, enum finding_kind kind);
/* A finding of this row, or NULL. */
const struct finding *finding_in_row(const struct finding_search *s, enum finding_kind kind);

/* By kind, then by process, then by row. */
void findings_sort(struct finding *list, size_t count);

/* Whether `bytes` that a line has grown by in a part of the time, until now, are much of what the row holds. */
bool finding_is_much_growth(const struct finding_search *s, const struct view_line_row *line, uint64_t bytes,
			    uint64_t span_ns, uint64_t whole);
/* How long the GPU lasts if the finding's bytes come again and again in that time. */
void finding_set_time_left(const struct finding_search *s, struct finding *f, uint64_t span_ns);

/* The finding of a process of which so many requests failed for good. */
void finding_of_requests(struct finding_search *s, uint64_t failed);

/* The rules about memory that stays and grows, in this order: a rule may ask for what the rules before have found. */
void finding_of_leak(struct finding_search *s);
void finding_of_growth(struct finding_search *s);
void finding_of_kept(struct finding_search *s);
void finding_of_state(struct finding_search *s);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The events and what lived at their end as records (include/gpumemtrace/history_records.h): written. */
#ifndef GPUMEMTRACE_CORE_HISTORY_HISTORY_DUMP_H
#define GPUMEMTRACE_CORE_HISTORY_HISTORY_DUMP_H

#include <stddef.h>
#include <stdint.h>

struct gmt_oom;
struct history;

/* So many segments and blocks are in a dump at most. */
#define HISTORY_DUMP_RANGES 500000

/* Number of the first event behind the request's newest failure; of no request, behind all. */
uint64_t history_moment(const struct history *h, const struct gmt_oom *rec);

/* What a window speaks of, whenever it ends: stacks, and processes. Each once, in no order. */
struct history_subjects {
	uint32_t *stacks, *tgids;
	size_t stack_count, tgid_count;
};
void history_subjects(const struct history *h, struct history_subjects *out);
void history_subjects_free(struct history_subjects *subjects);

/* Gives `put` each record of the window that ends before event `until`. */
void history_dump(const struct history *h, uint64_t until, void (*put)(void *arg, const void *record, size_t size),
		  void *arg);

#endif

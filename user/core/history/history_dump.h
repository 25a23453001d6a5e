/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a window as records (include/gpumemtrace/history_records.h): the events, and the memory at their end. */
#ifndef GPUMEMTRACE_CORE_HISTORY_HISTORY_DUMP_H
#define GPUMEMTRACE_CORE_HISTORY_HISTORY_DUMP_H

#include <stddef.h>
#include <stdint.h>

struct gmt_oom;
struct history;

#define HISTORY_DUMP_RANGES 500000   /* segments and blocks in a dump, at most */

/* The number of the first event after the request's newest failure; without a request, after all events. */
uint64_t history_moment(const struct history *h, const struct gmt_oom *rec);

/* The stacks and processes of a window, whatever moment it ends at: each once, in no order. */
struct history_subjects {
	uint32_t *stacks, *tgids;
	size_t stack_count, tgid_count;
};
void history_subjects_free(struct history_subjects *subjects);

/* Takes the window that ends before event `until`; `subjects` may be NULL, else history_subjects_free() releases it.
 * history_dump_put() gives each record to `put` and releases the dump; the history must not change before that. */
typedef void (*history_put_fn)(void *arg, const void *record, size_t size);
struct history_dump *history_dump_begin(const struct history *h, uint64_t until, struct history_subjects *subjects);
void history_dump_put(struct history_dump *dump, history_put_fn put, void *arg);

#endif

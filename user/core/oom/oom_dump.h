/* SPDX-License-Identifier: BSD-2-Clause */
/* A picture as a stream of records that needs nothing else: the contents of a dump (oom_records.h). */
#ifndef GPUMEMTRACE_CORE_OOM_OOM_DUMP_H
#define GPUMEMTRACE_CORE_OOM_OOM_DUMP_H

#include <stddef.h>

struct history_subjects;
struct ledger;
struct oom;

/* Gives `put` each record: session, GPUs, processes, the names that are known by now, and the picture. `also` has the
 * processes and stacks of a window, whose records the caller puts next (history_dump.h); NULL: no window follows.
 * oom_dump_end() puts the last record. */
typedef void (*oom_put_fn)(void *arg, const void *record, size_t size);
void oom_dump(const struct ledger *l, const struct oom *oom, const struct history_subjects *also, oom_put_fn put,
	      void *arg);
void oom_dump_end(const struct oom *oom, oom_put_fn put, void *arg);

/* The number of stacks that have no names yet. */
size_t oom_unnamed(const struct ledger *l, const struct oom *oom, const struct history_subjects *also);

#endif

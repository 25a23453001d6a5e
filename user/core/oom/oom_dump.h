/* SPDX-License-Identifier: BSD-2-Clause */
/* A picture as a stream of records that needs nothing else: what a dump (oom_records.h) is made of. */
#ifndef GPUMEMTRACE_CORE_OOM_OOM_DUMP_H
#define GPUMEMTRACE_CORE_OOM_OOM_DUMP_H

#include <stddef.h>

struct history_subjects;
struct ledger;
struct oom;

/* Gives `put` each record: session, GPUs, who the processes are, the names that are known by now, the picture. Also
 * those that a window speaks of, which is to come then (history_dump.h; NULL: none is); the end is the last. */
typedef void (*oom_put_fn)(void *arg, const void *record, size_t size);
void oom_dump(const struct ledger *l, const struct oom *oom, const struct history_subjects *also, oom_put_fn put,
	      void *arg);
void oom_dump_end(const struct oom *oom, oom_put_fn put, void *arg);

/* How many of its stacks have no names yet. */
size_t oom_unnamed(const struct ledger *l, const struct oom *oom, const struct history_subjects *also);

#endif

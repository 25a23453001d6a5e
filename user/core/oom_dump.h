/* SPDX-License-Identifier: BSD-2-Clause */
/* A picture as a stream of records that needs nothing else: what a dump (include/gpumemtrace/oom.h) is made of. */
#ifndef GPUMEMTRACE_CORE_OOM_DUMP_H
#define GPUMEMTRACE_CORE_OOM_DUMP_H

#include <stddef.h>

struct ledger;
struct oom;

/* Gives `put` each record: session, GPUs, who the processes are, the names that are known by now, the picture. */
typedef void (*oom_put_fn)(void *arg, const void *record, size_t size);
void oom_dump(const struct ledger *l, const struct oom *oom, oom_put_fn put, void *arg);

/* How many of its stacks have no names yet. */
size_t oom_unnamed(const struct ledger *l, const struct oom *oom);

#endif

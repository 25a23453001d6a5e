/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Everything about stacks that takes time, on a thread of its own: reading what processes have mapped,
 * building unwinding tables, finding Python, naming the stacks that BPF sends. The thread that empties
 * the ring only hands over and takes back.
 */
#ifndef GPUMEMTRACE_LIVE_STACKS_STACK_THREAD_H
#define GPUMEMTRACE_LIVE_STACKS_STACK_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <gpumemtrace/stackmap.h>
#include <gpumemtrace/wire.h>

#include "live/stacks/stack_worker.h"

struct stacking;
struct stream;

/* NULL with mode OFF. The other functions may be called with NULL. Signals must be blocked. */
struct stacking *stacking_new(const struct stacking_options *options);
void stacking_free(struct stacking *stacking);

/* A process whose stacks are wanted: is looked at as soon as can be. */
void stacking_process(struct stacking *stacking, pid_t tgid);
/* One that has mapped something since: before long. */
void stacking_mapped(struct stacking *stacking, pid_t tgid);
/* Whether it was named so before, and has not ended. */
bool stacking_knows(struct stacking *stacking, pid_t tgid);
/* Whether a file that a process maps says that it will use a GPU. */
bool stacking_is_sign(const char *path);

/* A record from the kernel: stacks, and processes that change. */
void stacking_see(struct stacking *stacking, const struct gmt_hdr *record);

/* Puts the names that were found since into the stream. */
void stacking_collect(struct stacking *stacking, struct stream *stream);

/* The next thing a person is to know: a sentence, to be freed; NULL: there is none. */
char *stacking_note(struct stacking *stacking);

/* What the unwinding tables took, after stacking_finish() or at any other quiet moment. */
struct tables_stats;
void stacking_stats(struct stacking *stacking, struct tables_stats *stats);

/* Waits until all stacks are named, but not longer than this; what is still missing is left out. Until then
 * the processes should be there: Python's names are read from them. */
void stacking_finish(struct stacking *stacking, struct stream *stream, uint64_t timeout_ns);

#endif

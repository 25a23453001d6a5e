/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The thread for all slow work on stacks: reading the mappings of processes, building unwinding tables, finding Python,
 * naming the stacks that BPF sends. The thread that empties the ring only hands records over and collects the results.
 */
#ifndef GPUMEMTRACE_LIVE_STACKS_STACK_THREAD_H
#define GPUMEMTRACE_LIVE_STACKS_STACK_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <gpumemtrace/wire.h>

#include "live/stacks/stack_worker.h"

struct stacking;
struct stream;

/* NULL with mode OFF. The other functions may be called with NULL. Signals must be blocked. */
struct stacking *stacking_new(const struct stacking_options *options);
void stacking_free(struct stacking *stacking);

/* Reads a process, whose stacks are wanted, as soon as possible. */
void stacking_process(struct stacking *stacking, pid_t tgid);
/* Reads a process that has mapped a file, before long. */
void stacking_mapped(struct stacking *stacking, pid_t tgid);
/* Whether one of these was called for the process, which has not ended since. */
bool stacking_knows(struct stacking *stacking, pid_t tgid);
/* Whether a process that maps this file will probably use a GPU. */
bool stacking_is_sign(const char *path);

/* Takes a record of the kernel: stacks, execs and exits matter here. */
void stacking_see(struct stacking *stacking, const struct gmt_hdr *record);

/* Puts the names that were found since the last call into the stream. */
void stacking_collect(struct stacking *stacking, struct stream *stream);

/* The next message for the user: a sentence, to be freed; NULL: there is none. */
char *stacking_note(struct stacking *stacking);

/* The cost of the unwinding tables. Call after stacking_finish() or at another quiet moment. */
struct tables_stats;
void stacking_stats(struct stacking *stacking, struct tables_stats *stats);

/* Waits until all stacks are named, up to the timeout; other stacks stay without names. The processes should exist
 * until then: Python's names are read from their memory. */
void stacking_finish(struct stacking *stacking, struct stream *stream, uint64_t timeout_ns);

#endif

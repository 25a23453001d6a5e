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
/* Ends the thread, and frees everything. False: the thread was busy for all of `wait_ns`; the thread and its memory
 * stay, and the descriptors in the options must stay open. */
bool stacking_free(struct stacking *stacking, uint64_t wait_ns);

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

/* Gives memory back, as soon as possible: ends the processes that read files, and at GMT_SHED_NAMES forgets names. */
void stacking_shed(struct stacking *stacking, enum gmt_shed step);

/* Puts the names that were found since the last call into the stream. */
void stacking_collect(struct stacking *stacking, struct stream *stream);

/* The next message for the user: a sentence, to be freed; NULL: there is none. */
char *stacking_note(struct stacking *stacking);

/* Files that could not be read for names or tables (parse_gave_up()); of them, those whose reader was ended
 * (parse_was_ended()). */
uint64_t stacking_refused(struct stacking *stacking, uint64_t *ended);

/* The cost of the unwinding tables, after the last piece of work that the thread has ended. */
struct tables_stats;
void stacking_stats(struct stacking *stacking, struct tables_stats *stats);

/* How long to wait for names: until `is_over` says so, and at most `most_ns`. */
struct stacking_wait {
	uint64_t most_ns;
	bool (*is_over)(void *arg);  /* NULL: never */
	void *arg;
};

/* Waits until all stacks are named; other stacks stay without names. Returns their number. The processes should exist
 * until then: Python's names are read from their memory. */
size_t stacking_finish(struct stacking *stacking, struct stream *stream, const struct stacking_wait *wait);

#endif

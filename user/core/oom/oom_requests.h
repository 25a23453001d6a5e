/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests for memory that could not be met, and what became of them: a retry that was met in the end, an
 * error that was raised, one that the process died of. Told from the records alone, for each thread:
 *
 *   failure                  a call that asks for memory returned CUDA_ERROR_OUT_OF_MEMORY. Others of the same
 *                            or a falling size, of the same class on the same GPU, belong to the same request
 *   retry   given            the thread got as much as the last failure asked for
 *           smaller          it got somewhat less: it looks for a size that fits
 *   raised  reported         PyTorch is about to raise its error
 *           went on          the thread got far less, or asks for something else
 *           silence          it neither asked nor freed for OOM_SILENCE_NS
 *   fatal   exit             the process ended with an error before anything else was told; or not long after
 *                            the error was raised, and it had not gone on
 *
 * A request of handles (cuMemCreate) is one of many: a run of handles that were not mapped yet when one failed
 * counts as a whole, and it has been met when what was created is mapped.
 *
 * Calls that take memory without saying how much (contexts, modules, graphs, streams) are requests of no class; a
 * size is told by what the kernel driver refused in them. What it refused outside of all probed calls, such as in a
 * launch, is a request, too:
 *
 *   retry   given            the driver gave as much in the end; or, smaller, less in the same call
 *   raised  return           the thread makes another call, or PyTorch a block of it: the call is over
 *
 * A picture of who held what is taken at each failure, the newest is kept; so many failures that this would
 * be felt do not all get one.
 */
#ifndef GPUMEMTRACE_CORE_OOM_OOM_REQUESTS_H
#define GPUMEMTRACE_CORE_OOM_OOM_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "base/hash.h"
#include "core/ledger/delta.h"

struct frameworks;
struct ledger;
struct process;

#define OOM_SILENCE_NS 5000000000ULL   /* PyTorch waits for the GPU between two tries */
#define OOM_FATAL_NS 10000000000ULL    /* the end of a Python process takes its time */

/* One request, and the picture: rows[i].stacks stacks belong to row i, in order. */
struct oom {
	struct gmt_oom rec;
	struct gmt_oom_row *rows;
	struct gmt_oom_stack *stacks;
	size_t row_count, stack_count;
};
void oom_free(struct oom *oom);        /* NULL is fine */

/* A thread whose request has failed, until all is told about it. */
struct oom_watch;

#define OOM_QUEUE 32

struct ooms {
	const struct ledger *ledger;
	const struct frameworks *frameworks;
	struct deltas *out;
	struct oom_watch *watches;
	size_t count, capacity;
	struct oom *queue[OOM_QUEUE];/* decided, oldest first, until they are taken */
	size_t queued;
	struct oom *reading;         /* from records, not complete yet */
	struct hash threads;         /* struct oom_thread (oom_ask.h), by tid */
	struct hash counts;          /* struct oom_counts, by the number of the process */
	uint32_t last_number;
	uint32_t pictures;           /* that may still be taken, and since when that is known */
	uint64_t pictures_ns;
	uint64_t dropped;            /* that nobody took */
};

struct oom_counts {
	uint64_t of[GMT_OOM_OUTCOME_COUNT]; /* requests that could not be met, decided ones */
};

struct ooms *ooms_new(const struct ledger *ledger, const struct frameworks *frameworks, struct deltas *out);
void ooms_free(struct ooms *o);        /* NULL is fine */

/* What ooms_see() is for. */
#define OOMS_DELTAS                                                                                              \
	(DELTA_BIT(DELTA_CALL) | DELTA_BIT(DELTA_DRIVER_ALLOC) | DELTA_BIT(DELTA_REPORT) |                       \
	 DELTA_BIT(DELTA_BLOCK_ALLOC) | DELTA_BIT(DELTA_BLOCK_FREE) | DELTA_BIT(DELTA_EXEC) |                    \
	 DELTA_BIT(DELTA_EXIT) | DELTA_BIT(DELTA_TIME) | DELTA_BIT(DELTA_DUMP))
void ooms_see(void *ooms, const struct delta *delta);

/* The next one that something is known about, NULL: none. It is the caller's. The same number may come again
 * when more is known: with another outcome, and no picture unless there is a newer one. */
struct oom *ooms_take(struct ooms *o);
/* The stream is over: what is undecided becomes so. */
void ooms_finish(struct ooms *o);
/* A picture of everything, of all GPUs, for who asks for it. */
struct oom *ooms_picture(const struct ooms *o);

/* What became of a process's requests; o may be NULL: nothing is known. */
struct oom_counts ooms_counts(const struct ooms *o, const struct process *p);

/* ---- for the files of this room ---- */

void ooms_push(struct ooms *o, struct oom *oom);   /* for ooms_take(); it is the queue's now */
/* By the kernel driver: refused to the process, or got. */
void ooms_driver(struct ooms *o, const struct delta *d);
/* The thread does what shows that no call which is not probed goes on in it. */
void ooms_left(struct ooms *o, const struct process *p, uint32_t tid, uint64_t ts_ns);
/* From a dump. 0 or -EINVAL. */
int ooms_read(struct ooms *o, const struct gmt_hdr *rec);

/* Fills in rows and stacks, as everything is now: on one GPU, or on all. */
void oom_picture(struct oom *oom, const struct ooms *o, int gpu);
void oom_forget_picture(struct oom *oom);

#endif

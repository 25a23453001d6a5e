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
 * be felt do not all get one. Nothing is watched unless ooms_want() was called.
 */
#ifndef GPUMEMTRACE_CORE_OOM_OOM_REQUESTS_H
#define GPUMEMTRACE_CORE_OOM_OOM_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

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
	bool wanted;
	struct oom_watch *watches;
	size_t count, capacity;
	uint64_t due_ns;             /* when time decides about the first of them */
	struct oom *queue[OOM_QUEUE];/* decided, oldest first, until they are taken */
	size_t queued;
	struct oom *reading;         /* from records, not complete yet */
	uint32_t last_number;
	uint32_t met;                /* the newest request that was, in the end; 0: none */
	uint32_t pictures;           /* that may still be taken, and since when that is known */
	uint64_t pictures_ns;
	uint64_t dropped;            /* that nobody took */
};

/* Keep an eye on requests from now on. */
void ooms_want(struct ledger *l);
/* The next one that something is known about, NULL: none. It is the caller's. The same number may come again
 * when more is known: with another outcome, and no picture unless there is a newer one. */
struct oom *ooms_take(struct ledger *l);
/* The stream is over: what is undecided becomes so. */
void ooms_finish(struct ledger *l);
/* A picture of everything, of all GPUs, for who asks for it. */
struct oom *ooms_picture(const struct ledger *l);

/* The thread's request that failed last, until all is told about it; NULL: none. Good until the next record. */
const struct gmt_oom *ooms_request(const struct ledger *l, const struct process *p, uint32_t tid);

/* ---- for the ledger ---- */

void ooms_fini(struct ooms *o);
void ooms_push(struct ooms *o, struct oom *oom);   /* for ooms_take(); it is the queue's now */
void ooms_call(struct ledger *l, struct process *p, const struct gmt_call *call);
/* By the kernel driver: refused to the process, and got. */
void ooms_refused(struct ledger *l, struct process *p, const struct gmt_rm_alloc *rec);
void ooms_driver_gave(struct ledger *l, struct process *p, const struct gmt_rm_alloc *rec);
/* The thread does what shows that no call which is not probed goes on in it. */
void ooms_left(struct ledger *l, struct process *p, uint32_t tid, uint64_t ts_ns);
int ooms_reported(struct ledger *l, struct process *p, const struct gmt_fw_oom *rec);
void ooms_block(struct ledger *l, struct process *p, const struct gmt_fw_mem *rec);
void ooms_exit(struct ledger *l, struct process *p, const struct gmt_hdr *hdr, int exit_code);
void ooms_time(struct ledger *l, uint64_t now_ns);

/* From a dump. 0 or -EINVAL. */
int ooms_read(struct ledger *l, const struct gmt_oom *rec);
int ooms_read_row(struct ledger *l, const struct gmt_oom_row *rec);
int ooms_read_stack(struct ledger *l, const struct gmt_oom_stack *rec);

/* Fills in rows and stacks, as everything is now: on one GPU, or on all. */
void oom_picture(struct oom *oom, const struct ledger *l, int gpu);
void oom_forget_picture(struct oom *oom);

#endif

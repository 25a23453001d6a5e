/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests for memory that failed, and their outcomes: a retry succeeded, an error was raised, or the process died of
 * the error. The signs are in the records of each thread:
 *
 *   failure                  a call that asks for memory returned CUDA_ERROR_OUT_OF_MEMORY. Further failures of the
 *                            same or a falling size, of the same class on the same GPU, belong to the same request
 *   retry   given            the thread got as much as the last failure asked for
 *           smaller          it got somewhat less: it looks for a size that fits
 *   raised  reported         PyTorch is about to raise its error
 *           went on          the thread got far less, or asks for something else
 *           silence          it neither asked nor freed for OOM_SILENCE_NS
 *   fatal   exit             the process ended with an error before any other sign; or soon after the error was raised,
 *                            and it had not gone on
 *
 * A run of handles (cuMemCreate) that were not mapped yet when one failed is one request. The request is met when the
 * handles that were created are mapped.
 *
 * Calls that take memory without a size (contexts, modules, graphs, streams) are requests of no class; the size is what
 * the kernel driver refused in them. A refusal outside of all probed calls, such as in a launch, is a request, too:
 *
 *   retry   given            the driver gave as much in the end; smaller: the driver gave less in the same call
 *   raised  return           the thread makes another call, or PyTorch makes a block on the thread: the call is over
 *
 * Each failure gets a picture of who held what, and the newest picture is kept. Of very many failures, some get none.
 */
#ifndef GPUMEMTRACE_CORE_OOM_OOM_REQUESTS_H
#define GPUMEMTRACE_CORE_OOM_OOM_REQUESTS_H

#include "core/ledger/delta.h"
#include "core/oom/oom_state.h"

struct process;

struct ooms *ooms_new(const struct ledger *ledger, const struct frameworks *frameworks, struct deltas *out);
void ooms_free(struct ooms *o);        /* NULL is fine */

/* The kinds that ooms_see() is for. */
#define OOMS_DELTAS                                                                                              \
	(DELTA_BIT(DELTA_CALL) | DELTA_BIT(DELTA_DRIVER_ALLOC) | DELTA_BIT(DELTA_REPORT) |                       \
	 DELTA_BIT(DELTA_BLOCK_ALLOC) | DELTA_BIT(DELTA_BLOCK_FREE) | DELTA_BIT(DELTA_EXEC) |                    \
	 DELTA_BIT(DELTA_EXIT) | DELTA_BIT(DELTA_FORGET) | DELTA_BIT(DELTA_TIME) | DELTA_BIT(DELTA_DUMP))
void ooms_see(void *ooms, const struct delta *delta);

/* The stream is over: no request stays undecided. */
void ooms_finish(struct ooms *o);

/* The outcomes of a process's requests; o may be NULL: none are known. */
struct oom_counts ooms_counts(const struct ooms *o, const struct process *p);

#endif

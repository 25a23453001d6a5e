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

#include "core/ledger/delta.h"
#include "core/oom/oom_state.h"

struct process;

struct ooms *ooms_new(const struct ledger *ledger, const struct frameworks *frameworks, struct deltas *out);
void ooms_free(struct ooms *o);        /* NULL is fine */

/* What ooms_see() is for. */
#define OOMS_DELTAS                                                                                              \
	(DELTA_BIT(DELTA_CALL) | DELTA_BIT(DELTA_DRIVER_ALLOC) | DELTA_BIT(DELTA_REPORT) |                       \
	 DELTA_BIT(DELTA_BLOCK_ALLOC) | DELTA_BIT(DELTA_BLOCK_FREE) | DELTA_BIT(DELTA_EXEC) |                    \
	 DELTA_BIT(DELTA_EXIT) | DELTA_BIT(DELTA_TIME) | DELTA_BIT(DELTA_DUMP))
void ooms_see(void *ooms, const struct delta *delta);

/* The stream is over: what is undecided becomes so. */
void ooms_finish(struct ooms *o);

/* What became of a process's requests; o may be NULL: nothing is known. */
struct oom_counts ooms_counts(const struct ooms *o, const struct process *p);

#endif

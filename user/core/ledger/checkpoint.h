/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checkpoints (cuCheckpointProcessCheckpoint, cuda-checkpoint): another process moves all video memory of this process
 * to host memory, and later back. For this process's calls the memory is still there. The kernel layer shows frees that
 * no call of the process has caused, also of memory that only calls allocate and free: so the memory is parked in host
 * memory. What comes back, again outside of calls, is the same memory if the size is the same.
 *
 * A call cuCheckpointProcess* itself is not believed: it may name any pid, and names the pid of its own pid namespace.
 *
 * At its end a process frees its memory in this way, too: what is parked is forgotten with its exit.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_CHECKPOINT_H
#define GPUMEMTRACE_CORE_LEDGER_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/rm/rm_sums.h"

struct checkpoint;
struct gmt_rm_alloc;

/* `of` is a process's checkpoint; NULL: nothing was freed outside of calls. */

/* Memory was freed outside of all calls. Returns how many pieces of it were too many to remember. */
size_t checkpoint_park(struct checkpoint **of, const struct rm_freed *list, size_t count);

/* Memory was allocated outside of all calls. True: `was` is the parked memory that came back. */
bool checkpoint_unpark(struct checkpoint **of, const struct gmt_rm_alloc *rec, struct rm_freed *was);

/* A call of the process has returned, so the process is not checkpointed now. *of is not NULL. */
void checkpoint_call_returned(struct checkpoint **of);

/* What is parked in host memory of what was on a GPU; all 0 if the process is not checkpointed. */
void checkpoint_sums(const struct checkpoint *of, int gpu, struct rm_physical *out);

void checkpoint_free(struct checkpoint *checkpoint);

#endif

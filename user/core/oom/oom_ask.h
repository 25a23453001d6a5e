/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much a call that failed had asked for: what its arguments say; of a run of handles all of them; and where
 * they say nothing (contexts, modules, graphs, streams), what the kernel driver refused meanwhile on its thread.
 *
 * A refusal is no error by itself: libcuda may try again, or another way.
 */
#ifndef GPUMEMTRACE_CORE_OOM_OOM_ASK_H
#define GPUMEMTRACE_CORE_OOM_OOM_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "core/ledger/process.h"

struct thread;

/* A context takes memory, too, how much nobody says: a request of no class and no size. */
struct process_ask oom_ask_of_context(struct process *p, const struct gmt_call *call);

/* A handle was created: one of a run that is not mapped yet. A request is for all of the run. */
void oom_handle_created(struct thread *t, const struct gmt_call *call, uint64_t bytes);
struct process_ask oom_ask_with_run(const struct process *p, const struct thread *t, uint64_t ts_ns);

/* Whether the record is about video memory, and whether it says that there was none. */
bool oom_is_video_memory(const struct gmt_rm_alloc *rec);
bool oom_is_refusal(const struct gmt_rm_alloc *rec);

/* Keeps it in mind for the thread. */
void oom_note_refusal(struct process *p, const struct gmt_rm_alloc *rec);

/* What the thread asked for when memory was refused last, as a request of no class. */
struct process_ask oom_ask_of_refusal(struct process *p, uint32_t tid);

/* The same of a call that failed and whose arguments do not say; 0 bytes where nothing was refused in it. */
struct process_ask oom_ask_of_call(struct process *p, const struct gmt_call *call);
/* What was refused in it last; NULL: nothing. Good until the thread's next record. */
const struct refusal *oom_refused_in(struct process *p, const struct gmt_call *call);
#endif

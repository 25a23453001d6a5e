/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much memory a failed call had asked for. Its arguments say so (delta.h); a run of handles counts as a whole. For
 * a call whose arguments say nothing (contexts, modules, graphs, streams), the size is what the kernel driver refused
 * on the thread meanwhile. A refusal is no error by itself: libcuda may try again, or in another way.
 */
#ifndef GPUMEMTRACE_CORE_OOM_OOM_ASK_H
#define GPUMEMTRACE_CORE_OOM_OOM_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "core/ledger/delta.h"

struct ooms;

/* Memory that the kernel driver did not give. */
struct oom_refusal {
	uint64_t bytes;      /* 0: none so far */
	uint32_t seq;        /* of the call that was refused the memory; 0: no call was */
	uint32_t stack_id;
	uint16_t api;        /* the call's function: enum gmt_api */
	uint8_t row;
};

struct oom_thread {
	const struct process *p;
	uint32_t created_count; /* handles of a run that are not mapped yet: the pieces of one request */
	uint64_t created_bytes, created_each, created_ts_ns;
	struct oom_refusal refused; /* the newest */
};

/* A thread of the process, a new one if need be. Good until the next call. */
struct oom_thread *oom_thread_of(struct ooms *o, const struct process *p, uint32_t tid);

/* A handle was created, and belongs to a run that is not mapped yet. A request is for the whole run. */
void oom_handle_created(struct oom_thread *t, uint64_t bytes, uint64_t ts_ns);
void oom_forget_run(struct oom_thread *t);

/* The request of the failed call, with the run and with what the kernel driver refused. */
struct delta_ask oom_ask_of_call(const struct oom_thread *t, const struct delta_call *call, uint64_t ts_ns);
/* The newest refusal in the call; NULL: none. */
const struct oom_refusal *oom_refused_in(const struct oom_thread *t, const struct gmt_call *call);

/* Keeps in mind what the kernel driver refused. */
void oom_note_refusal(struct oom_thread *t, const struct delta_driver *driver);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that fail for want of memory. Allocators free what they can and try once more, with the same size:
 * if that works nothing has happened; if not, the two are one event.
 */
#ifndef GPUMEMTRACE_CORE_HISTORY_OOM_H
#define GPUMEMTRACE_CORE_HISTORY_OOM_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/api.h>

#define HISTORY_CUDA_OUT_OF_MEMORY 2   /* CUDA_ERROR_OUT_OF_MEMORY, cuda.h */

struct ledger;
struct process;
struct gmt_call;
struct history_oom;

/* Bytes that a call asks for, 0 unknown. */
uint64_t history_size_asked(const struct gmt_call *call, enum gmt_op op);

/* What a failing call asked for, on which device, and the bytes that were free there: the GPU's less those of
 * the processes that are known; 0 unknown. Of size 0 if it was no device memory. */
struct history_asked {
	uint64_t size, free;
	uint8_t device;
};
struct history_asked history_asked(const struct ledger *l, const struct process *p, const struct gmt_call *call,
				   enum gmt_op op);

/* A thread's call failed: true if that is an event. */
bool history_oom_failed(struct history_oom *oom, uint32_t tid, uint64_t size, uint64_t ts_ns);
/* A call of oom's thread did not: true if the event is to be taken back. */
bool history_oom_succeeded(struct history_oom *oom, uint64_t size);

#endif

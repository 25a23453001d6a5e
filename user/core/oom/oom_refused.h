/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that the kernel driver refused outside of all calls that are probed. */
#ifndef GPUMEMTRACE_CORE_OOM_OOM_REFUSED_H
#define GPUMEMTRACE_CORE_OOM_OOM_REFUSED_H

#include "core/ledger/delta.h"
#include "core/oom/oom_state.h"

/* DELTA_DRIVER_ALLOC: refused to the process, or got. */
void ooms_driver(struct ooms *o, const struct delta *d);
/* The thread does what shows that no call which is not probed goes on in it. */
void ooms_left(struct ooms *o, const struct process *p, uint32_t tid, uint64_t ts_ns);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests about which something is known, until somebody takes them. */
#ifndef GPUMEMTRACE_CORE_OOM_OOM_QUEUE_H
#define GPUMEMTRACE_CORE_OOM_OOM_QUEUE_H

#include "core/oom/oom_state.h"

void oom_free(struct oom *oom);        /* NULL is fine */

/* For ooms_take(): it is the queue's now. */
void ooms_push(struct ooms *o, struct oom *oom);
/* The next one that something is known about, NULL: none. It is the caller's. The same number may come again
 * when more is known: with another outcome, and no picture unless there is a newer one. */
struct oom *ooms_take(struct ooms *o);

#endif

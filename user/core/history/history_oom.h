/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests for memory that could not be met, as events: oom_requests.h says what became of them. A request is one
 * event, at its newest failure; one that was met in the end is none.
 */
#ifndef GPUMEMTRACE_CORE_HISTORY_HISTORY_OOM_H
#define GPUMEMTRACE_CORE_HISTORY_HISTORY_OOM_H

#include <gpumemtrace/api.h>

#include "core/history/history_change.h"

struct gmt_call;
struct gmt_fw_oom;

/* A call for device memory failed; PyTorch is about to raise its error. */
void history_oom_failed(const struct history_step *s, const struct ledger *l, const struct gmt_call *call,
			enum gmt_op op);
void history_oom_reported(const struct history_step *s, const struct ledger *l, const struct gmt_fw_oom *rec);

/* A call was applied: it may have met a request. */
void history_oom_look(struct history *h, const struct ledger *l);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts that all views have in common. */
#ifndef GPUMEMTRACE_CORE_VIEW_VIEW_FACTS_H
#define GPUMEMTRACE_CORE_VIEW_VIEW_FACTS_H

#include "core/view/view.h"

struct framework;
struct ledger;
struct oom;
struct process;

/* Begins the view: fills in everything that is about no GPU, process or stack. */
void view_fill_session(const struct ledger *l, const struct view_request *request, struct view *view);
/* Sets order[number] to the place that the ledger's GPU `number` has in view->gpus. */
void view_fill_gpus(const struct ledger *l, struct view *view, int *order);
/* Sets what NVML told of the GPUs to what the request has of the moment when it failed. */
void view_set_gpus(struct view *view, const struct oom *oom);
/* Fills in the identity of a process; the rest is zero. */
void view_fill_facts(const struct pipeline *pl, const struct process *p, struct view_proc *out);
/* Anomalies of a kind that the ledger and a framework found; f may be NULL. */
uint64_t view_anomalies_of(const struct process *p, const struct framework *f, int kind);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The lives of processes (process.h), as lifecycle records and the collector's facts have them. */
#ifndef GPUMEMTRACE_CORE_LEDGER_LIFE_H
#define GPUMEMTRACE_CORE_LEDGER_LIFE_H

#include <gpumemtrace/wire.h>

struct process;
struct processes;

void life_fork(struct processes *all, const struct gmt_proc_fork *rec);
/* Met for the first time: maybe the next life of a pid whose end was not seen. */
void life_seen(struct processes *all, const struct gmt_proc_exec *rec);
void life_exec(struct process *p, const struct gmt_proc_exec *rec);
void life_exit(struct process *p, const struct gmt_proc_exit *rec);
/* Facts: may turn out to be a new life of the pid. The process they are about. */
struct process *life_facts(struct processes *all, const struct gmt_proc *rec);
void life_attach(struct process *p, const struct gmt_attach *rec);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The handlers of records: ledger.c's table says which kinds of records each handler takes. A record has at least the
 * size of its structure. A handler returns 0; -EINVAL: malformed; -ENOENT: the record is about something that this
 * version does not know.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_HANDLERS_H
#define GPUMEMTRACE_CORE_LEDGER_HANDLERS_H

struct gmt_hdr;
struct ledger;
struct process;

/* Applies the operation of a call of the driver's API. */
int calls_apply(struct process *p, const struct gmt_hdr *hdr);

/* The kernel layer: the memory that RM gave and took, and where UVM mapped the memory. Each function keeps the rows'
 * physical bytes, and the stacks of memory that no call explains, in step with rm.h. */
int kernel_rm_alloc(struct process *p, const struct gmt_hdr *hdr);
int kernel_rm_free(struct process *p, const struct gmt_hdr *hdr);
int kernel_rm_dup(struct process *p, const struct gmt_hdr *hdr);
int kernel_uvm_gpu(struct process *p, const struct gmt_hdr *hdr);
int kernel_uvm_vaspace(struct process *p, const struct gmt_hdr *hdr);
int kernel_uvm_map(struct process *p, const struct gmt_hdr *hdr);
int kernel_uvm_unmap(struct process *p, const struct gmt_hdr *hdr);
int kernel_uvm_free(struct process *p, const struct gmt_hdr *hdr);

/* The lives of processes, by lifecycle records and the collector's facts. life_seen(): a process is met for the first
 * time. life_seen() and life_facts() begin the pid's next life if the record shows that an end was not seen. */
int life_fork(struct ledger *l, const struct gmt_hdr *hdr);
int life_seen(struct ledger *l, const struct gmt_hdr *hdr);
int life_facts(struct ledger *l, const struct gmt_hdr *hdr);
int life_exec(struct ledger *l, const struct gmt_hdr *hdr);
int life_exit(struct process *p, const struct gmt_hdr *hdr);
int life_attach(struct process *p, const struct gmt_hdr *hdr);

/* Takes in NVML's number for the process on a GPU. */
int balance_nvml(struct process *p, const struct gmt_hdr *hdr);

/* Hands a framework's record to the observer that keeps frameworks' blocks (delta.h). */
int framework_record_memory(struct process *p, const struct gmt_hdr *hdr);
int framework_record_oom(struct process *p, const struct gmt_hdr *hdr);
int framework_record_other(struct process *p, const struct gmt_hdr *hdr);
/* The number of the record's framework, maybe a newer version's; -1: the record is of no framework. The record has the
 * size of its kind. */
int framework_of_record(const struct gmt_hdr *record);

#endif

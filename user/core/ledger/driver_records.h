/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel layer's records on their way into a process: what RM gave and took, and where UVM mapped it.
 * Each keeps the rows' physical bytes, and the stacks of what no call explains, in step with rm.h.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_DRIVER_RECORDS_H
#define GPUMEMTRACE_CORE_LEDGER_DRIVER_RECORDS_H

#include <gpumemtrace/wire.h>

struct ledger;
struct process;

int kernel_rm_alloc(struct ledger *l, struct process *p, const struct gmt_hdr *hdr);
int kernel_rm_free(struct ledger *l, struct process *p, const struct gmt_hdr *hdr);
int kernel_rm_dup(struct ledger *l, struct process *p, const struct gmt_hdr *hdr);
int kernel_uvm_gpu(struct ledger *l, struct process *p, const struct gmt_hdr *hdr);
int kernel_uvm_vaspace(struct ledger *l, struct process *p, const struct gmt_hdr *hdr);
int kernel_uvm_map(struct ledger *l, struct process *p, const struct gmt_hdr *hdr);
int kernel_uvm_unmap(struct ledger *l, struct process *p, const struct gmt_hdr *hdr);
int kernel_uvm_free(struct ledger *l, struct process *p, const struct gmt_hdr *hdr);

#endif

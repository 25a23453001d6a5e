/* SPDX-License-Identifier: BSD-2-Clause */
/* Frameworks' records on their way to who keeps their blocks (delta.h). */
#ifndef GPUMEMTRACE_CORE_LEDGER_FRAMEWORK_RECORDS_H
#define GPUMEMTRACE_CORE_LEDGER_FRAMEWORK_RECORDS_H

struct gmt_hdr;
struct ledger;
struct process;

/* 0; -EINVAL: malformed; -ENOENT: of a number that this version does not know. */
int framework_record_memory(struct ledger *l, struct process *p, const struct gmt_hdr *hdr);
int framework_record_oom(struct ledger *l, struct process *p, const struct gmt_hdr *hdr);
int framework_record_other(struct ledger *l, struct process *p, const struct gmt_hdr *hdr);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a record of a dump (oom_records.h, history_records.h) is well-formed by itself. Any bytes may come. */
#ifndef GPUMEMTRACE_CORE_LEDGER_DUMP_RECORDS_H
#define GPUMEMTRACE_CORE_LEDGER_DUMP_RECORDS_H

struct gmt_hdr;

/* 0 or -EINVAL. The record has the size of its kind's structure at least. */
int dump_record_check(const struct gmt_hdr *record);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a record of a dump (oom_records.h, history_records.h) is well-formed by itself. Any bytes may come. */
#ifndef GPUMEMTRACE_CORE_LEDGER_DUMP_RECORDS_H
#define GPUMEMTRACE_CORE_LEDGER_DUMP_RECORDS_H

#include <stdint.h>

#include <gpumemtrace/wire.h>

/* 0 or -EINVAL. The record has the size of its kind's structure at least; its terms may be those of a newer version. */
int dump_record_check(const struct gmt_hdr *record);

/* What a newer version may have is none. It keeps its number, by which later events may be named. */
static inline enum gmt_history_kind dump_event_kind(const struct gmt_history_event *rec)
{
	return rec->kind < GMT_HISTORY_KIND_COUNT ? (enum gmt_history_kind)rec->kind : GMT_HISTORY_NOTHING;
}

/* enum gmt_category + 1, 0: not known. A category that only a newer version has is UNKNOWN. */
static inline uint8_t dump_category(uint32_t stored)
{
	return stored <= GMT_CATEGORY_COUNT ? stored : GMT_CATEGORY_UNKNOWN + 1;
}

#endif

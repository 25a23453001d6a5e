/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a record of a dump (oom_records.h, history_records.h) is well-formed by itself. Any bytes may come. */
#ifndef GPUMEMTRACE_CORE_LEDGER_DUMP_RECORDS_H
#define GPUMEMTRACE_CORE_LEDGER_DUMP_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

/* The record has the size of its kind's structure at least. Its terms may be those of a newer version. */
bool dump_record_is_valid(const struct gmt_hdr *record);

/* An event of a kind that only a newer version knows counts as none, but keeps its number: later events may name it. */
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

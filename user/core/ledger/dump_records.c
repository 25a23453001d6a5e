// SPDX-License-Identifier: BSD-2-Clause
#include "core/ledger/dump_records.h"

#include "core/ledger/process_tables.h"

#define AMOUNT_MAX (1ll << 44)    /* bytes: sums of many such amounts fit 64 bits */
#define DEVICES_MAX 255
#define NUMBER_MAX (1ULL << 62)   /* numbers of events: no session has so many */

static bool is_amount(int64_t bytes)
{
	return bytes >= -AMOUNT_MAX && bytes <= AMOUNT_MAX;
}

static bool is_row(const struct gmt_oom_row *rec)
{
	return is_amount((int64_t)rec->physical) && is_amount(rec->context) && is_amount(rec->modules) &&
	       is_amount(rec->pool_reserve) && is_amount(rec->rounding) && is_amount(rec->other);
}

static bool is_stack(const struct gmt_oom_stack *rec)
{
	return is_amount((int64_t)rec->live) && is_amount(rec->grown) && is_amount(rec->recent);
}

static bool is_unseen(const struct gmt_history_unseen *rec)
{
	return rec->device < DEVICES_MAX && rec->allocated <= ALLOC_SIZE_MAX && rec->reserved <= ALLOC_SIZE_MAX;
}

static bool is_range(const struct gmt_history_range *rec)
{
	return alloc_is_place(rec->base, rec->length) && rec->asked <= rec->length;
}

static bool is_event(const struct gmt_history_event *rec)
{
	enum gmt_history_kind kind = dump_event_kind(rec);

	return rec->size <= ALLOC_SIZE_MAX && (kind == GMT_HISTORY_NOTHING || kind == GMT_HISTORY_OOM ||
					       alloc_is_place(rec->address, rec->size));
}

bool dump_record_is_valid(const struct gmt_hdr *record)
{
	switch (record->kind) {
	case GMT_KIND_OOM_ROW:
		return is_row((const void *)record);
	case GMT_KIND_OOM_STACK:
		return is_stack((const void *)record);
	case GMT_KIND_HISTORY:
		return ((const struct gmt_history *)record)->first < NUMBER_MAX;
	case GMT_KIND_HISTORY_UNSEEN:
		return is_unseen((const void *)record);
	case GMT_KIND_HISTORY_RANGE:
		return is_range((const void *)record);
	case GMT_KIND_HISTORY_EVENT:
		return is_event((const void *)record);
	default:
		return true;
	}
}

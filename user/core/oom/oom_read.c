// SPDX-License-Identifier: BSD-2-Clause
/* Reads requests and their pictures from the records of a dump. Terms may be those of a newer version. */
#include "core/oom/oom_state.h"

#include <errno.h>

#include "base/xalloc.h"
#include "core/ledger/dump_records.h"
#include "core/oom/oom_gpus.h"

#define READ_MAX (1u << 18)    /* rows, stacks or waiting stacks that are taken from a dump */

static int read_request(struct ooms *o, const struct gmt_oom *rec)
{
	o->reading = xcalloc(1, sizeof(struct oom));
	o->reading->rec = *rec;
	/* A dump has them before the request. */
	oom_take_gpus(o->reading, o->ledger);
	return 0;
}

static int read_row(struct oom *oom, const struct gmt_oom_row *rec)
{
	if (!oom)
		return 0;
	if (rec->number != oom->rec.number || oom->row_count == READ_MAX)
		return -EINVAL;
	oom->rows = xgrow(oom->rows, oom->row_count, sizeof(*oom->rows));
	oom->rows[oom->row_count] = *rec;
	if (rec->torch_backend >= GMT_TORCH_BACKEND_COUNT)
		oom->rows[oom->row_count].torch_backend = GMT_TORCH_UNKNOWN;
	oom->rows[oom->row_count++].stacks = 0;   /* counts the records that follow */
	return 0;
}

static int read_stack(struct oom *oom, const struct gmt_oom_stack *rec)
{
	if (!oom)
		return 0;
	if (!oom->row_count || rec->number != oom->rec.number || oom->stack_count == READ_MAX ||
	    rec->hdr.tgid != oom->rows[oom->row_count - 1].hdr.tgid)
		return -EINVAL;
	oom->stacks = xgrow(oom->stacks, oom->stack_count, sizeof(*oom->stacks));
	oom->stacks[oom->stack_count] = *rec;
	oom->stacks[oom->stack_count++].purpose = dump_category(rec->purpose);
	oom->rows[oom->row_count - 1].stacks++;
	return 0;
}

static int read_waiting(struct oom *oom, const struct gmt_oom_waiting *rec)
{
	if (!oom)
		return 0;
	if (!rec->stack_id || !rec->waiting_id || rec->number != oom->rec.number || oom->waiting_count == READ_MAX)
		return -EINVAL;
	oom->waiting = xgrow(oom->waiting, oom->waiting_count, sizeof(*oom->waiting));
	oom->waiting[oom->waiting_count++] = *rec;
	return 0;
}

int ooms_read(struct ooms *o, const struct gmt_hdr *rec)
{
	switch (rec->kind) {
	case GMT_KIND_OOM:
		return read_request(o, (const void *)rec);
	case GMT_KIND_OOM_ROW:
		return read_row(o->reading, (const void *)rec);
	case GMT_KIND_OOM_STACK:
		return read_stack(o->reading, (const void *)rec);
	case GMT_KIND_OOM_WAITING:
		return read_waiting(o->reading, (const void *)rec);
	default:
		return 0;
	}
}

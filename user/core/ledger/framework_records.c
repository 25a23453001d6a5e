// SPDX-License-Identifier: BSD-2-Clause
/* Hands frameworks' records to the observer that keeps frameworks' blocks (delta.h). */
#include <errno.h>

#include "core/ledger/handlers.h"
#include "core/ledger/process.h"

int framework_of_record(const struct gmt_hdr *record)
{
	switch (record->kind) {
#define X(kind, type)                                                             \
	case GMT_KIND_##kind:                                                     \
		return ((const struct type *)record)->framework;
	X(FW_MEM, gmt_fw_mem)
	X(FW_OOM, gmt_fw_oom)
	X(FW_RANGE, gmt_fw_range)
	X(FW_SIZE, gmt_fw_size)
	X(FRAMEWORK, gmt_framework)
#undef X
	}
	return -1;
}

/* `row` is the row of the record's device; 0: the record is of no device, or the row is not known. */
static int give_framework(struct process *p, const struct gmt_hdr *hdr, unsigned int row)
{
	int err = 0;

	deltas_give(p->out, &(struct delta){
		.kind = DELTA_FRAMEWORK, .tid = hdr->tid, .p = p, .ts_ns = hdr->ts_ns,
		.framework = { .rec = hdr, .id = (enum gmt_fw)framework_of_record(hdr), .row = row, .error = &err },
	});
	return err;
}

static bool is_memory_event(const struct gmt_fw_mem *rec)
{
	int64_t limit = ALLOC_SIZE_MAX;

	return rec->device_index < ORDINAL_NONE && rec->delta && rec->delta <= limit && rec->delta >= -limit &&
	       rec->total_allocated <= ALLOC_SIZE_MAX && rec->total_reserved <= ALLOC_SIZE_MAX &&
	       (rec->delta <= (int64_t)rec->total_allocated || rec->flags & GMT_FW_NO_TOTALS);
}

static bool is_on_gpu(unsigned int device_type)
{
	return device_type == GMT_FW_GPU || device_type == GMT_FW_BY_ADDRESS;
}

int framework_record_memory(struct process *p, const struct gmt_hdr *hdr)
{
	const struct gmt_fw_mem *rec = (const void *)hdr;

	if (!is_on_gpu(rec->device_type))
		return 0;
	if (!is_memory_event(rec))
		return -EINVAL;
	if (rec->device_type == GMT_FW_BY_ADDRESS)
		return give_framework(p, hdr, 0);
	return give_framework(p, hdr, process_device_row(p, rec->device_index, rec->ptr));
}

int framework_record_oom(struct process *p, const struct gmt_hdr *hdr)
{
	const struct gmt_fw_oom *rec = (const void *)hdr;

	if (!is_on_gpu(rec->device_type))
		return 0;
	return give_framework(p, hdr, process_row(p, 0, NULL, rec->device_type == GMT_FW_GPU ? rec->device_index :
								  ORDINAL_NONE));
}

int framework_record_other(struct process *p, const struct gmt_hdr *hdr)
{
	return give_framework(p, hdr, 0);
}

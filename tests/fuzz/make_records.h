/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes wire records of any bytes, for the fuzzers of what reads records.
 *
 * The input is a list of records, each {kind, mode, ...}. In raw mode the record's bytes follow. Else it is built from a
 * few bytes, its numbers out of a small set: so frees meet allocations, ranges overlap and handles are used again.
 */
#ifndef GPUMEMTRACE_TESTS_FUZZ_MAKE_RECORDS_H
#define GPUMEMTRACE_TESTS_FUZZ_MAKE_RECORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <gpumemtrace/wire.h>

#include "core/terms/probes.h"

#define X(name, value, type, text) { value, sizeof(struct type) },
static const struct { uint16_t kind, size; } kinds[] = { GMT_KINDS(X) };
#undef X

enum {
	MODE_RAW = 1, MODE_SHORT = 2, MODE_LONG = 4, MODE_ODD_KIND = 8, MODE_VIEW = 16, /* raw but for VIEW */
	MODE_UNDO = 2, MODE_FAILED = 4, MODE_UNREAD = 8,
};

struct input {
	const uint8_t *data;
	size_t size;
};

union record {
	uint64_t words[512];
	struct gmt_hdr hdr;
	struct gmt_call call;
	struct gmt_rm_alloc rm_alloc;
	struct gmt_uvm_map uvm_map;
	struct gmt_uvm_unmap uvm_unmap;
	struct gmt_uvm_free uvm_free;
	struct gmt_nvml nvml;
	struct gmt_fw_mem fw_mem;
	struct gmt_fw_oom fw_oom;
	struct gmt_fw_range fw_range;
	struct gmt_history_event event;
};

static uint8_t byte(struct input *in)
{
	return in->size ? (in->size--, *in->data++) : 0;
}

/* A size or an address. */
static uint64_t number(struct input *in)
{
	uint8_t b = byte(in);

	if (b < 64)
		return (uint64_t)b << 9;
	if (b < 224)
		return (uint64_t)(b & 31) << 21;
	return b < 248 ? UINT64_MAX >> (b & 7) * 8 : b & 7;
}

/* Calls, or records of windows, are the half of all. */
static unsigned int choose(uint8_t byte, bool window)
{
	static const unsigned int windows = GMT_KIND_HISTORY_MARK - GMT_KIND_HISTORY + 1;
	unsigned int first = 0;

	if (!(byte & 1))
		return (byte >> 1) % (sizeof(kinds) / sizeof(kinds[0]));
	while (window && kinds[first].kind != GMT_KIND_HISTORY)
		first++;
	return window ? first + (byte >> 1) % windows : 0;
}

static size_t raw_record(struct input *in, union record *rec, unsigned int which, unsigned int mode)
{
	size_t size = kinds[which].size, have;

	if (mode & MODE_SHORT)
		size -= 8;
	if (mode & MODE_LONG)
		size += 8 * (mode >> 5);
	have = in->size < size ? in->size : size;
	memcpy(rec, in->data, have);
	in->data += have;
	in->size -= have;
	rec->hdr.size = size;
	rec->hdr.kind = kinds[which].kind + (mode & MODE_ODD_KIND ? 0x100 : 0);
	return size;
}

static void build_call(struct input *in, struct gmt_call *call, unsigned int mode)
{
	const struct gmt_probe *probe;

	call->api = byte(in) % GMT_API_MAX;
	probe = &gmt_probes[call->api];
	if (probe->flags & GMT_API_RELEASE)
		call->phase = mode & MODE_UNDO ? GMT_PHASE_UNDO : GMT_PHASE_ENTER;
	call->rc = mode & MODE_FAILED && call->phase != GMT_PHASE_ENTER ? 2 : 0;
	call->unread = mode & MODE_UNREAD ? byte(in) : 0;
	call->seq = byte(in) & 7;
	call->stack_id = call->seq & 3;
	for (unsigned int i = 0; i < probe->count; i++)
		call->vals[i] = number(in);
	call->hdr.size = sizeof(*call) + 8 * probe->count;
}

static void build_rm(struct input *in, union record *rec)
{
	/* Memory, the clients, a device, a VA space (class numbers: NVIDIA/open-gpu-kernel-modules). */
	static const uint32_t classes[] = { 0x40, 0x40, 0x40, 0x41, 0x80, 0x90f1, 0x3e, 0x00 };
	struct gmt_rm_alloc *rm = &rec->rm_alloc;

	switch (rec->hdr.kind) {
	case GMT_KIND_RM_ALLOC:
		rm->cause.api = byte(in) % GMT_API_MAX;
		rm->class_id = classes[byte(in) & 7];
		rm->status = rm->status == 7;
		rm->attr = rm->attr == 7 ? 1 << 25 : 0;
		rm->flags = rm->flags == 7 ? 1 << 19 : 0;
		rm->size = number(in);
		break;
	case GMT_KIND_UVM_MAP:
		rec->uvm_map.base = number(in);
		rec->uvm_map.length = number(in);
		break;
	case GMT_KIND_UVM_UNMAP:
		rec->uvm_unmap.base = number(in);
		rec->uvm_unmap.length = number(in);
		break;
	case GMT_KIND_UVM_FREE:
		rec->uvm_free.base = number(in);
		break;
	case GMT_KIND_FW_MEM:
		rec->fw_mem.ptr = number(in);
		rec->fw_mem.delta = byte(in) & 1 ? (int64_t)number(in) : -(int64_t)number(in);
		rec->fw_mem.total_allocated = number(in);
		rec->fw_mem.total_reserved = number(in);
		rec->fw_mem.flags = byte(in) & GMT_FW_NO_TOTALS;
		rec->fw_mem.device_type = byte(in) & 1 ? GMT_FW_GPU : GMT_FW_BY_ADDRESS;
		rec->fw_mem.device_index = byte(in) & 3;
		break;
	case GMT_KIND_FW_RANGE:
		rec->fw_range.object = byte(in) & 7;
		rec->fw_range.what = byte(in) & 3;
		snprintf((char *)rec->fw_range.name, sizeof(rec->fw_range.name), "%s%u",
			 byte(in) & 1 ? "Optimizer.step#" : "range ", byte(in));
		break;
	case GMT_KIND_FW_OOM:
		rec->fw_oom.size = number(in);
		rec->fw_oom.device_type = GMT_FW_GPU;
		rec->fw_oom.device_index = byte(in) & 3;
		break;
	case GMT_KIND_HISTORY:
	case GMT_KIND_HISTORY_UNSEEN:
	case GMT_KIND_HISTORY_MARK:
		break;
	case GMT_KIND_HISTORY_RANGE:
	case GMT_KIND_HISTORY_EVENT:
		rec->event.address = number(in);
		rec->event.size = number(in);
		break;
	case GMT_KIND_NVML:
		rec->nvml.used_bytes = number(in);
		rec->nvml.when &= 1;
		break;
	}
}

static size_t build_record(struct input *in, union record *rec, unsigned int which, unsigned int mode, uint64_t *ts_ns)
{
	uint32_t *body = (uint32_t *)(&rec->hdr + 1);
	uint8_t who = byte(in);

	*ts_ns += who;
	rec->hdr = (struct gmt_hdr){ .size = kinds[which].size, .kind = kinds[which].kind, .tgid = 1 + (who & 1),
		.tid = 1 + (who >> 1 & 3), .ts_ns = *ts_ns };
	if (rec->hdr.kind == GMT_KIND_CALL) {
		build_call(in, &rec->call, mode);
		return rec->hdr.size;
	}
	/* Text is left empty; of the rest a byte fills two numbers. */
	for (size_t i = 0; i < 20 && 4 * i < rec->hdr.size - sizeof(rec->hdr); i += 2) {
		body[i] = byte(in);
		body[i + 1] = body[i] >> 4 & 7;
		body[i] &= 7;
	}
	build_rm(in, rec);
	return rec->hdr.size;
}

/* The next record of the input. mode: its second byte. Returns the record's size; 0: the input has ended. */
static size_t make_record(struct input *in, bool window, union record *rec, uint64_t *ts_ns, unsigned int *mode)
{
	unsigned int which;

	if (in->size < 2)
		return 0;
	which = choose(byte(in), window);
	*mode = byte(in);
	*rec = (union record){ 0 };
	return *mode & MODE_RAW ? raw_record(in, rec, which, *mode) : build_record(in, rec, which, *mode, ts_ns);
}

#endif

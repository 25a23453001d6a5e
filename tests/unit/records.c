// SPDX-License-Identifier: BSD-2-Clause
/* See records.h. */
#include "records.h"

#include <string.h>

static void init_with(struct records *r, const struct pipeline_options *options)
{
	*r = (struct records){ .ts_ns = 1000, .tgid = 100, .tid = 100, .object = 0x5c001000 };
	r->pipeline = pipeline_new(options);
	r->ledger = r->pipeline->ledger;
	r->ooms = r->pipeline->ooms;
	r->history = r->pipeline->history;
}

void records_init_history(struct records *r, uint64_t most)
{
	init_with(r, &(struct pipeline_options){ .watches_requests = true, .history_events = most,
						 .keeps_instants = most });
}

void records_init(struct records *r)
{
	records_init_history(r, 0);
}

void records_fini(struct records *r)
{
	pipeline_free(r->pipeline);
}

void records_apply(struct records *r, void *record, enum gmt_kind kind, size_t size)
{
	struct gmt_hdr *hdr = record;

	*hdr = (struct gmt_hdr){
		.size = size,
		.kind = kind,
		.tgid = r->tgid,
		.tid = r->tid,
		.ts_ns = r->ts_ns++,
	};
	r->result = pipeline_apply(r->pipeline, record, size);
}

#define APPLY(r, rec, KIND) records_apply(r, &(rec), GMT_KIND_##KIND, sizeof(rec))

/* ---- calls ---- */

static void apply_call(struct records *r, enum gmt_api api, enum gmt_phase phase, uint32_t seq, int rc,
		       unsigned int count, const uint64_t *val)
{
	struct {
		struct gmt_call call;
		uint64_t val[16];
	} rec = { .call = { .api = api, .phase = phase, .rc = rc, .seq = seq, .unread = r->unread,
			    .stack_id = r->stack_id } };

	for (unsigned int i = 0; i < count && i < 16; i++)
		rec.val[i] = val[i];
	r->unread = 0;
	records_apply(r, &rec, GMT_KIND_CALL, sizeof(rec.call) + count * sizeof(uint64_t));
}

uint32_t records_call(struct records *r, enum gmt_api api, int rc, unsigned int count, const uint64_t *val)
{
	apply_call(r, api, GMT_PHASE_DONE, ++r->seq, rc, count, val);
	return r->seq;
}

uint32_t records_enter(struct records *r, enum gmt_api api, unsigned int count, const uint64_t *val)
{
	apply_call(r, api, GMT_PHASE_ENTER, ++r->seq, 0, count, val);
	return r->seq;
}

void records_undo(struct records *r, enum gmt_api api, uint32_t seq, int rc, unsigned int count, const uint64_t *val)
{
	apply_call(r, api, GMT_PHASE_UNDO, seq, rc, count, val);
}

/* ---- the collector's ---- */

void records_uuid(uint32_t index, uint8_t *uuid)
{
	for (int i = 0; i < GMT_UUID_BYTES; i++)
		uuid[i] = 0xa0 + 16 * i + index;
}

void records_session(struct records *r, uint32_t layers)
{
	struct gmt_session rec = { .wall_ns = 1700000000000000000, .layers = layers, .driver = "580.159.04" };

	APPLY(r, rec, SESSION);
}

void records_gpu(struct records *r, uint32_t index, uint32_t flags)
{
	struct gmt_gpu rec = { .index = index, .minor = index, .flags = flags, .total_bytes = 80 * GiB, .name = "GPU" };

	records_uuid(index, rec.uuid);
	APPLY(r, rec, GPU);
}

void records_attach(struct records *r, bool from_start)
{
	struct gmt_attach rec = { .flags = from_start ? GMT_ATTACH_FROM_START : 0 };

	APPLY(r, rec, ATTACH);
}

void records_nvml(struct records *r, uint32_t gpu_index, enum gmt_nvml_when when, uint64_t used_bytes)
{
	struct gmt_nvml rec = { .used_bytes = used_bytes, .when = when };

	records_uuid(gpu_index, rec.uuid);
	APPLY(r, rec, NVML);
}

void records_gpu_memory(struct records *r, uint32_t gpu_index, uint64_t free_bytes, uint64_t processes_bytes)
{
	struct gmt_gpu_memory rec = {
		.used_bytes = 80 * GiB - free_bytes, .free_bytes = free_bytes, .processes_bytes = processes_bytes,
	};

	records_uuid(gpu_index, rec.uuid);
	APPLY(r, rec, GPU_MEMORY);
}

static void put_neighbour(struct records *r, uint32_t gpu_index, uint32_t pid, struct gmt_gpu_neighbour *rec)
{
	uint32_t tgid = r->tgid;

	r->tgid = pid;
	records_uuid(gpu_index, rec->uuid);
	APPLY(r, *rec, GPU_NEIGHBOUR);
	r->tgid = tgid;
}

void records_neighbour(struct records *r, uint32_t gpu_index, uint32_t pid, uint64_t used_bytes, const char *comm)
{
	struct gmt_gpu_neighbour rec = { .used_bytes = used_bytes, .count = 1 };

	memcpy(rec.comm, comm, strlen(comm));
	put_neighbour(r, gpu_index, pid, &rec);
}

void records_more_neighbours(struct records *r, uint32_t gpu_index, uint32_t count, uint64_t used_bytes)
{
	put_neighbour(r, gpu_index, 0, &(struct gmt_gpu_neighbour){ .used_bytes = used_bytes, .count = count });
}

void records_device(struct records *r, uint32_t ordinal, uint32_t gpu_index)
{
	uint8_t uuid[GMT_UUID_BYTES];
	uint64_t words[2];

	records_uuid(gpu_index, uuid);
	memcpy(words, uuid, sizeof(words));
	CALL(r, cuDeviceGetUuid_v2, words[0], words[1], ordinal);
}

void records_scene_with(struct records *r, uint32_t layers, const struct pipeline_options *options)
{
	init_with(r, options);
	records_session(r, layers);
	records_gpu(r, 0, 0);
	records_gpu(r, 1, 0);
	records_attach(r, true);
	records_device(r, 0, 1);
	records_device(r, 1, 0);
}

void records_scene_history(struct records *r, uint32_t layers, uint64_t most)
{
	records_scene_with(r, layers, &(struct pipeline_options){ .watches_requests = true, .history_events = most,
						 .keeps_instants = most });
}

void records_scene(struct records *r, uint32_t layers)
{
	records_scene_history(r, layers, 0);
}

int records_api_scene(void **state)
{
	static struct records r;

	records_scene(&r, API_LAYER);
	*state = &r;
	return 0;
}

int records_end_scene(void **state)
{
	records_fini(*state);
	return 0;
}

/* ---- the kernel's ---- */

static struct gmt_cause cause_of(const struct records *r)
{
	return (struct gmt_cause){ .api = r->cause, .seq = r->seq + 1, .stack_id = r->stack_id };
}

static void rm_object(struct records *r, uint32_t parent, uint32_t object, uint32_t class_id, uint64_t size)
{
	struct gmt_rm_alloc rec = {
		.cause = cause_of(r),
		.client = RM_CLIENT,
		.parent = parent,
		.object = object,
		.class_id = class_id,
		.device_id = class_id == 0x80 ? object & 0xff : 0,
		.size = size,
	};

	APPLY(r, rec, RM_ALLOC);
}

void records_rm_scene(struct records *r)
{
	uint16_t cause = r->cause;

	r->cause = GMT_API_cuInit;
	rm_object(r, RM_CLIENT, RM_CLIENT, 0x41, 0);
	for (uint32_t i = 0; i < 2; i++) {
		struct gmt_uvm_vaspace tie = { .client = RM_CLIENT, .vaspace = 0x5c000200 + i };

		rm_object(r, RM_CLIENT, RM_DEVICE(i), 0x80, 0);
		rm_object(r, RM_DEVICE(i), 0x5c000200 + i, 0x90f1, 0);
		records_uuid(i, tie.uuid);
		APPLY(r, tie, UVM_VASPACE);
	}
	r->cause = cause;
}

uint32_t records_rm_memory(struct records *r, uint32_t gpu_index, uint64_t size)
{
	rm_object(r, RM_DEVICE(gpu_index), ++r->object, 0x40, size);
	return r->object;
}

void records_rm_free(struct records *r, uint32_t object)
{
	struct gmt_rm_free rec = { .cause = cause_of(r), .client = RM_CLIENT, .parent = RM_CLIENT, .object = object };

	APPLY(r, rec, RM_FREE);
}

void records_rm_map(struct records *r, uint32_t gpu_index, uint64_t base, uint64_t size, uint32_t object)
{
	struct gmt_uvm_map rec = {
		.cause = cause_of(r),
		.base = base,
		.length = size,
		.client = RM_CLIENT,
		.memory = object,
		.gpu_count = 1,
	};

	records_uuid(gpu_index, rec.uuid);
	APPLY(r, rec, UVM_MAP);
}

/* ---- lives ---- */

void records_fork(struct records *r, uint32_t child, uint64_t start_ns)
{
	struct gmt_proc_fork rec = { .parent_tgid = r->tgid, .start_ns = start_ns };
	uint32_t parent = r->tgid;

	r->tgid = child;
	APPLY(r, rec, PROC_FORK);
	r->tgid = parent;
}

void records_seen(struct records *r, uint64_t start_ns)
{
	struct gmt_proc_exec rec = { .start_ns = start_ns, .comm = "seen" };

	APPLY(r, rec, PROC_SEEN);
}

void records_exec(struct records *r)
{
	struct gmt_proc_exec rec = { .comm = "next" };

	APPLY(r, rec, PROC_EXEC);
}

void records_exit(struct records *r, int code)
{
	struct gmt_proc_exit rec = { .exit_code = code };

	APPLY(r, rec, PROC_EXIT);
}

void records_proc(struct records *r, uint64_t start_ns, const char *comm)
{
	struct gmt_proc rec = { .start_ns = start_ns, .uid = 1000, .ns_pid = 7 };
	size_t size = strlen(comm);

	memcpy(rec.comm, comm, size < sizeof(rec.comm) ? size : sizeof(rec.comm));
	APPLY(r, rec, PROC);
}

/* ---- frameworks ---- */

void records_block_report(struct records *r, struct gmt_fw_mem rec)
{
	records_apply(r, &rec, GMT_KIND_FW_MEM, sizeof(rec));
}

void records_block(struct records *r, uint64_t ptr, int64_t delta, uint64_t allocated, uint64_t reserved)
{
	records_block_report(r, (struct gmt_fw_mem){
		.ptr = ptr, .delta = delta, .total_allocated = allocated, .total_reserved = reserved,
		.device_type = GMT_FW_GPU, .stack_id = r->stack_id,
	});
}

/* ---- stacks ---- */

void records_symbol(struct records *r, uint32_t id, const char *function, const char *module, const char *file,
		    uint32_t line)
{
	struct {
		struct gmt_symbol symbol;
		char text[512];
	} rec = { .symbol = {
		.id = id,
		.line = line,
		.kind = *file && !*module ? GMT_SYMBOL_PYTHON : GMT_SYMBOL_NATIVE,
		.function_len = strlen(function),
		.module_len = strlen(module),
		.file_len = strlen(file),
	} };
	size_t size = strlen(function) + strlen(module) + strlen(file) + 3;

	memcpy(rec.text, function, strlen(function));
	memcpy(rec.text + strlen(function) + 1, module, strlen(module));
	memcpy(rec.text + strlen(function) + strlen(module) + 2, file, strlen(file));
	records_apply(r, &rec, GMT_KIND_SYMBOL, sizeof(rec.symbol) + (size + 7) / 8 * 8);
}

void records_stack(struct records *r, uint32_t id, enum gmt_unwind_reason reason)
{
	struct {
		struct gmt_stack stack;
		uint64_t words[2];
	} rec = { .stack = { .id = id, .count = 2, .reason = reason } };

	APPLY(r, rec, STACK);
}

void records_frames(struct records *r, uint32_t stack_id, uint32_t count, const uint32_t *symbols)
{
	struct {
		struct gmt_stack_frames frames;
		uint32_t symbols[64];
	} rec = { .frames = { .stack_id = stack_id, .count = count } };

	memcpy(rec.symbols, symbols, count * sizeof(*symbols));
	records_apply(r, &rec, GMT_KIND_STACK_FRAMES, sizeof(rec.frames) + (count + 1) / 2 * 8);
}

/* ---- what the ledger says ---- */

static const struct view_proc *newest(const struct view *view, uint32_t tgid)
{
	for (size_t i = view->proc_count; i-- > 0;)
		if (view->procs[i].tgid == tgid)
			return &view->procs[i];
	return NULL;
}

bool records_row(const struct records *r, int gpu, struct view_row *row)
{
	struct view view;
	bool found = false;

	view_build(r->pipeline, NULL, &view);
	const struct view_proc *p = newest(&view, r->tgid);

	for (size_t i = 0; p && i < p->row_count && !found; i++) {
		int number = p->rows[i].gpu;

		found = number == NO_GPU ? gpu == NO_GPU : (int)view.gpus[number].index == gpu;
		*row = p->rows[i];
	}
	view_free(&view);
	if (!found)
		*row = (struct view_row){ 0 };
	return found;
}

struct view_class records_class(const struct records *r, int gpu, enum gmt_class class)
{
	struct view_class found = { 0 };
	struct view_row row;
	struct view view;

	if (gpu != ANY_GPU) {
		records_row(r, gpu, &row);
		return row.by_class[class];
	}
	view_build(r->pipeline, NULL, &view);
	const struct view_proc *p = newest(&view, r->tgid);

	if (p)
		found = p->by_class[class];
	view_free(&view);
	return found;
}

uint64_t records_live(const struct records *r, int gpu, enum gmt_class class)
{
	return records_class(r, gpu, class).bytes.live;
}

uint64_t records_anomalies(const struct records *r, enum gmt_anomaly anomaly)
{
	struct view view;

	view_build(r->pipeline, NULL, &view);
	uint64_t count = view.anomalies[anomaly];

	view_free(&view);
	return count;
}

uint64_t records_attributed(const struct records *r)
{
	uint64_t sum = 0;

	for (int class = 0; class < GMT_CLASS_COUNT; class++)
		sum += gmt_class_is_device(class) ? records_live(r, ANY_GPU, class) : 0;
	return sum;
}

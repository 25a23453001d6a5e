/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes wire records for tests and applies them to a ledger, and asks the ledger short questions.
 *
 * The scene of records_scene(): two GPUs with index 0 and 1, one process (100) traced from its start,
 * thread 100, to which CUDA ordinal 0 is the GPU with index 1 and ordinal 1 that with index 0, so
 * that nothing comes out right by accident. No context is current.
 */
#ifndef GPUMEMTRACE_TESTS_RECORDS_H
#define GPUMEMTRACE_TESTS_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/api.h>
#include <gpumemtrace/unwind.h>
#include <gpumemtrace/wire.h>

#include "core/history/history.h"
#include "core/ledger/ledger.h"
#include "core/pipeline/pipeline.h"
#include "core/view/view.h"

#define KiB 1024ull
#define MiB (1024 * KiB)
#define GiB (1024 * MiB)

#define API_LAYER GMT_LAYER_API
#define ALL_LAYERS (GMT_LAYER_API | GMT_LAYER_KERNEL | GMT_LAYER_NVML)

struct records {
	struct pipeline *pipeline; /* and its parts; it watches requests that fail */
	struct ledger *ledger;
	struct ooms *ooms;
	struct history *history; /* NULL: none */
	uint64_t ts_ns;          /* of the next record; each one adds 1 */
	uint32_t tgid, tid;      /* of the next record */
	uint32_t seq;            /* of the newest call; each call adds 1 */
	uint32_t object;         /* newest RM handle given out */
	uint8_t unread;          /* gmt_call.unread of the next call, then 0 again */
	uint16_t cause;          /* gmt_cause.api of RM records: enum gmt_api */
	uint32_t stack_id;       /* of calls and of RM records */
	int result;              /* of the newest pipeline_apply() */
};

/* An empty ledger, without a history or with one of so many events; records_scene() puts the scene into it. */
void records_init(struct records *r);
void records_init_history(struct records *r, uint64_t most);
void records_scene(struct records *r, uint32_t layers);
void records_scene_history(struct records *r, uint32_t layers, uint64_t most);
void records_scene_with(struct records *r, uint32_t layers, const struct pipeline_options *options);
void records_fini(struct records *r);
/* For cmocka's setup: *state is a struct records with the scene of the API layer. And the teardown of any scene. */
int records_api_scene(void **state);
int records_end_scene(void **state);

/* Any record: fills the header (kind, size, time, process, thread) and applies it. */
void records_apply(struct records *r, void *record, enum gmt_kind kind, size_t size);

/* ---- calls ---- */

/* A call with the values val[0 .. count-1]; the number of the call. */
uint32_t records_call(struct records *r, enum gmt_api api, int rc, unsigned int count, const uint64_t *val);
uint32_t records_enter(struct records *r, enum gmt_api api, unsigned int count, const uint64_t *val);
void records_undo(struct records *r, enum gmt_api api, uint32_t seq, int rc, unsigned int count,
		  const uint64_t *val);

#define RECORDS_VALS(...) sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t), (uint64_t[]){ __VA_ARGS__ }
/* CALL(r, cuMemAlloc_v2, address, size): it succeeded. */
#define CALL(r, symbol, ...) records_call(r, GMT_API_##symbol, 0, RECORDS_VALS(__VA_ARGS__))
#define FAIL(r, symbol, rc, ...) records_call(r, GMT_API_##symbol, rc, RECORDS_VALS(__VA_ARGS__))
/* RELEASE(r, cuMemFree_v2, address): entered, and nothing came after it. */
#define RELEASE(r, symbol, ...) records_enter(r, GMT_API_##symbol, RECORDS_VALS(__VA_ARGS__))
#define UNDO(r, symbol, seq, rc, ...) records_undo(r, GMT_API_##symbol, seq, rc, RECORDS_VALS(__VA_ARGS__))

/* ---- the collector's ---- */

void records_session(struct records *r, uint32_t layers);
void records_gpu(struct records *r, uint32_t index, uint32_t flags);
void records_attach(struct records *r, bool from_start);
void records_nvml(struct records *r, uint32_t gpu_index, enum gmt_nvml_when when, uint64_t used_bytes);
/* NVML's numbers of the GPU, and of a process on it that is not traced; pid 0: all further ones, `count` of them. */
void records_gpu_memory(struct records *r, uint32_t gpu_index, uint64_t free_bytes, uint64_t processes_bytes);
void records_neighbour(struct records *r, uint32_t gpu_index, uint32_t pid, uint64_t used_bytes, const char *comm);
void records_more_neighbours(struct records *r, uint32_t gpu_index, uint32_t count, uint64_t used_bytes);

/* The UUID that records_gpu() gives the GPU with the index; records_device() tells the process's ordinal
 * of it (cuDeviceGetUuid). */
void records_uuid(uint32_t index, uint8_t *uuid);
void records_device(struct records *r, uint32_t ordinal, uint32_t gpu_index);

/* ---- the kernel's ---- */

#define RM_CLIENT 0xc1d00001u
#define RM_DEVICE(gpu_index) (0x5c000100u + (gpu_index))

/* A client with a device for each of two GPUs, tied to it. */
void records_rm_scene(struct records *r);
/* Video memory on the GPU, obtained in call r->seq + 1 (the next one) for r->cause; its handle. */
uint32_t records_rm_memory(struct records *r, uint32_t gpu_index, uint64_t size);
void records_rm_free(struct records *r, uint32_t object);
void records_rm_map(struct records *r, uint32_t gpu_index, uint64_t base, uint64_t size, uint32_t object);

/* ---- lives ---- */

void records_fork(struct records *r, uint32_t child, uint64_t start_ns);
void records_seen(struct records *r, uint64_t start_ns);
void records_exec(struct records *r);
void records_exit(struct records *r, int code);
void records_proc(struct records *r, uint64_t start_ns, const char *comm);

/* ---- frameworks ---- */

/* A block on device 0: given out, or with a negative delta taken back. Then the device's totals are these. The stack is
 * r->stack_id. */
void records_block(struct records *r, uint64_t ptr, int64_t delta, uint64_t allocated, uint64_t reserved);
/* Any other report of a block. */
void records_block_report(struct records *r, struct gmt_fw_mem rec);

/* ---- stacks ---- */

/* A symbol of a native frame, or with a file of a Python one; a stack's raw record; its names. */
void records_symbol(struct records *r, uint32_t id, const char *function, const char *module, const char *file,
		    uint32_t line);
void records_stack(struct records *r, uint32_t id, enum gmt_unwind_reason reason);
void records_frames(struct records *r, uint32_t stack_id, uint32_t count, const uint32_t *symbols);
#define FRAMES(r, stack_id, ...) \
	records_frames(r, stack_id, sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), (uint32_t[]){ __VA_ARGS__ })

/* ---- what the ledger says ---- */

#define ANY_GPU (-2)
#define NO_GPU VIEW_GPU_UNKNOWN

/* Of the newest process with r->tgid. gpu: an index, NO_GPU, or ANY_GPU for the process's sums. */
struct view_class records_class(const struct records *r, int gpu, enum gmt_class class);
uint64_t records_live(const struct records *r, int gpu, enum gmt_class class);
uint64_t records_anomalies(const struct records *r, enum gmt_anomaly anomaly);
bool records_row(const struct records *r, int gpu, struct view_row *row);
/* Device bytes that calls asked for, on all GPUs. */
uint64_t records_attributed(const struct records *r);

#endif

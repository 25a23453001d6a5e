/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One process as the NVIDIA kernel driver sees it: RM clients, their objects, and the GPU VA ranges
 * that UVM maps them at. Gives physical bytes per GPU, exact, and the GPU an address lies on.
 *
 * Memory counts when it is of class 0x40, in video memory (attr bits 26:25 == 0) and not virtual
 * (flags bit 19 clear): the sum of these equals NVML's number to the MiB (measured on H100 and H200,
 * driver 580.159.04). Objects are keyed by (client, handle): handles are unique inside a client only.
 * GPUs are small integers that the caller gives to UUIDs; RM_GPU_UNKNOWN until a device handle is
 * tied to one (UVM_REGISTER_GPU_VASPACE, or a mapping of its memory).
 */
#ifndef GPUMEMTRACE_CORE_RM_RM_H
#define GPUMEMTRACE_CORE_RM_RM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/api.h>
#include <gpumemtrace/wire.h>

#define RM_GPU_UNKNOWN (-1)

struct rm;

struct rm *rm_new(void);
void rm_free(struct rm *rm);

/* What one record did to the physical memory. Bytes of the GPU `gpu`. Only an allocation adds bytes,
 * and on one GPU. Where the totals of more than one changed (a release that took memory of several,
 * an allocation that told which GPU earlier ones lie on), `several` is set and `bytes` is the sum. */
struct rm_change {
	int gpu;
	bool several;
	int64_t bytes;
	bool unknown_free;     /* an object that was not seen allocated was freed */
	bool double_alloc;     /* an object that was live was allocated again; the old one was dropped */
};

/* Each applies one record and says what changed. `purpose` is what the memory is for. */
void rm_alloc(struct rm *rm, const struct gmt_rm_alloc *rec, enum gmt_purpose purpose,
	      struct rm_change *change);
void rm_release(struct rm *rm, const struct gmt_rm_free *rec, struct rm_change *change);
void rm_dup(struct rm *rm, const struct gmt_rm_dup *rec);
/* `gpu` is the caller's number for the record's UUID. Memory of the device that had no GPU so far
 * becomes that GPU's: the totals move, see rm_physical(). */
void rm_vaspace(struct rm *rm, const struct gmt_uvm_vaspace *rec, int gpu);
void rm_map(struct rm *rm, const struct gmt_uvm_map *rec, int gpu);
void rm_unmap(struct rm *rm, const struct gmt_uvm_unmap *rec);
void rm_range_free(struct rm *rm, const struct gmt_uvm_free *rec);

/* The GPU whose memory is mapped at the device address; RM_GPU_UNKNOWN if nothing is. */
int rm_gpu_of_address(const struct rm *rm, uint64_t address);

/* The GPU of the newest memory object that was allocated inside call `seq` of thread `tid`;
 * RM_GPU_UNKNOWN if none: for cuMemCreate, whose handle has no address yet. */
int rm_gpu_of_call(const struct rm *rm, uint32_t tid, uint32_t seq);

/* The GPU of the device that an object is or lies below; RM_GPU_UNKNOWN. */
int rm_gpu_of_object(const struct rm *rm, uint32_t client, uint32_t object);

/* Live physical bytes on `gpu` (or RM_GPU_UNKNOWN) by purpose, and of objects duplicated from
 * another client whose memory is not this process's. */
struct rm_physical {
	uint64_t by_purpose[GMT_PURPOSE_COUNT];
	uint64_t total;
	uint64_t imported;
	uint64_t unknown_frees; /* ever, of objects from before attach; under RM_GPU_UNKNOWN if their GPU
				 * is not known */
};
void rm_physical(const struct rm *rm, int gpu, struct rm_physical *out);

/* Memory that no call of the API layer explains (contexts, modules, streams, graphs, what is obtained
 * outside of a call): to be booked by its own stack. */
enum rm_booking_kind { RM_BOOKING_ADD, RM_BOOKING_REMOVE, RM_BOOKING_MOVE };
struct rm_booking {
	enum rm_booking_kind kind;
	int gpu, to;             /* MOVE: from one to the other; else to is RM_GPU_UNKNOWN */
	uint32_t stack_id;       /* 0: none */
	uint64_t bytes;
	uint64_t ts_ns;          /* of its allocation */
};
/* What has happened since the last call, in order. Good until the next rm_ call that is not const. */
const struct rm_booking *rm_bookings(struct rm *rm, size_t *count);
/* The same for what is live now: memory `*pos` and on, 0 at the start. False at the end. */
bool rm_next_booking(const struct rm *rm, uint32_t *pos, struct rm_booking *booking);

/* How often bytes went from one GPU (or RM_GPU_UNKNOWN) to another, or went without an rm_change:
 * if it differs after rm_dup(), rm_vaspace() or rm_map(), rm_physical() of any GPU may. */
uint64_t rm_moves(const struct rm *rm);

uint64_t rm_object_count(const struct rm *rm);

#endif

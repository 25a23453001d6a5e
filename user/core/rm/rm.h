/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One process as the NVIDIA kernel driver sees it: RM clients, their objects, and the GPU VA ranges
 * that UVM maps them at. Gives physical bytes per GPU, exact, and the GPU an address lies on.
 *
 * Memory counts when it is of class 0x40, in video memory (attr bits 26:25 == 0) and not virtual
 * (flags bit 19 clear): the sum of these equals NVML's number to the MiB (measured on H100 and H200,
 * driver 580.159.04). Objects are keyed by (client, handle): handles are unique inside a client only.
 * GPUs are small integers that the caller gives to UUIDs; GPU_UNKNOWN until a device handle is
 * tied to one (UVM_REGISTER_GPU_VASPACE, or a mapping of its memory).
 */
#ifndef GPUMEMTRACE_CORE_RM_RM_H
#define GPUMEMTRACE_CORE_RM_RM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/api.h>
#include <gpumemtrace/wire.h>

#include "core/rm/rm_sums.h"

struct rm;

struct rm *rm_new(void);
void rm_free(struct rm *rm);

/* Each function applies one record. `purpose`: of the memory; `gpu`: the caller's number for the record's UUID. */
void rm_alloc(struct rm *rm, const struct gmt_rm_alloc *rec, enum gmt_purpose purpose,
	      struct rm_change *change);
void rm_release(struct rm *rm, const struct gmt_rm_free *rec, struct rm_change *change);
void rm_dup(struct rm *rm, const struct gmt_rm_dup *rec);
/* The memory of a device whose GPU was not known becomes this GPU's. The totals move, see rm_moves(). */
void rm_vaspace(struct rm *rm, const struct gmt_uvm_vaspace *rec, int gpu);
void rm_map(struct rm *rm, const struct gmt_uvm_map *rec, int gpu);
void rm_unmap(struct rm *rm, const struct gmt_uvm_unmap *rec, int gpu);
void rm_range_free(struct rm *rm, const struct gmt_uvm_free *rec);

/* The GPU whose memory is mapped at the device address; GPU_UNKNOWN if nothing is. */
int rm_gpu_of_address(const struct rm *rm, uint64_t address);

/* Whether memory is mapped at the device address, on whatever GPU it lies, or in host memory. */
bool rm_is_mapped(const struct rm *rm, uint64_t address);

/* The GPU of the newest memory object that was allocated inside call `seq` of thread `tid`;
 * GPU_UNKNOWN if none: for cuMemCreate, whose handle has no address yet. */
int rm_gpu_of_call(const struct rm *rm, uint32_t tid, uint32_t seq);

/* The GPU of the device that an object is or lies below; GPU_UNKNOWN. */
int rm_gpu_of_object(const struct rm *rm, uint32_t client, uint32_t object);

/* GPUs with sums are below this number. */
int rm_gpus(const struct rm *rm);
/* The sums of `gpu`, or of GPU_UNKNOWN. */
void rm_physical(const struct rm *rm, int gpu, struct rm_physical *out);

/* The bookings since the last rm_bookings(), in order. Good until the next rm_ call that is not const. */
const struct rm_booking *rm_bookings(struct rm *rm, size_t *count);
/* Walks the bookings of memory that is live now. *pos is 0 at the start. False at the end. */
bool rm_next_booking(const struct rm *rm, uint32_t *pos, struct rm_booking *booking);

/* Releases, and gives the video memory that was freed. Good until the next rm_ call that is not const. */
const struct rm_freed *rm_release_kept(struct rm *rm, const struct gmt_rm_free *rec, struct rm_change *change,
				       size_t *count);

/* How often bytes went from one GPU (or GPU_UNKNOWN) to another, or went without an rm_change. If rm_dup(),
 * rm_vaspace() or rm_map() has changed this number, rm_physical() of any GPU may have changed. */
uint64_t rm_moves(const struct rm *rm);

uint64_t rm_object_count(const struct rm *rm);

#endif

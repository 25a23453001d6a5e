/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory behind a process's RM objects: bodies, devices, and the sums over both. After RM_DUP several objects may
 * show one body, which lives as long as any of these objects. A device says on which GPU the memory below a device
 * handle lies; the GPU is learned late or never. The one invariant: a device's sums are the sums of its bodies, and a
 * GPU's sums are those of its devices and of the bodies without a device. So learning a device's GPU moves the device's
 * sums, and reading the sums of a GPU is one copy.
 */
#ifndef GPUMEMTRACE_CORE_RM_RM_MEMORY_H
#define GPUMEMTRACE_CORE_RM_RM_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slab.h"
#include "core/rm/rm_sums.h"

/* No GPU has more; a larger size is a broken record, and sums stay far from overflow. */
#define RMMEM_SIZE_MAX (1ULL << 48)

enum rmmem_kind {
	RMMEM_VIDMEM,   /* counts */
	RMMEM_SYSMEM,
	RMMEM_IMPORTED, /* another process's memory: the size is the bytes mapped here */
};

struct rmbody {
	uint64_t size;
	uint64_t serial;    /* never given twice, unlike the body's number; 0: none */
	uint64_t ts_ns;     /* of its allocation */
	uint32_t stack_id;  /* of its allocation; 0: none */
	uint32_t device;    /* 0: none */
	uint32_t refs;      /* objects */
	uint8_t kind;       /* enum rmmem_kind */
	uint8_t purpose;    /* enum gmt_purpose */
};

/* How sure it is that a device lies on its GPU; the surer source wins. */
enum rmmem_source {
	RMMEM_SOURCE_NONE,
	RMMEM_SOURCE_INSTANCE, /* another client's device of the same instance number lies there */
	RMMEM_SOURCE_MAP,      /* its memory was mapped on that GPU first */
	RMMEM_SOURCE_VASPACE,  /* its VA space was registered with UVM for that GPU */
};

/* A device handle; or the object that stands in for a device allocated before tracing. */
struct rmdevice {
	int gpu;
	uint32_t owner;     /* node; 0: freed, but memory dup'd from below it is still there */
	uint32_t bodies;
	uint32_t instance;  /* NV0080_ALLOC_PARAMETERS.deviceId */
	uint8_t source;     /* enum rmmem_source */
	bool has_instance;
	bool live;
	struct rm_physical sums;
};

struct rmmem {
	struct slab bodies;
	struct slab devices;
	struct rm_physical *gpus; /* [gpu + 1], so that GPU_UNKNOWN is the first */
	size_t gpu_count;
	uint64_t serial;
	uint64_t moves;         /* rm_moves() */
	struct rm_booking *bookings; /* rm_bookings() */
	size_t booking_count;
	struct rm_freed *freed;      /* rm_freed() */
	size_t freed_count;
	bool keeps_freed;
};

void rmmem_init(struct rmmem *mem);
void rmmem_fini(struct rmmem *mem);

void rmmem_gpu_sums(const struct rmmem *mem, int gpu, struct rm_physical *out);

static inline struct rmdevice *rmmem_device(const struct rmmem *mem, uint32_t device)
{
	return slab_at(&mem->devices, device);
}

static inline int rmmem_device_gpu(const struct rmmem *mem, uint32_t device)
{
	return device ? rmmem_device(mem, device)->gpu : GPU_UNKNOWN;
}

uint32_t rmmem_device_new(struct rmmem *mem, uint32_t owner);

/* The owner of the device is gone. The device goes, too: now, or with its last body. */
void rmmem_device_disown(struct rmmem *mem, uint32_t device);

/* Notes that the device lies on the GPU, like the devices of the same instance number in other clients. Nothing happens
 * for device 0, for GPU_UNKNOWN, or if an equally sure source has said the device's GPU. */
void rmmem_device_learn(struct rmmem *mem, uint32_t device, int gpu, enum rmmem_source source);
void rmmem_device_set_instance(struct rmmem *mem, uint32_t device, uint32_t instance);
void rmmem_unknown_free(struct rmmem *mem, uint32_t device);

static inline struct rmbody *rmmem_body(const struct rmmem *mem, uint32_t body)
{
	return slab_at(&mem->bodies, body);
}

/* The booking of a body that no call of the API layer explains. False: a call explains the body. */
bool rmmem_booking(const struct rmmem *mem, const struct rmbody *body, struct rm_booking *booking);

/* Makes a body of size 0 with one reference. `change` takes what changed; NULL: rm_moves() counts the change. */
uint32_t rmmem_body_new(struct rmmem *mem, uint32_t device, enum rmmem_kind kind, enum gmt_purpose purpose);
void rmmem_body_grow(struct rmmem *mem, uint32_t body, uint64_t size, struct rm_change *change);
void rmmem_body_put(struct rmmem *mem, uint32_t body, struct rm_change *change);

#endif

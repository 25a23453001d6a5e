/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of the simulated libcuda.so.1. The process has one state, as with a real driver, guarded by one lock that
 * every entry point takes (API()). Handles are objects of one arena, so that a stale or invented handle is recognised
 * instead of followed.
 *
 * Invariant: the bytes in g.share's slot of this process are the sum of its live video memory
 * objects, exactly those that were shown to the kernel by ioctl.
 */
#ifndef STANDIN_H
#define STANDIN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/gpus.h"
#include "../common/share.h"
#include "../cuda_min.h"

#define PAGE_SHIFT 21
#define PAGE_BYTES (1ULL << PAGE_SHIFT) /* granularity of device memory: 2 MiB */
#define ROUND_UP(n, to) (((n) + (to) - 1) / (to) * (to))
#define SLAB_MIN_SHIFT 9                /* device allocations are aligned to 512 bytes */
#define SLAB_CLASSES 12                 /* 512 B ... 1 MiB */
#define CTX_STACK 16
#define HOST_BUCKETS 4096

struct device;
struct ctx;
struct pool;

/* ---- pieces of the device address space ---- */
enum chunk_kind {
	CHUNK_SLAB,     /* small allocations of one size class */
	CHUNK_BLOCK,    /* one allocation */
	CHUNK_MAPPING,  /* cuMemMap */
	CHUNK_IMPORT,   /* IPC, external memory: another process's memory */
	CHUNK_GRAPH,    /* a graph's allocation */
	CHUNK_POINTER,  /* an imported pool's memory */
};

struct chunk {
	uint64_t base, size;    /* multiples of PAGE_BYTES */
	uint64_t request;       /* BLOCK, GRAPH: bytes asked for; 0: cached, not allocated */
	struct device *device;
	struct heap *heap;      /* SLAB, BLOCK */
	void *owner;            /* MAPPING: struct vmm; IMPORT: struct ext or NULL; POINTER: struct pool */
	struct chunk *prev, *next;           /* in heap->all or another owner's list */
	struct chunk *partial_prev, *partial_next;
	uint64_t key;           /* IMPORT, POINTER: identity of the foreign memory */
	uint32_t rm;            /* RM handle; 0: none */
	uint32_t peer_rm;       /* MAPPING: its duplicate for the other GPU; 0: none */
	uint32_t refs;          /* IMPORT, POINTER */
	uint8_t kind;
	uint8_t shift;          /* SLAB: slots are 1 << shift bytes */
	bool mapped;            /* UVM knows it */
	bool is_array;          /* BLOCK: cuMemFree does not free it */
	uint16_t slots, free_slots;
	uint16_t *free_stack;   /* SLAB: the last one freed is the first one given out */
	uint32_t *requests;     /* SLAB: bytes asked for, 0: free */
};

/* Where cuMemAlloc of one context or one pool gets its memory. */
struct heap {
	struct device *device;
	struct pool *pool;      /* NULL: a context's */
	uint64_t round;         /* large blocks are multiples of this */
	struct chunk *all;
	struct chunk *partial[SLAB_CLASSES];
	uint64_t used, used_high, reserved, reserved_high;
};

/* ---- objects behind handles ---- */
enum object_type {
	OBJECT_FREE,
	OBJECT_VMM,
	OBJECT_POOL,
	OBJECT_STREAM,
	OBJECT_ARRAY,
	OBJECT_EXT,
	OBJECT_EXT_ARRAY,
	OBJECT_BINDING,
	OBJECT_MODULE,
	OBJECT_FUNCTION,
	OBJECT_GRAPH,
	OBJECT_NODE,
	OBJECT_EXEC,
	OBJECT_GREEN,
};

struct ctx {
	struct device *device;
	bool primary, alive;
	bool made;              /* by cuCtxCreate */
	struct heap heap;
	uint32_t rm[32];        /* video memory of the context itself */
	uint64_t rm_base[32], rm_size[32];
	unsigned int rm_count;
	int stack_slot;         /* which of rm[] is the kernels' stack memory */
	uint32_t sysmem[8];
	unsigned int sysmem_count;
	unsigned int streams;
	unsigned int attached;  /* uses besides that of its creation */
	struct ctx *next;
};

struct vmm {
	uint64_t size;
	struct device *device;  /* NULL: host memory */
	uint32_t rm;
	uint32_t refs, maps;
	CUmemAllocationProp prop;
	bool imported, multicast;
};

/* Memory bound to a multicast object, an endpoint or an array, which keeps the memory alive. */
struct binding {
	enum { BOUND_MULTICAST, BOUND_ENDPOINT, BOUND_ARRAY } kind;
	uint64_t holder, offset;
	int dev;
	struct vmm *vmm;
};

struct pool {
	struct heap heap;
	uint64_t threshold;
	CUmemLocation location;
	int alloc_type;
	bool is_default, imported, destroyed;
	struct pool *next;
};

struct stream {
	struct ctx *ctx;
	uint32_t rm;            /* video memory of its own; 0: the context had some for it */
	struct graph *capture;
	unsigned int recaptured; /* nodes of the graph that were captured again; 0 also outside a recapture */
	bool recaptures;
};

struct array {
	CUdeviceptr address;    /* 0: has no memory (sparse, deferred) */
	struct ctx *ctx;
	uint64_t bytes;
	bool mipmapped;
};

struct ext_array {
	struct ext *ext;
};

struct ext {
	struct device *device;
	uint64_t size;
	uint32_t client, object; /* whose memory it is */
	struct ctx *ctx;
};

struct module {
	struct ctx *ctx;
	uint32_t rm[2];
	uint64_t base[2];
	bool loaded, is_library;
	struct module *of_library;
};

struct function {
	struct module *module;
	struct ctx *ctx;
	uint32_t rm;            /* what its first launch took; 0: not launched */
	uint64_t base;
};

/* Graphs keep their nodes in a list; an executable one has its own copy. */
struct node {
	struct node *next;
	CUdeviceptr address;
	uint64_t size, request;
	struct device *device;
	bool freed;             /* a free node for it is in the graph */
};

struct graph {
	struct node *nodes;
	bool executable, uploaded;
	struct ctx *ctx;
};

struct green {
	struct ctx *ctx;
};

struct object {
	enum object_type type;
	union {
		struct object *next_free;
		struct vmm vmm;
		struct pool pool;
		struct stream stream;
		struct array array;
		struct ext ext;
		struct ext_array ext_array;
		struct binding binding;
		struct module module;
		struct function function;
		struct graph graph;
		struct node node;
		struct green green;
	};
};

/* ---- the process ---- */
enum host_kind { HOST_PINNED, HOST_REGISTERED, HOST_MANAGED };

struct host {
	uint64_t address, size, mapped;
	enum host_kind kind;
	struct ctx *ctx;
	uint32_t rm;
	struct device *device;
	struct host *next;
};

struct device {
	const struct gpu *gpu;
	int nvml;               /* index of *gpu */
	int ordinal;
	uint32_t rm_device, rm_subdevice, rm_vaspace;
	bool vaspace_registered;
	struct ctx *primary;
	unsigned int primary_refs;
	struct pool *default_pool, *current_pool;
	struct chunk *graph_memory;
	uint64_t graph_used, graph_used_high, graph_reserved, graph_reserved_high;
};

struct standin {
	pthread_mutex_t lock;
	bool up, forked;
	unsigned int driver;    /* major version that is played: 535 ... 590 */
	char root[4096];
	int device_count;
	struct device devices[STANDIN_GPUS];
	struct ctx *contexts;
	struct host *hosts[HOST_BUCKETS];
	struct share *share;
	int share_fd, slot;
	uint64_t context_bytes;
};

extern struct standin g __attribute__((visibility("hidden")));
#pragma GCC visibility push(hidden)

void callback_run(void);

/* An entry point: everything but the program's callback happens under the lock, after cuInit only. */
#define API(call)                                                                 \
	do {                                                                      \
		CUresult rc_;                                                     \
		callback_run();                                                   \
		pthread_mutex_lock(&g.lock);                                      \
		rc_ = g.up ? (call) : CUDA_ERROR_NOT_INITIALIZED;                 \
		pthread_mutex_unlock(&g.lock);                                    \
		return rc_;                                                       \
	} while (0)

static inline struct device *device_of(CUdevice dev)
{
	return dev >= 0 && dev < g.device_count ? &g.devices[dev] : NULL;
}

/* device files (devfile.c): answered by a seccomp filter, seen by tracers as any ioctl */
void devfile_open(void);
void devfile_ctl(unsigned long command, void *argument);
void devfile_uvm(unsigned long command, void *argument);

/* RM and UVM as the driver calls them (rm.c) */
#define RM_CLASS_ROOT 0x41
#define RM_CLASS_DEVICE 0x80
#define RM_CLASS_SUBDEVICE 0x2080
#define RM_CLASS_VASPACE 0x90f1
#define RM_ATTR_VIDMEM 0x11800000
#define RM_ATTR_VIDMEM_VMM 0x31800000
void rm_start(void);
uint32_t rm_object(uint32_t parent, uint32_t class_id);
uint32_t rm_vidmem(struct device *device, uint64_t size, uint32_t attr); /* 0: the GPU is full */
/* The same for what is no allocation of the program: the real one asks twice for that (driver 580.159.04). */
uint32_t rm_vidmem_inside(struct device *device, uint64_t size);
uint32_t rm_sysmem(struct device *device, uint64_t size);
uint32_t rm_os_memory(struct device *device, void *address, uint64_t size);
uint32_t rm_dup(struct device *device, uint32_t source_client, uint32_t source_object);
void rm_free(uint32_t parent, uint32_t handle);
void rm_free_vidmem(struct device *device, uint32_t handle, uint64_t size);
uint32_t rm_client(void);

/* ioctl structures by driver release (encode.c) */
struct rm_request {
	uint32_t client, parent, object, class_id, status;
	uint32_t flags, attr, device_id;
	uint64_t size;
	void *address;
};
void encode_alloc(struct rm_request *request);
void encode_free(uint32_t client, uint32_t parent, uint32_t object, bool vid_heap);
void encode_dup(uint32_t client, uint32_t parent, uint32_t object, uint32_t source_client,
		uint32_t source_object);
void uvm_register_gpu(const struct device *device);
void uvm_register_vaspace(const struct device *device);
void uvm_create_range(uint64_t base, uint64_t length);
void uvm_map(const struct device *device, uint64_t base, uint64_t length, uint32_t handle);
void uvm_unmap(const struct device *device, uint64_t base, uint64_t length);
void uvm_free(uint64_t base, uint64_t length);

/* device addresses (va.c) */
int va_start(void);
uint64_t va_take(uint64_t size);
void va_give(uint64_t base, uint64_t size);
uint64_t va_take_low(uint64_t size);    /* below 4 GiB, for the v1 calls */
void va_set(uint64_t base, uint64_t size, struct chunk *chunk);
struct chunk *va_chunk(uint64_t address);
bool va_empty(uint64_t base, uint64_t size);
bool va_reserve_note(uint64_t base, uint64_t size); /* cuMemAddressReserve's ranges */
bool va_reserve_drop(uint64_t base, uint64_t size);
bool va_reserve_covers(uint64_t base, uint64_t size);

/* chunks with video memory behind them, and heaps (heap.c) */
struct chunk *chunk_new(struct device *device, enum chunk_kind kind, uint64_t size);
void chunk_free(struct chunk *chunk);
void heap_init(struct heap *heap, struct device *device, struct pool *pool, uint64_t round);
CUdeviceptr heap_alloc(struct heap *heap, uint64_t size);
CUdeviceptr heap_alloc_low(struct heap *heap, uint64_t size);
/* Frees the allocation that begins at address. NULL, or why not. */
bool heap_release(struct chunk *chunk, CUdeviceptr address);
bool heap_lookup(struct chunk *chunk, uint64_t address, uint64_t *base, uint64_t *size);
void heap_trim(struct heap *heap, uint64_t keep);
void heap_fini(struct heap *heap);

/* handles (object.c) */
void *object_new(enum object_type type);
void *object_get(const void *handle, enum object_type type);
void object_delete(void *body);
void object_each(enum object_type type, void (*fn)(void *body, void *arg), void *arg);

/* contexts (ctx.c) */
struct ctx *ctx_current(CUresult *why);
struct ctx *ctx_get(CUcontext handle);
struct ctx *ctx_of_stream(CUstream stream, CUresult *why);
void ctx_push(struct ctx *ctx);
CUresult ctx_new(struct device *device, bool primary, struct ctx **out);
void ctx_take_down(struct ctx *ctx);
CUresult primary_retain(struct device *device, struct ctx **out);

/* what a context takes along when it goes */
void host_take_down(struct ctx *ctx);
void array_take_down(struct ctx *ctx);
void module_take_down(struct ctx *ctx);
void ext_take_down(struct ctx *ctx);
bool ext_array_destroy(const void *handle);
void stream_take_down(struct ctx *ctx);

/* others */
CUresult mem_free(CUdeviceptr address);
CUdeviceptr managed_alloc(struct ctx *ctx, size_t bytes);
CUresult managed_free(CUdeviceptr address);
CUresult graph_free(struct chunk *chunk);
CUresult graph_capture_alloc(struct stream *stream, CUdeviceptr *dptr, uint64_t size);
bool graph_capture_free(struct stream *stream, CUdeviceptr dptr);
struct stream *stream_get(CUstream handle);
void pool_sync(struct device *device);
void pool_take_down(struct device *device);
struct pool *pool_default(struct device *device);
struct pool *pool_imported(struct device *device);
struct vmm *vmm_get(CUmemGenericAllocationHandle handle);
void vmm_let_go(struct vmm *vmm);
void bind_drop(int kind, uint64_t holder);
CUresult pool_release(struct chunk *chunk, CUdeviceptr address);
void foreign_unmap(struct chunk *chunk);
/* A file that names memory of this process for another one. */
struct handoff {
	uint32_t magic, client, object, nvml;
	uint64_t size;
};
int handoff_new(uint32_t object, const struct device *device, uint64_t size);
bool handoff_read(int fd, struct handoff *handoff);
struct device *device_of_nvml(uint32_t nvml);

#pragma GCC visibility pop
#endif

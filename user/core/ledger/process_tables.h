/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of one process's memory, as tables: allocations, handles and mappings of virtual memory management,
 * contexts, streams, devices and pools. Operations (operations.h) change them.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_PROCESS_TABLES_H
#define GPUMEMTRACE_CORE_LEDGER_PROCESS_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "core/account/account.h"

/* ---- allocations ---- */

enum alloc_flag {
	ALLOC_BEFORE = 1,    /* made before the attach and learned of later: not booked */
	ALLOC_UNPLANNED = 2, /* a graph's node whose memory was freed: not booked until the node is made again */
	ALLOC_DEFERRED = 4,  /* an array without memory of its own */
	ALLOC_LEFT = 8,      /* memory of a graph's node that is gone: only a free may follow */
};

#define ALLOC_SIZE_MAX ((1ULL << 48) - 1) /* no GPU has so large an address space: a larger size is noise */
/* No GPU has addresses from here on. */
#define ALLOC_ADDRESS_END (1ULL << 50)
#define ORDINAL_NONE 255                  /* CUDA ordinal not known */

struct alloc {
	uint64_t size : 48;
	uint64_t row : 8;
	uint64_t class : 4;  /* enum gmt_class, CLASS_NONE */
	uint64_t flags : 4;  /* enum alloc_flag */
	uint64_t ts_ns;
	uint32_t stack_id;
	uint16_t owner;      /* number of the context that it ends with (context.c); 0 unknown or none */
	uint8_t ordinal;
	uint8_t reserved;
};
_Static_assert(sizeof(struct alloc) == 24, "with its key an allocation takes 32 bytes of a slot");
_Static_assert(CLASS_NONE < 16, "class has 4 bits");

static inline bool alloc_is_booked(const struct alloc *a)
{
	return !(a->flags & (ALLOC_BEFORE | ALLOC_UNPLANNED));
}

/* Whether memory may lie in [base, base + length); a record may say anything. */
static inline bool alloc_is_place(uint64_t base, uint64_t length)
{
	return length && length < ALLOC_ADDRESS_END / 8 && base < ALLOC_ADDRESS_END - length;
}

struct allocs {
	struct hash by_address;  /* struct alloc */
	struct hash arrays;      /* struct alloc, by handle */
	struct hash externals;   /* struct alloc, by CUexternalMemory */
	struct hash opens;       /* uint32_t: how often memory was imported at the address */
};

/* ---- virtual memory management ---- */

struct vmm_object {
	uint64_t handle;
	uint64_t size;
	uint64_t ts_ns;
	uint32_t stack_id;
	uint32_t refs;
	uint32_t maps;
	uint8_t row;
	uint8_t class;       /* enum gmt_class, CLASS_NONE */
	uint8_t ordinal;
	uint8_t reserved;
};

struct vmm_mapping {
	uint64_t size;
	uint64_t object;
	uint64_t ts_ns;
};

/* A mapping that an unfinished cuMemUnmap has removed, and its object as it was before. */
struct vmm_unmapped {
	uint64_t address;
	struct vmm_mapping mapping;
	struct vmm_object before;
};

/* What holds an object's memory besides its handle and its mappings. */
enum binding_kind { BINDING_MULTICAST, BINDING_ENDPOINT, BINDING_ARRAY };

struct binding {
	uint64_t holder;     /* multicast object's number, endpoint's id, array's handle */
	uint64_t offset, size; /* in the holder */
	uint64_t object;     /* number */
	uint8_t kind;        /* enum binding_kind */
	uint8_t ordinal;     /* ORDINAL_NONE */
};

struct vmm {
	struct hash handles;  /* uint64_t: number of the object */
	struct hash objects;  /* struct vmm_object, by number */
	struct hash mappings; /* struct vmm_mapping, by address */
	struct hash bindings; /* struct binding, by its place in the holder (bind.c) */
	struct hash tiles;    /* uint64_t: how many tiles of a sparse array have memory, by array */
	uint64_t last;        /* number given out */
};

/* ---- contexts, streams, devices ---- */

enum context_kind {
	CONTEXT_OTHER,       /* made by cuCtxCreate, or not known */
	CONTEXT_PRIMARY,
	CONTEXT_GREEN,       /* shares the memory of its device's primary context */
};

struct context {
	uint32_t live;       /* allocations that it owns */
	uint8_t ordinal;     /* ORDINAL_NONE; context_ordinal() knows of a green context's, too */
	uint8_t kind;        /* enum context_kind */
	uint16_t green;      /* number of the CUgreenCtx that it is of; 0: of none */
	uint16_t attached;   /* uses by cuCtxAttach, besides that of its creation */
	bool made;           /* by cuCtxCreate, and not yet destroyed */
};

struct stream {
	uint16_t context;    /* 0: unknown */
	bool capturing;
};
/* CU_STREAM_PER_THREAD of cuda.h; CU_STREAM_LEGACY is 1, and a null stream is one of the two. */
#define STREAM_PER_THREAD 2

/* A CUDA device as the process numbers it. */
struct device {
	int16_t gpu;         /* GPU_UNKNOWN */
	uint8_t row;         /* of the process's account; 0: not known yet */
	uint16_t owner;      /* number that owns the memory of green contexts; 0: none yet */
	uint32_t refs;       /* of the primary context, since attach */
};

struct contexts {
	struct context *list; /* list[0] stands for the unknown context */
	uint32_t count;
	struct hash by_handle; /* uint16_t; a green context has its CUgreenCtx here, too */
	struct hash streams;   /* struct stream */
	struct device *devices;
	uint32_t device_count;
	uint32_t capturing;    /* streams that are capturing now */
};

/* The number of a handle; 0: none. contexts_get() gives a new handle a number, unless the handle is null or all numbers
 * are taken. */
unsigned int contexts_find(const struct contexts *contexts, uint64_t handle);
unsigned int contexts_get(struct contexts *contexts, uint64_t handle);

/* The context that owns memory made in a context. Memory of a green context outlives that context, whose handle may be
 * given out again. So a primary context without a handle owns such memory, or the unknown context (0). */
unsigned int contexts_owner(struct contexts *contexts, unsigned int context);

/* The CUDA ordinal of a context, ORDINAL_NONE; the GPU of an ordinal, GPU_UNKNOWN; the ordinal of a GPU,
 * ORDINAL_NONE. */
unsigned int context_ordinal(const struct contexts *contexts, unsigned int context);
int context_gpu(const struct contexts *contexts, unsigned int ordinal);
unsigned int context_ordinal_of_gpu(const struct contexts *contexts, int gpu);
/* Memory that was asked for on the ordinal lies on this GPU. Nothing happens if the ordinal's GPU is known. */
void context_learn_gpu(struct contexts *contexts, unsigned int ordinal, int gpu);
/* NULL for ORDINAL_NONE. Good until the next call. */
struct device *context_device(struct contexts *contexts, unsigned int ordinal);
/* The ordinal of a record's CUdevice; ORDINAL_NONE: out of range. */
unsigned int context_ordinal_of(uint64_t dev);
/* The ordinal of a CUmemLocation; ORDINAL_NONE: not on a device. */
unsigned int context_ordinal_at(uint64_t location, uint64_t id);

/* ---- graphs that allocate memory ---- */

/* One life of a graph: all that has its nodes. */
struct graph {
	uint64_t first;      /* address of a node, 0: none */
	uint32_t holders;    /* the CUgraph, or the capture that makes it; and its CUgraphExecs */
	uint64_t child;      /* handle of a child graph, which ends with the CUgraph; 0: none */
};

/* What has a handle. */
enum graph_kind { GRAPH_IS_GRAPH, GRAPH_IS_EXEC, GRAPH_IS_CHILD };
struct graph_name {
	uint64_t graph;      /* its number, of a graph that may be gone */
	uint64_t next;       /* CHILD: handle of the graph's next child; 0: none */
	uint8_t kind;        /* enum graph_kind */
};

/* A node that allocates. The nodes of a graph are a list by address. */
struct graph_node {
	uint64_t graph;      /* its number */
	uint64_t prev, next; /* 0: none */
};

struct capture {
	uint64_t graph;      /* its number; 0: it has no node that allocates so far */
	bool is_into;        /* the graph was there before */
};

/* A stream that an unfinished call has ended. */
struct stream_ended {
	struct stream stream;
	struct capture capture; /* if it was capturing */
	bool has_dropped;    /* what was captured is forgotten */
};

struct graphs {
	struct hash by_handle; /* struct graph_name, by CUgraph and CUgraphExec */
	struct hash by_number; /* struct graph */
	struct hash nodes;     /* struct graph_node, by address */
	struct hash captures;  /* struct capture, by stream or thread */
	uint64_t last;         /* number given out */
};

/* ---- pools ---- */

/* CUmemLocationType of cuda.h. A locality domain is a part of a device, whose ordinal is the low byte of the id. */
#define LOCATION_DEVICE 1
#define LOCATION_DEVICE_DOMAIN 6

struct pool {
	uint8_t ordinal;     /* ORDINAL_NONE */
	uint8_t location;    /* CUmemLocationType: 0 unknown, 1 device, 2 host, 3 and 4 host NUMA, 6 part of a device */
	uint8_t type;        /* CUmemAllocationType: 2 managed */
	bool imported;
};

/* The class of memory at a place (CUmemLocationType, CUmemAllocationType). Memory on a GPU has the class `device`. */
unsigned int pool_class_at(unsigned int location, unsigned int type, unsigned int device);

#endif

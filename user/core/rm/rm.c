/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See rm.h. Applies records to three parts: objects (rm_objects.h), the memory behind them (rm_memory.h),
 * and where UVM mapped it (rangemap.h). The one invariant: a body of memory is charged once,
 * however often it is dup'd or mapped, until the last object that shows it is freed.
 */
#include "core/rm/rm.h"

#include <stdlib.h>

#include <gpumemtrace/nv.h>

#include "base/xalloc.h"
#include "base/hash.h"
#include "base/rangemap.h"
#include "core/rm/rm_memory.h"
#include "core/rm/rm_objects.h"

/* So many threads' last allocations are remembered; rm_gpu_of_call() asks for one when the call returns. */
#define RM_CALLS_MAX 4096

struct last_call {
	uint64_t serial;
	uint32_t client, object;
	uint32_t seq;
};

struct rm {
	struct rmtree tree;
	struct rmmem mem;
	struct rangemap mapped; /* value: serial of the body, 0 unknown; aux: GPU that mapped it first */
	struct hash calls;      /* tid -> struct last_call */
};

struct rm *rm_new(void)
{
	struct rm *rm = xcalloc(1, sizeof(*rm));

	rmtree_init(&rm->tree);
	rmmem_init(&rm->mem);
	rangemap_init(&rm->mapped);
	hash_init(&rm->calls, sizeof(struct last_call));
	return rm;
}

void rm_free(struct rm *rm)
{
	if (!rm)
		return;
	rmtree_fini(&rm->tree);
	rmmem_fini(&rm->mem);
	rangemap_fini(&rm->mapped);
	hash_fini(&rm->calls);
	free(rm);
}

/* ---- objects and their devices ---- */

static struct rmnode *node_at(const struct rm *rm, uint32_t node)
{
	return rmtree_node(&rm->tree, node);
}

static bool owns_device(const struct rm *rm, uint32_t node)
{
	uint32_t device = node_at(rm, node)->device;

	return device && rmmem_device(&rm->mem, device)->owner == node;
}

/* The device that memory below the node lies on: the nearest device above the node. If the device is from before
 * tracing, the object right below the client takes the device's place. 0 for a client. */
static uint32_t device_of_node(struct rm *rm, uint32_t node)
{
	struct rmnode *n = node_at(rm, node);
	uint32_t top = node, device;

	if (!n->parent)
		return 0;
	while (!n->device && node_at(rm, n->parent)->parent) {
		top = n->parent;
		n = node_at(rm, top);
	}
	if (!n->device)
		n->device = rmmem_device_new(&rm->mem, top);
	device = n->device;
	for (; node != top; node = n->parent) {   /* shortens the next search */
		n = node_at(rm, node);
		n->device = device;
	}
	return device;
}

/* An implied node that turns out to lie below a device shares the GPU that either of the two is known to lie on. */
static void share_gpu(struct rm *rm, uint32_t node)
{
	const struct rmdevice *dev;
	uint32_t mine = node_at(rm, node)->device, above;

	if (!owns_device(rm, node) || !node_at(rm, node)->parent)
		return;
	above = device_of_node(rm, node_at(rm, node)->parent);
	if (!above)
		return;
	dev = rmmem_device(&rm->mem, mine);
	rmmem_device_learn(&rm->mem, above, dev->gpu, dev->source);
	dev = rmmem_device(&rm->mem, above);
	rmmem_device_learn(&rm->mem, mine, dev->gpu, dev->source);
}

/* Frees a node and all below it, the leaves first. */
static void node_drop(struct rm *rm, uint32_t top, struct rm_change *change)
{
	uint32_t node, up = top;

	do {
		node = rmtree_leaf(&rm->tree, up);
		up = node_at(rm, node)->parent;
		if (node_at(rm, node)->body)
			rmmem_body_put(&rm->mem, node_at(rm, node)->body, change);
		if (owns_device(rm, node))
			rmmem_device_disown(&rm->mem, node_at(rm, node)->device);
		rmtree_remove(&rm->tree, node);
	} while (node != top);
}

/* Gives the node memory that another process owns; its size is learned from mappings. */
static void node_import(struct rm *rm, uint32_t node)
{
	node_at(rm, node)->body =
		rmmem_body_new(&rm->mem, device_of_node(rm, node), RMMEM_IMPORTED, GMT_PURPOSE_IMPORT);
}

/* ---- allocation ---- */

/* What kind of memory an allocation gives, as NVML counts memory. False: no memory, or only addresses. */
static bool memory_kind(const struct gmt_rm_alloc *rec, enum rmmem_kind *kind)
{
	switch (rec->class_id) {
	case NV01_MEMORY_LOCAL_USER:
		*kind = NVOS32_ATTR_LOCATION(rec->attr) ? RMMEM_SYSMEM : RMMEM_VIDMEM;
		return !(rec->flags & NVOS32_ALLOC_FLAGS_VIRTUAL);
	case NV01_MEMORY_SYSTEM:
	case NV01_MEMORY_SYSTEM_OS_DESCRIPTOR:
		*kind = RMMEM_SYSMEM;
		return true;
	default:
		return false;
	}
}

static void remember_call(struct rm *rm, const struct gmt_rm_alloc *rec, uint64_t serial)
{
	struct last_call *last;

	if (!rec->cause.api)
		return;
	if (hash_count(&rm->calls) >= RM_CALLS_MAX)
		hash_clear(&rm->calls);
	last = hash_put(&rm->calls, rec->hdr.tid, NULL);
	*last = (struct last_call){
		.serial = serial, .client = rec->client, .object = rec->object, .seq = rec->cause.seq,
	};
}

/* The node of a new object. An older object of that name was freed unseen, with all objects below. Only an implied
 * object that is no client may be the same object, whose allocation was seen late. */
static uint32_t alloc_node(struct rm *rm, const struct gmt_rm_alloc *rec, struct rm_change *change)
{
	bool root = nv_is_client(rec->class_id);
	uint32_t client = root ? rec->object : rec->client;
	uint32_t node = rmtree_find(&rm->tree, client, rec->object);

	if (node && (node_at(rm, node)->seen || root)) {
		change->double_alloc = node_at(rm, node)->seen;
		node_drop(rm, node, change);
	}
	return rmtree_add(&rm->tree, client, rec->parent, rec->object, rec->class_id);
}

void rm_alloc(struct rm *rm, const struct gmt_rm_alloc *rec, enum gmt_purpose purpose,
	      struct rm_change *change)
{
	uint64_t moves = rm->mem.moves;
	uint32_t node, body;
	enum rmmem_kind kind;

	*change = (struct rm_change){ .gpu = GPU_UNKNOWN };
	if (rec->status || !rec->object)
		return;
	node = alloc_node(rm, rec, change);
	if (rec->class_id == NV01_DEVICE_0 && node_at(rm, node)->parent) {
		if (!owns_device(rm, node))
			node_at(rm, node)->device = rmmem_device_new(&rm->mem, node);
		rmmem_device_set_instance(&rm->mem, node_at(rm, node)->device, rec->device_id);
	} else {
		share_gpu(rm, node);
	}
	change->several |= moves != rm->mem.moves;
	if (!memory_kind(rec, &kind))
		return;
	body = rmmem_body_new(&rm->mem, device_of_node(rm, node), kind, purpose);
	node_at(rm, node)->body = body;
	rmmem_body(&rm->mem, body)->stack_id = rec->cause.stack_id;
	rmmem_body(&rm->mem, body)->ts_ns = rec->hdr.ts_ns;
	rmmem_body_grow(&rm->mem, body, rec->size, change);
	if (kind == RMMEM_VIDMEM)
		remember_call(rm, rec, rmmem_body(&rm->mem, body)->serial);
}

/* A dup shows the same body. Memory from another process's client is imported. An unknown object in one of the
 * process's own clients is from before tracing. */
void rm_dup(struct rm *rm, const struct gmt_rm_dup *rec)
{
	uint32_t src = rmtree_find(&rm->tree, rec->client_src, rec->object_src);
	uint32_t body = node_at(rm, src)->body, class_id = node_at(rm, src)->class_id, node;
	bool own = rec->client == rec->client_src || rmtree_find(&rm->tree, rec->client_src, rec->client_src);

	if (!rec->object || rec->object == rec->client)
		return;
	if (body)   /* before the old object of that name goes, which may be the last of the body */
		rmmem_body(&rm->mem, body)->refs++;
	node = rmtree_find(&rm->tree, rec->client, rec->object);
	if (node && node_at(rm, node)->seen)
		node_drop(rm, node, NULL);
	node = rmtree_add(&rm->tree, rec->client, rec->parent, rec->object, class_id);
	share_gpu(rm, node);
	if (src)
		node_at(rm, node)->body = body;
	else if (!own)
		node_import(rm, node);
}

/* ---- release ---- */

/* Whether an object that was not seen allocated may have been memory from before tracing, or had such memory below.
 * It was none if its client was seen created: libcuda frees handles that were never allocated. */
static bool may_be_memory(const struct rm *rm, const struct gmt_rm_free *rec)
{
	const struct rmnode *parent = node_at(rm, rmtree_find(&rm->tree, rec->client, rec->parent));

	if (rmtree_client_known(&rm->tree, rec->client))
		return false;
	return !parent->seen || !parent->parent || parent->class_id == NV01_DEVICE_0;
}

static void count_unknown_free(struct rm *rm, const struct gmt_rm_free *rec)
{
	uint32_t device = 0;

	if (rec->parent && rec->parent != rec->client && rec->parent != rec->object)
		device = device_of_node(rm, rmtree_imply(&rm->tree, rec->client, rec->parent));
	rmmem_unknown_free(&rm->mem, device);
}

void rm_release(struct rm *rm, const struct gmt_rm_free *rec, struct rm_change *change)
{
	uint32_t node = rmtree_find(&rm->tree, rec->client, rec->object);

	*change = (struct rm_change){ .gpu = GPU_UNKNOWN };
	if (!node_at(rm, node)->seen)
		change->unknown_free = may_be_memory(rm, rec);
	if (change->unknown_free)
		count_unknown_free(rm, rec);
	if (node)
		node_drop(rm, node, change);
}

const struct rm_freed *rm_release_kept(struct rm *rm, const struct gmt_rm_free *rec, struct rm_change *change,
				       size_t *count)
{
	rm->mem.freed_count = 0;
	rm->mem.keeps_freed = true;
	rm_release(rm, rec, change);
	rm->mem.keeps_freed = false;
	*count = rm->mem.freed_count;
	return rm->mem.freed;
}

/* ---- mappings ---- */

void rm_vaspace(struct rm *rm, const struct gmt_uvm_vaspace *rec, int gpu)
{
	uint32_t node = rmtree_imply(&rm->tree, rec->client, rec->vaspace);

	rmmem_device_learn(&rm->mem, device_of_node(rm, node), gpu, RMMEM_SOURCE_VASPACE);
}

/* The node that a mapping shows. An object that a known client never allocated is imported: the client got the object
 * through a file descriptor (cuMemImportFromShareableHandle: an RM control, which is not traced). */
static uint32_t map_node(struct rm *rm, const struct gmt_uvm_map *rec)
{
	uint32_t node = rmtree_find(&rm->tree, rec->client, rec->memory);

	if (node || !rec->memory || !rmtree_client_known(&rm->tree, rec->client))
		return node;
	node = rmtree_add(&rm->tree, rec->client, rec->client, rec->memory, 0);
	node_import(rm, node);
	return node;
}

/* Whether the mapping only adds a GPU to a mapping that is there. */
static bool is_peer(const struct rm *rm, const struct gmt_uvm_map *rec, uint64_t serial)
{
	const struct range *range = rangemap_find(&rm->mapped, rec->base);

	if (!range || rec->length > range->length - (rec->base - range->base))
		return false;
	return range->value && serial ? range->value == serial : range->base == rec->base;
}

/* The GPU whose memory the body is. The body may be mapped on another GPU only. */
static int body_gpu(const struct rm *rm, const struct rmbody *body, int mapped_on)
{
	int gpu = rmmem_device_gpu(&rm->mem, body->device);

	if (body->kind == RMMEM_SYSMEM)
		return GPU_UNKNOWN;
	return gpu == GPU_UNKNOWN ? mapped_on : gpu;
}

void rm_map(struct rm *rm, const struct gmt_uvm_map *rec, int gpu)
{
	struct range range = { .base = rec->base, .length = rec->length, .offset = rec->offset, .gpu = gpu };
	uint32_t node, body;

	if (!rec->length || rec->base + (rec->length - 1) < rec->base)
		return;
	range.aux = (uint32_t)gpu;
	node = map_node(rm, rec);
	if (node)
		rmmem_device_learn(&rm->mem, device_of_node(rm, node), gpu, RMMEM_SOURCE_MAP);
	body = node_at(rm, node)->body;
	if (body) {
		range.value = rmmem_body(&rm->mem, body)->serial;
		range.gpu = body_gpu(rm, rmmem_body(&rm->mem, body), gpu);
		if (rmmem_body(&rm->mem, body)->kind == RMMEM_IMPORTED && rec->offset < RMMEM_SIZE_MAX)
			rmmem_body_grow(&rm->mem, body, rec->offset + rec->length, NULL);
	}
	if (is_peer(rm, rec, range.value))
		return;
	while (rangemap_cut(&rm->mapped, rec->base, rec->length, NULL))
		;   /* cuts what a missed unmapping left there */
	rangemap_insert(&rm->mapped, &range);
}

/* Unmapping a peer leaves the first GPU's mapping. A mapping whose GPU was not known may have been that of any GPU. */
void rm_unmap(struct rm *rm, const struct gmt_uvm_unmap *rec, int gpu)
{
	uint64_t at = rec->base, last = rec->base + (rec->length - 1), end;
	const struct range *range;

	if (!rec->length || last < rec->base)
		return;
	while ((range = rangemap_from(&rm->mapped, at)) && range->base <= last) {
		at = range->base > at ? range->base : at;
		end = range->base + (range->length - 1);
		end = end < last ? end : last;
		if ((int32_t)range->aux == gpu || (int32_t)range->aux == GPU_UNKNOWN)
			rangemap_cut(&rm->mapped, at, end - at + 1, NULL);
		if (end == last)
			break;
		at = end + 1;
	}
}

void rm_range_free(struct rm *rm, const struct gmt_uvm_free *rec)
{
	rangemap_remove(&rm->mapped, rec->base, NULL);
}

/* ---- questions ---- */

int rm_gpu_of_address(const struct rm *rm, uint64_t address)
{
	const struct range *range = rangemap_find(&rm->mapped, address);

	return range ? range->gpu : GPU_UNKNOWN;
}

bool rm_is_mapped(const struct rm *rm, uint64_t address)
{
	return rangemap_find(&rm->mapped, address) != NULL;
}

int rm_gpu_of_call(const struct rm *rm, uint32_t tid, uint32_t seq)
{
	const struct last_call *last = hash_get(&rm->calls, tid);
	const struct rmbody *body;

	if (!last || last->seq != seq)
		return GPU_UNKNOWN;
	body = rmmem_body(&rm->mem, node_at(rm, rmtree_find(&rm->tree, last->client, last->object))->body);
	return body->serial == last->serial ? rmmem_device_gpu(&rm->mem, body->device) : GPU_UNKNOWN;
}

int rm_gpu_of_object(const struct rm *rm, uint32_t client, uint32_t object)
{
	uint32_t node = rmtree_find(&rm->tree, client, object);

	while (node && !node_at(rm, node)->device)
		node = node_at(rm, node)->parent;
	return node ? rmmem_device_gpu(&rm->mem, node_at(rm, node)->device) : GPU_UNKNOWN;
}

int rm_gpus(const struct rm *rm)
{
	return rm->mem.gpu_count ? (int)rm->mem.gpu_count - 1 : 0;
}

void rm_physical(const struct rm *rm, int gpu, struct rm_physical *out)
{
	rmmem_gpu_sums(&rm->mem, gpu, out);
}

const struct rm_booking *rm_bookings(struct rm *rm, size_t *count)
{
	*count = rm->mem.booking_count;
	rm->mem.booking_count = 0;
	return rm->mem.bookings;
}

bool rm_next_booking(const struct rm *rm, uint32_t *pos, struct rm_booking *booking)
{
	while (++*pos < rm->mem.bodies.count) {
		const struct rmbody *body = rmmem_body(&rm->mem, *pos);

		if (body->refs && rmmem_booking(&rm->mem, body, booking))
			return true;
	}
	return false;
}

uint64_t rm_moves(const struct rm *rm)
{
	return rm->mem.moves;
}

uint64_t rm_object_count(const struct rm *rm)
{
	return rm->tree.seen;
}

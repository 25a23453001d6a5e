/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/rm/rm_memory.h"

void rmmem_init(struct rmmem *mem)
{
	*mem = (struct rmmem){ 0 };
	slab_init(&mem->bodies, sizeof(struct rmbody));
	slab_init(&mem->devices, sizeof(struct rmdevice));
}

void rmmem_fini(struct rmmem *mem)
{
	slab_fini(&mem->bodies);
	slab_fini(&mem->devices);
	free(mem->gpus);
	free(mem->bookings);
	free(mem->freed);
}

/* ---- GPUs ---- */

static size_t gpu_slot(int gpu)
{
	return gpu < 0 ? 0 : (size_t)gpu + 1;
}

/* Good until a GPU with a larger number is asked for. */
static struct rm_physical *sums_at(struct rmmem *mem, int gpu)
{
	size_t i = gpu_slot(gpu);

	if (i >= mem->gpu_count) {
		mem->gpus = xreallocarray(mem->gpus, i + 1, sizeof(*mem->gpus));
		memset(&mem->gpus[mem->gpu_count], 0, (i + 1 - mem->gpu_count) * sizeof(*mem->gpus));
		mem->gpu_count = i + 1;
	}
	return &mem->gpus[i];
}

void rmmem_gpu_sums(const struct rmmem *mem, int gpu, struct rm_physical *out)
{
	*out = gpu_slot(gpu) < mem->gpu_count ? mem->gpus[gpu_slot(gpu)] : (struct rm_physical){ 0 };
}

/* ---- what is booked by stack ---- */

/* Allocations, pools, cuMemCreate and imports are calls, which have bookings of their own. */
static const bool is_unexplained[GMT_PURPOSE_COUNT] = {
	[GMT_PURPOSE_OTHER] = true,
	[GMT_PURPOSE_CONTEXT] = true,
	[GMT_PURPOSE_MODULE] = true,
	[GMT_PURPOSE_HOST] = true,
	[GMT_PURPOSE_GRAPH] = true,
	[GMT_PURPOSE_STREAM] = true,
};

bool rmmem_booking(const struct rmmem *mem, const struct rmbody *body, struct rm_booking *booking)
{
	if (body->kind != RMMEM_VIDMEM || !body->size || !is_unexplained[body->purpose])
		return false;
	*booking = (struct rm_booking){
		.gpu = rmmem_device_gpu(mem, body->device),
		.to = GPU_UNKNOWN,
		.stack_id = body->stack_id,
		.bytes = body->size,
		.ts_ns = body->ts_ns,
	};
	return true;
}

static void book_body(struct rmmem *mem, enum rm_booking_kind kind, const struct rmbody *body, int to)
{
	struct rm_booking booking;

	if (!rmmem_booking(mem, body, &booking))
		return;
	booking.kind = kind;
	booking.to = to;
	mem->bookings = xgrow(mem->bookings, mem->booking_count, sizeof(*mem->bookings));
	mem->bookings[mem->booking_count++] = booking;
}

/* ---- devices ---- */

uint32_t rmmem_device_new(struct rmmem *mem, uint32_t owner)
{
	uint32_t device = slab_new(&mem->devices);

	*rmmem_device(mem, device) = (struct rmdevice){ .gpu = GPU_UNKNOWN, .owner = owner, .live = true };
	return device;
}

static void device_put(struct rmmem *mem, uint32_t device)
{
	struct rmdevice *dev = rmmem_device(mem, device);

	if (dev->owner || dev->bodies)
		return;
	dev->live = false;
	slab_free(&mem->devices, device);
}

void rmmem_device_disown(struct rmmem *mem, uint32_t device)
{
	rmmem_device(mem, device)->owner = 0;
	device_put(mem, device);
}

static void sums_move(struct rm_physical *from, struct rm_physical *to, const struct rm_physical *sums)
{
	for (size_t i = 0; i < GMT_PURPOSE_COUNT; i++) {
		from->by_purpose[i] -= sums->by_purpose[i];
		to->by_purpose[i] += sums->by_purpose[i];
	}
	from->total -= sums->total;
	to->total += sums->total;
	from->imported -= sums->imported;
	to->imported += sums->imported;
	from->unknown_frees -= sums->unknown_frees;
	to->unknown_frees += sums->unknown_frees;
}

static void book_move(struct rmmem *mem, const struct rmdevice *dev, int to)
{
	uint32_t bodies = dev->bodies;

	for (uint32_t i = 1; i < mem->bodies.count && bodies; i++) {
		const struct rmbody *body = rmmem_body(mem, i);

		if (!body->refs || !body->device || rmmem_device(mem, body->device) != dev)
			continue;
		bodies--;
		book_body(mem, RM_BOOKING_MOVE, body, to);
	}
}

/* False: nothing is new. A guess by instance number may change when the device that it was guessed from has changed. */
static bool device_set_gpu(struct rmmem *mem, struct rmdevice *dev, int gpu, enum rmmem_source source)
{
	if (gpu < 0 || source < dev->source)
		return false;
	if (source == dev->source && (source != RMMEM_SOURCE_INSTANCE || gpu == dev->gpu))
		return false;
	dev->source = source;
	if (gpu != dev->gpu) {
		sums_at(mem, gpu > dev->gpu ? gpu : dev->gpu);   /* lets the array grow before two pointers are taken */
		sums_move(sums_at(mem, dev->gpu), sums_at(mem, gpu), &dev->sums);
		book_move(mem, dev, gpu);
		mem->moves += dev->sums.total || dev->sums.imported || dev->sums.unknown_frees;
		dev->gpu = gpu;
	}
	return true;
}

static bool same_instance(const struct rmdevice *a, const struct rmdevice *b)
{
	if (a == b || !a->live || !b->live)
		return false;
	return a->has_instance && b->has_instance && a->instance == b->instance;
}

void rmmem_device_learn(struct rmmem *mem, uint32_t device, int gpu, enum rmmem_source source)
{
	struct rmdevice *dev = rmmem_device(mem, device);

	if (!device || !device_set_gpu(mem, dev, gpu, source))
		return;
	for (uint32_t i = 1; i < mem->devices.count; i++)
		if (same_instance(dev, rmmem_device(mem, i)))
			device_set_gpu(mem, rmmem_device(mem, i), gpu, RMMEM_SOURCE_INSTANCE);
}

void rmmem_device_set_instance(struct rmmem *mem, uint32_t device, uint32_t instance)
{
	struct rmdevice *dev = rmmem_device(mem, device);

	dev->has_instance = true;
	dev->instance = instance;
	for (uint32_t i = 1; i < mem->devices.count; i++)
		if (same_instance(dev, rmmem_device(mem, i)))
			device_set_gpu(mem, dev, rmmem_device(mem, i)->gpu, RMMEM_SOURCE_INSTANCE);
}

void rmmem_unknown_free(struct rmmem *mem, uint32_t device)
{
	if (device)
		rmmem_device(mem, device)->sums.unknown_frees++;
	sums_at(mem, rmmem_device_gpu(mem, device))->unknown_frees++;
}

/* ---- bodies ---- */

/* Adds modulo 2^64: a negative number takes back what was added. */
static void sums_add(struct rm_physical *sums, const struct rmbody *body, int64_t bytes)
{
	if (body->kind == RMMEM_VIDMEM) {
		sums->by_purpose[body->purpose] += (uint64_t)bytes;
		sums->total += (uint64_t)bytes;
	} else if (body->kind == RMMEM_IMPORTED) {
		sums->imported += (uint64_t)bytes;
	}
}

static void body_charge(struct rmmem *mem, const struct rmbody *body, int64_t bytes, struct rm_change *change)
{
	int gpu = rmmem_device_gpu(mem, body->device);

	if (body->device)
		sums_add(&rmmem_device(mem, body->device)->sums, body, bytes);
	sums_add(sums_at(mem, gpu), body, bytes);
	if (!change)
		mem->moves++;
	if (!change || body->kind != RMMEM_VIDMEM || !bytes)
		return;
	if (change->bytes && change->gpu != gpu)
		change->several = true;
	change->gpu = gpu;
	change->bytes += bytes;
}

uint32_t rmmem_body_new(struct rmmem *mem, uint32_t device, enum rmmem_kind kind, enum gmt_purpose purpose)
{
	uint32_t body = slab_new(&mem->bodies);

	*rmmem_body(mem, body) = (struct rmbody){
		.serial = ++mem->serial,
		.device = device,
		.refs = 1,
		.kind = kind,
		.purpose = (unsigned int)purpose < GMT_PURPOSE_COUNT ? purpose : GMT_PURPOSE_OTHER,
	};
	if (device)
		rmmem_device(mem, device)->bodies++;
	return body;
}

void rmmem_body_grow(struct rmmem *mem, uint32_t body, uint64_t size, struct rm_change *change)
{
	struct rmbody *b = rmmem_body(mem, body);

	if (size > RMMEM_SIZE_MAX)
		size = RMMEM_SIZE_MAX;
	if (size <= b->size)
		return;
	body_charge(mem, b, (int64_t)(size - b->size), change);
	b->size = size;
	book_body(mem, RM_BOOKING_ADD, b, GPU_UNKNOWN);
}

static void keep_freed(struct rmmem *mem, const struct rmbody *b)
{
	if (!mem->keeps_freed || b->kind != RMMEM_VIDMEM || !b->size)
		return;
	mem->freed = xgrow(mem->freed, mem->freed_count, sizeof(*mem->freed));
	mem->freed[mem->freed_count++] = (struct rm_freed){
		.gpu = rmmem_device_gpu(mem, b->device), .stack_id = b->stack_id, .bytes = b->size, .ts_ns = b->ts_ns,
		.purpose = b->purpose,
	};
}

void rmmem_body_put(struct rmmem *mem, uint32_t body, struct rm_change *change)
{
	struct rmbody *b = rmmem_body(mem, body);

	if (--b->refs)
		return;
	keep_freed(mem, b);
	book_body(mem, RM_BOOKING_REMOVE, b, GPU_UNKNOWN);
	body_charge(mem, b, -(int64_t)b->size, change);
	if (b->device) {
		rmmem_device(mem, b->device)->bodies--;
		device_put(mem, b->device);
	}
	slab_free(&mem->bodies, body);
}

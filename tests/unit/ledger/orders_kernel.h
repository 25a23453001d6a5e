/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel driver's records in orders of events: after each moment of a call, what the model holds is compared with
 * what the kernel driver has given, and the difference becomes records. At a checkpoint all of it goes, and comes back.
 */
#ifndef GPUMEMTRACE_TESTS_ORDERS_KERNEL_H
#define GPUMEMTRACE_TESTS_ORDERS_KERNEL_H

#include <gpumemtrace/nv.h>

#include "core/ledger/checkpoint.h"

#define KERNEL_CLIENT 0xc1d00001u
#define KERNEL_DEVICE(gpu) (0x5c000100u + (uint32_t)(gpu))
#define KERNEL_VASPACE(gpu) (0x5c000200u + (uint32_t)(gpu))
#define KERNEL_OBJECT_OF(object) (MEMORIES + (object))
#define VASPACE_CLASS 0x90f1 /* FERMI_VASPACE_A */

static struct gmt_cause cause_of(const struct thread_here *t)
{
	return t ? (struct gmt_cause){ .api = (uint16_t)rows[t->call].api, .seq = t->begun } : (struct gmt_cause){ 0 };
}

/* A record of the kernel driver's, or its loss. */
static void send_kernel(struct order *o, struct process_here *p, struct thread_here *t, void *record, uint16_t kind,
			size_t size)
{
	if (o->is_lossy && !order_pick(24)) {
		lose(o, p);
		if (t)
			t->has_lost = true;
		return;
	}
	apply(o, p, record, kind, size, p->pid + (t ? (uint32_t)(t - p->threads) : 0));
}

static void send_object(struct order *o, struct process_here *p, struct thread_here *t, uint32_t class_id, uint32_t parent,
			uint32_t object, uint64_t bytes)
{
	struct gmt_rm_alloc rec = {
		.cause = cause_of(t), .client = KERNEL_CLIENT, .parent = parent, .object = object, .class_id = class_id,
		.size = bytes, .device_id = class_id == NV01_DEVICE_0 ? object : 0,
	};

	send_kernel(o, p, t, &rec, GMT_KIND_RM_ALLOC, sizeof(rec));
}

static void kernel_begin(struct order *o, struct process_here *p)
{
	if (!o->has_kernel)
		return;
	send_object(o, p, NULL, 0x41, KERNEL_CLIENT, KERNEL_CLIENT, 0);
	for (int gpu = 0; gpu < GPUS_HERE; gpu++) {
		struct gmt_uvm_vaspace tie = { .client = KERNEL_CLIENT, .vaspace = KERNEL_VASPACE(gpu) };

		send_object(o, p, NULL, NV01_DEVICE_0, KERNEL_CLIENT, KERNEL_DEVICE(gpu), 0);
		send_object(o, p, NULL, VASPACE_CLASS, KERNEL_DEVICE(gpu), KERNEL_VASPACE(gpu), 0);
		uuid_of(gpu, tie.uuid);
		send_kernel(o, p, NULL, &tie, GMT_KIND_UVM_VASPACE, sizeof(tie));
	}
}

static struct kernel_object wanted_of_memory(const struct process_here *p, const struct memory_here *m)
{
	bool is_mapping = m->kind == MEMORY_MAPPING;
	int gpu = is_mapping && m->live ? p->objects[m->object].gpu : m->gpu;

	if (!m->live || m->before || m->kind == MEMORY_IMPORT || gpu < 0)
		return (struct kernel_object){ 0 };
	return (struct kernel_object){
		.handle = is_mapping ? p->kernel.list[KERNEL_OBJECT_OF(m->object)].handle : 1,
		.bytes = is_mapping ? 0 : (uint64_t)m->size * UNIT, .address = address_of(m),
		.length = (uint64_t)m->size * UNIT, .gpu = gpu,
	};
}

/* What the kernel driver has to have given for a place of the model; handle 0: nothing. */
static struct kernel_object wanted_at(const struct process_here *p, int i)
{
	const struct array_here *array;
	const struct object_here *object;
	const struct node_here *node;

	if (i < MEMORIES)
		return wanted_of_memory(p, &p->memories[i]);
	i -= MEMORIES;
	if (i < OBJECTS) {
		object = &p->objects[i];
		return (struct kernel_object){ .handle = object->live, .bytes = (uint64_t)object->size * UNIT,
					       .gpu = object->gpu };
	}
	i -= OBJECTS;
	if (i < ARRAYS) {
		array = &p->things.arrays[i];
		return (struct kernel_object){ .handle = array->live && !array->is_sparse, .bytes = array->bytes,
					       .gpu = array->gpu };
	}
	i -= ARRAYS;
	node = &p->things.nodes[i];
	return (struct kernel_object){ .handle = node->is_mapped, .bytes = node->bytes, .length = node->bytes,
				       .address = NODE_ARENA + (uint64_t)i * UNIT * 8, .gpu = node->gpu };
}

static void kernel_take(struct order *o, struct process_here *p, struct thread_here *t, struct kernel_object *k)
{
	struct gmt_uvm_unmap unmap = { .base = k->address, .length = k->length };
	struct gmt_rm_free rec = { .cause = cause_of(t), .client = KERNEL_CLIENT, .parent = KERNEL_DEVICE(k->gpu),
				   .object = k->handle };

	uuid_of(k->gpu, unmap.uuid);
	if (k->address)
		send_kernel(o, p, t, &unmap, GMT_KIND_UVM_UNMAP, sizeof(unmap));
	if (k->bytes)
		send_kernel(o, p, t, &rec, GMT_KIND_RM_FREE, sizeof(rec));
}

static void kernel_give(struct order *o, struct process_here *p, struct thread_here *t, struct kernel_object *k)
{
	struct gmt_uvm_map map = { .cause = cause_of(t), .base = k->address, .length = k->length, .client = KERNEL_CLIENT,
				   .gpu_count = 1 };

	if (k->bytes) {
		k->handle = 0x5c010000u + ++p->kernel.last;
		send_object(o, p, t, NV01_MEMORY_LOCAL_USER, KERNEL_DEVICE(k->gpu), k->handle, k->bytes);
	}
	map.memory = k->handle;
	uuid_of(k->gpu, map.uuid);
	if (k->address)
		send_kernel(o, p, t, &map, GMT_KIND_UVM_MAP, sizeof(map));
}

/* Mappings come first in the list: they go before the objects that they show, and come after these. */
static void kernel_follow(struct order *o, struct process_here *p, struct thread_here *t)
{
	for (int i = 0; i < KERNEL_OBJECTS && o->has_kernel; i++) {
		struct kernel_object *k = &p->kernel.list[i];

		if (k->handle && !wanted_at(p, i).handle) {
			kernel_take(o, p, t, k);
			*k = (struct kernel_object){ 0 };
		}
	}
	for (int i = KERNEL_OBJECTS; i-- > 0 && o->has_kernel;) {
		struct kernel_object *k = &p->kernel.list[i], wanted = wanted_at(p, i);

		if (!k->handle && wanted.handle) {
			*k = wanted;
			kernel_give(o, p, t, k);
		}
	}
}

static uint64_t kernel_bytes(const struct process_here *p, int gpu)
{
	uint64_t sum = 0;

	for (int i = 0; i < KERNEL_OBJECTS; i++)
		if (p->kernel.list[i].handle && p->kernel.list[i].gpu == gpu)
			sum += p->kernel.list[i].bytes;
	return sum;
}

/* `is_parked`: the memory is in a checkpoint. */
static void compare_kernel(const struct process_here *p, const struct process *of, bool is_parked)
{
	for (int gpu = 0; gpu < GPUS_HERE; gpu++) {
		const struct row *row = &of->account.rows[account_find_row(&of->account, gpu)];
		uint64_t bytes = kernel_bytes(p, gpu);
		struct rm_physical given, parked;

		rm_physical(of->rm, gpu, &given);
		checkpoint_sums(of->checkpoint, gpu, &parked);
		if (given.total != (is_parked ? 0 : bytes) || (is_parked && parked.total != bytes))
			order_failed("the kernel's memory differs from the model");
		if (given.total && (row->gpu != gpu || row->physical.live != given.total))
			order_failed("the row of a GPU lacks the kernel's memory");
	}
}

static bool has_certain_memory(const struct process_here *p)
{
	for (int i = 0; i < MEMORIES + OBJECTS; i++)
		if (p->kernel.list[i].bytes && (i >= MEMORIES || p->memories[i].class == GMT_CLASS_DEVICE))
			return true;
	return false;
}

/* Nobody calls anything, and all memory goes from the GPUs and comes back. */
static void kernel_checkpoint(struct order *o, struct process_here *p)
{
	const struct process *of = process_newest(&o->pipeline->ledger->processes, p->pid);
	struct rm_physical before[GPUS_HERE], after;

	if (!o->has_kernel || p->lost || !has_certain_memory(p))
		return;
	for (int gpu = 0; gpu < GPUS_HERE; gpu++)
		rm_physical(of->rm, gpu, &before[gpu]);
	for (int i = 0; i < KERNEL_OBJECTS; i++)
		if (p->kernel.list[i].handle)
			kernel_take(o, p, NULL, &p->kernel.list[i]);
	if (p->lost)
		return;
	compare_kernel(p, of, true);
	/* Memory comes back in the order in which it went; then come mappings of objects. */
	for (int i = 0; i < KERNEL_OBJECTS; i++)
		if (p->kernel.list[i].bytes)
			kernel_give(o, p, NULL, &p->kernel.list[i]);
	for (int i = 0; i < MEMORIES; i++) {
		struct kernel_object *k = &p->kernel.list[i];

		if (!k->handle || k->bytes)
			continue;
		k->handle = p->kernel.list[KERNEL_OBJECT_OF(p->memories[i].object)].handle;
		kernel_give(o, p, NULL, k);
	}
	for (int gpu = 0; gpu < GPUS_HERE && !p->lost; gpu++) {
		rm_physical(of->rm, gpu, &after);
		if (after.total != before[gpu].total)
			order_failed("a checkpoint has not brought all memory back");
	}
}

#endif

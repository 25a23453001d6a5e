/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plain model of the NVIDIA kernel driver's resource manager (RM): the clients of each process, their objects, and the
 * video memory behind these. Threads make ioctls, inside of calls and outside; the BPF programs read the parameters after
 * each ioctl.
 *
 * Objects are places in a list, so a handle is soon given out again. The number of a device is that of its GPU.
 */
#ifndef GMT_TESTS_PAIRING_RM_DRIVER_H
#define GMT_TESTS_PAIRING_RM_DRIVER_H

#include "rm_ioctl.h"

#define RM_CLIENTS 2
#define RM_OBJECTS 24
#define RM_GPUS 3
#define RM_CLIENT(client) (0xc1d00000u + (__u32)(client))
#define RM_HANDLE(object) (0x5c000001u + (__u32)(object))
#define RM_VASPACE 0x90f1 /* FERMI_VASPACE_A, sdk/nvidia/inc/class/cl90f1.h */

struct rm_body {
	__u64 size;
	unsigned int refs;       /* objects that show the memory */
	int gpu;
	int device;              /* the object that it was allocated below; -1: that object is gone */
	bool is_placed;          /* its device's GPU was told to UVM */
};

struct rm_object {
	bool is_alive, is_placed;
	__u32 class_id;
	int client, parent;      /* parent: object; -1: the client itself */
	int gpu, body;           /* body: -1: none */
};

static struct rm_driver {
	struct rm_process {
		bool clients[RM_CLIENTS];
		struct rm_object objects[RM_OBJECTS];
		struct rm_body bodies[RM_OBJECTS];
	} processes[HOST_TIDS];
} rm_driver;

/* ---- objects ---- */

static int rm_place(const struct rm_process *p)
{
	for (int i = 0; i < RM_OBJECTS; i++)
		if (!p->objects[i].is_alive)
			return i;
	return -1;
}

static int rm_body_place(const struct rm_process *p)
{
	int i = 0;

	while (p->bodies[i].refs)
		i++;
	return i;
}

/* A live object of the class, or of any class (0); -1: none was found. */
static int rm_choose(const struct rm_process *p, struct choices *c, __u32 class_id)
{
	int start = (int)choose(c, RM_OBJECTS);

	for (int i = 0; i < RM_OBJECTS; i++) {
		int at = (start + i) % RM_OBJECTS;

		if (p->objects[at].is_alive && (!class_id || p->objects[at].class_id == class_id))
			return at;
	}
	return -1;
}

static int rm_device_of(const struct rm_process *p, int object)
{
	while (p->objects[object].class_id != NV01_DEVICE_0)
		object = p->objects[object].parent;
	return object;
}

static __u32 rm_parent_handle(const struct rm_object *o)
{
	return o->parent < 0 ? RM_CLIENT(o->client) : RM_HANDLE(o->parent);
}

static int rm_add(struct rm_process *p, int client, int parent, __u32 class_id, int gpu)
{
	int at = rm_place(p);

	if (at >= 0)
		p->objects[at] = (struct rm_object){
			.is_alive = true, .class_id = class_id, .client = client, .parent = parent, .gpu = gpu, .body = -1,
		};
	return at;
}

/* Frees the object and all below it. */
static void rm_drop(struct rm_process *p, int object)
{
	struct rm_object *o = &p->objects[object];

	for (int i = 0; i < RM_OBJECTS; i++)
		if (p->objects[i].is_alive && p->objects[i].parent == object)
			rm_drop(p, i);
	o->is_alive = false;
	if (o->body >= 0)
		p->bodies[o->body].refs--;
	for (int i = 0; i < RM_OBJECTS; i++)
		if (p->bodies[i].device == object)
			p->bodies[i].device = -1;
}

/* ---- ioctls ---- */

static void rm_make_client(struct thread *t, struct choices *c, struct rm_process *p)
{
	int client = (int)choose(c, RM_CLIENTS);

	if (p->clients[client])
		return;
	p->clients[client] = true;
	rm_ioctl_alloc(t, c, &(struct rm_request){ .object = RM_CLIENT(client), .class_id = NV01_ROOT_CLIENT });
}

static void rm_free_client(struct thread *t, struct choices *c, struct rm_process *p)
{
	int client = (int)choose(c, RM_CLIENTS);

	if (!p->clients[client] || choose(c, 4))
		return;
	for (int i = 0; i < RM_OBJECTS; i++)
		if (p->objects[i].is_alive && p->objects[i].client == client && p->objects[i].parent < 0)
			rm_drop(p, i);
	p->clients[client] = false;
	rm_ioctl_free(t, c, &(struct rm_request){ .client = RM_CLIENT(client), .object = RM_CLIENT(client) });
}

static void rm_make_device(struct thread *t, struct choices *c, struct rm_process *p)
{
	int client = (int)choose(c, RM_CLIENTS), gpu = (int)choose(c, RM_GPUS), at;

	if (!p->clients[client])
		return;
	at = rm_add(p, client, -1, NV01_DEVICE_0, gpu);
	if (at >= 0)
		rm_ioctl_alloc(t, c, &(struct rm_request){
			.client = RM_CLIENT(client), .parent = RM_CLIENT(client), .object = RM_HANDLE(at),
			.class_id = NV01_DEVICE_0, .device = (__u32)gpu,
		});
}

static void rm_make_vaspace(struct thread *t, struct choices *c, struct rm_process *p)
{
	int device = rm_choose(p, c, NV01_DEVICE_0), at;

	if (device < 0)
		return;
	at = rm_add(p, p->objects[device].client, device, RM_VASPACE, p->objects[device].gpu);
	if (at >= 0)
		rm_ioctl_alloc(t, c, &(struct rm_request){
			.client = RM_CLIENT(p->objects[at].client), .parent = RM_HANDLE(device), .object = RM_HANDLE(at),
			.class_id = RM_VASPACE,
		});
}

/* UVM is told the GPU of the address space, and so of its device. */
static void rm_register_vaspace(struct thread *t, struct choices *c, struct rm_process *p)
{
	int vaspace = rm_choose(p, c, RM_VASPACE), device;

	if (vaspace < 0)
		return;
	device = rm_device_of(p, vaspace);
	p->objects[device].is_placed = true;
	for (int i = 0; i < RM_OBJECTS; i++)
		p->bodies[i].is_placed |= p->bodies[i].refs && p->bodies[i].device == device;
	rm_ioctl_vaspace(t, c, RM_CLIENT(p->objects[vaspace].client), RM_HANDLE(vaspace), p->objects[device].gpu);
}

/* The ledger takes the kernel's word for where the memory of a call is, and the model of the calls knows nothing of it. */
static bool is_allocating(const struct thread *t)
{
	for (unsigned int i = 0; i < t->depth; i++)
		if (t->activations[i].is_call && machine.calls[t->activations[i].call].api == GMT_API_cuMemAlloc_v2)
			return true;
	return false;
}

static void rm_make_memory(struct thread *t, struct choices *c, struct rm_process *p)
{
	int below = rm_choose(p, c, choose(c, 4) ? NV01_DEVICE_0 : RM_VASPACE), at, device;
	__u64 size = 4096ULL * (1 + choose(c, 200));
	struct rm_request request = { .class_id = NV01_MEMORY_LOCAL_USER, .size = size };
	__u32 kind = choose(c, 12);

	if (below < 0 || rm_place(p) < 0 || is_allocating(t))
		return;
	request.client = RM_CLIENT(p->objects[below].client);
	request.parent = RM_HANDLE(below);
	request.object = RM_HANDLE(rm_place(p));
	request.status = kind == 0 ? NV_ERR_NO_MEMORY : 0;
	request.attr = kind == 1 ? 1u << 25 : 0; /* in system memory */
	request.flags = kind == 2 ? NVOS32_ALLOC_FLAGS_VIRTUAL : 0;
	if (kind) {
		device = rm_device_of(p, below);
		at = rm_add(p, p->objects[below].client, below, NV01_MEMORY_LOCAL_USER, p->objects[device].gpu);
		p->objects[at].body = rm_body_place(p);
		p->bodies[p->objects[at].body] = (struct rm_body){
			.size = kind > 2 ? size : 0, .refs = 1, .gpu = p->objects[device].gpu, .device = device,
			.is_placed = p->objects[device].is_placed,
		};
	}
	rm_ioctl_alloc(t, c, &request);
}

static void rm_free_object(struct thread *t, struct choices *c, struct rm_process *p)
{
	int object = rm_choose(p, c, choose(c, 6) ? NV01_MEMORY_LOCAL_USER : 0);
	struct rm_object *o = &p->objects[object < 0 ? 0 : object];

	if (object < 0)
		return;
	rm_drop(p, object);
	rm_ioctl_free(t, c, &(struct rm_request){
		.client = RM_CLIENT(o->client), .parent = rm_parent_handle(o), .object = RM_HANDLE(object),
	});
}

/* The memory is shown below a device of the same GPU, perhaps of the other client. */
static void rm_dup_memory(struct thread *t, struct choices *c, struct rm_process *p)
{
	int from = rm_choose(p, c, NV01_MEMORY_LOCAL_USER), below = rm_choose(p, c, NV01_DEVICE_0), at;

	if (from < 0 || below < 0 || p->objects[from].gpu != p->objects[below].gpu)
		return;
	at = rm_add(p, p->objects[below].client, below, NV01_MEMORY_LOCAL_USER, p->objects[below].gpu);
	if (at < 0)
		return;
	p->objects[at].body = p->objects[from].body;
	p->bodies[p->objects[at].body].refs++;
	rm_ioctl_dup(t, c, &(struct rm_request){
		.client = RM_CLIENT(p->objects[at].client), .parent = RM_HANDLE(below), .object = RM_HANDLE(at),
		.client_from = RM_CLIENT(p->objects[from].client), .object_from = RM_HANDLE(from),
	});
}

static void rm_event(struct thread *t, struct choices *c)
{
	static void (*const events[])(struct thread *t, struct choices *c, struct rm_process *p) = {
		rm_make_client, rm_make_device, rm_make_device, rm_make_vaspace, rm_register_vaspace, rm_make_memory,
		rm_make_memory, rm_make_memory, rm_make_memory, rm_free_object, rm_free_object, rm_dup_memory, rm_free_client,
	};

	/* Some find nothing to do. */
	for (int i = 0; i < 4; i++)
		events[choose(c, sizeof(events) / sizeof(*events))](t, c, &rm_driver.processes[t->task.tgid]);
}

static void rm_is_new(int tgid)
{
	rm_driver.processes[tgid] = (struct rm_process){ .clients = { false } };
}

/* ---- sums ---- */

/* The bytes of a GPU, or only those whose GPU was told. */
static __u64 rm_bytes(int tgid, int gpu, bool is_placed)
{
	const struct rm_process *p = &rm_driver.processes[tgid];
	__u64 bytes = 0;

	for (int i = 0; i < RM_OBJECTS; i++)
		if (p->bodies[i].refs && p->bodies[i].gpu == gpu && (p->bodies[i].is_placed || !is_placed))
			bytes += p->bodies[i].size;
	return bytes;
}

static bool rm_has_memory(int tgid)
{
	for (int gpu = 0; gpu < RM_GPUS; gpu++)
		if (rm_bytes(tgid, gpu, false))
			return true;
	return false;
}

#endif

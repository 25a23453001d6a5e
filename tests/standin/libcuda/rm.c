/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RM objects of this process: handles in the order and with the numbers that libcuda 580 uses
 * (clients 0xc1d0...., objects 0x5c......), and the account of video memory. The order of the calls
 * at start is the one recorded on a machine with two H200s.
 */
#include "standin.h"

#define STATUS_NO_MEMORY 0x51       /* NV_ERR_NO_MEMORY, nvstatuscodes.h */
#define FLAGS_VIDMEM 0x1c101
#define FLAGS_SYSMEM 0xc001
#define ATTR_SYSMEM 0x2a800000      /* location bits 26:25 = 1, PCI */
#define CLIENT_BASE 0xc1d00000u
#define OBJECT_BASE 0x5c000000u

static struct { uint32_t client, next_object; } rm;

uint32_t rm_client(void)
{
	return rm.client;
}

static uint32_t new_client(void)
{
	struct rm_request request = { .class_id = RM_CLASS_ROOT };

	request.object =
		CLIENT_BASE + (__atomic_add_fetch(&g.share->next_client, 1, __ATOMIC_RELAXED) & 0xfffff);
	encode_alloc(&request);
	return request.object;
}

static uint32_t new_object(uint32_t client, uint32_t parent, uint32_t object, uint32_t class_id,
			   uint32_t device_id)
{
	struct rm_request request = {
		.client = client,
		.parent = parent,
		.object = object,
		.class_id = class_id,
		.device_id = device_id,
	};

	encode_alloc(&request);
	return object;
}

static uint32_t next_object(void)
{
	return OBJECT_BASE + ++rm.next_object;
}

uint32_t rm_object(uint32_t parent, uint32_t class_id)
{
	return new_object(rm.client, parent, next_object(), class_id, 0);
}

/* RM's device instances run against the CUDA ordinals, as on the machine recorded. */
static uint32_t rm_instance(int ordinal)
{
	return (uint32_t)(g.device_count - 1 - ordinal);
}

static void start_device(struct device *device)
{
	static const uint32_t below_subdevice[] = { 0x2081, 0xc661, 0xc661, 0x90e6, 0xde };

	/* libcuda frees the handle it is about to use, whether it exists or not. */
	encode_free(rm.client, rm.client, OBJECT_BASE + rm.next_object + 1, false);
	device->rm_device = new_object(rm.client, rm.client, next_object(), RM_CLASS_DEVICE,
				       rm_instance(device->ordinal));
	device->rm_subdevice = rm_object(device->rm_device, RM_CLASS_SUBDEVICE);
	for (unsigned int i = 0; i < sizeof(below_subdevice) / sizeof(below_subdevice[0]); i++)
		rm_object(device->rm_subdevice, below_subdevice[i]);
	device->rm_vaspace = rm_object(device->rm_device, RM_CLASS_VASPACE);
	rm_object(device->rm_device, RM_CLASS_VASPACE);
}

void rm_start(void)
{
	uint32_t probe = new_client(), other;
	uint32_t object = 0xa55a0000;

	new_object(probe, probe, object, 0xc639, 0);
	new_object(probe, probe, object + 0x10, 0xc640, 0);
	object += 0x20;
	for (int i = 0; i < g.device_count; i++, object += 0x20) {
		new_object(probe, probe, object, RM_CLASS_DEVICE, rm_instance(i));
		new_object(probe, object, object + 0x10, RM_CLASS_SUBDEVICE, 0);
	}
	other = new_client();
	encode_free(other, other, other, false);
	rm.client = new_client();
	rm_object(rm.client, 0xcb33);
	for (int i = 0; i < g.device_count; i++)
		start_device(&g.devices[i]);
	for (int i = 0; i < g.device_count; i++)
		uvm_register_gpu(&g.devices[i]);
	for (int i = 0; i < g.device_count; i++) {
		rm_object(g.devices[i].rm_device, 0x50a0); /* NV50_MEMORY_VIRTUAL: addresses, no memory */
		rm_object(g.devices[i].rm_subdevice, 0x503c);
	}
}

uint32_t rm_vidmem(struct device *device, uint64_t size, uint32_t attr)
{
	uint64_t *used = &g.share->client[g.slot].used[device->nvml];
	struct rm_request request = {
		.client = rm.client, .parent = device->rm_device, .class_id = 0x40,
		.flags = FLAGS_VIDMEM, .attr = attr, .size = size, .object = next_object(),
	};
	uint64_t total = share_total(g.share, device->nvml);

	__atomic_add_fetch(used, size, __ATOMIC_RELAXED);
	if (size > total || share_used(g.share_fd, g.share, device->nvml, g.slot) >
				    total - STANDIN_DEVICE_BASE_BYTES) {
		__atomic_sub_fetch(used, size, __ATOMIC_RELAXED);
		request.status = STATUS_NO_MEMORY;
	}
	encode_alloc(&request);
	return request.status ? 0 : request.object;
}

uint32_t rm_vidmem_inside(struct device *device, uint64_t size)
{
	uint32_t handle = rm_vidmem(device, size, RM_ATTR_VIDMEM);

	return handle ? handle : rm_vidmem(device, size, RM_ATTR_VIDMEM);
}

void rm_free_vidmem(struct device *device, uint32_t handle, uint64_t size)
{
	__atomic_sub_fetch(&g.share->client[g.slot].used[device->nvml], size, __ATOMIC_RELAXED);
	encode_free(rm.client, device->rm_device, handle, size <= PAGE_BYTES);
}

uint32_t rm_sysmem(struct device *device, uint64_t size)
{
	struct rm_request request = {
		.client = rm.client, .parent = device->rm_device, .class_id = 0x3e,
		.flags = FLAGS_SYSMEM, .attr = ATTR_SYSMEM, .size = size, .object = next_object(),
	};

	encode_alloc(&request);
	return request.object;
}

uint32_t rm_os_memory(struct device *device, void *address, uint64_t size)
{
	struct rm_request request = {
		.client = rm.client, .parent = device->rm_device, .class_id = 0x71,
		.size = size, .object = next_object(), .address = address,
	};

	encode_alloc(&request);
	return request.object;
}

uint32_t rm_dup(struct device *device, uint32_t source_client, uint32_t source_object)
{
	uint32_t object = next_object();

	encode_dup(rm.client, device->rm_device, object, source_client, source_object);
	return object;
}

void rm_free(uint32_t parent, uint32_t handle)
{
	encode_free(rm.client, parent, handle, false);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ioctl structures, release by release, as NVIDIA/open-gpu-kernel-modules declares them
 * (nvos.h, nv-ioctl.h, uvm_ioctl.h; 535.54.03 to 595.45.04). Results that the kernel would fill in
 * are written before the call: a tracer reads them after it.
 *
 * Which of the ways to say the same thing a release uses is chosen so that between the releases
 * every way is used: 535 NVOS21 and VID_HEAP_CONTROL, 550 the transfer command, 580 and 590 NVOS64.
 */
#include <string.h>

#include "standin.h"

#define ESC(nr, size) (0xC0000000UL | (unsigned long)(size) << 16 | 0x46UL << 8 | (nr))
#define NV_ESC_RM_ALLOC_MEMORY 0x27
#define NV_ESC_RM_FREE 0x29
#define NV_ESC_RM_ALLOC 0x2B
#define NV_ESC_RM_DUP_OBJECT 0x34
#define NV_ESC_RM_VID_HEAP_CONTROL 0x4A
#define NV_ESC_IOCTL_XFER_CMD 0xD3
#define UVM_REGISTER_GPU_VASPACE 25
#define UVM_MAP_EXTERNAL_ALLOCATION 33
#define UVM_FREE 34
#define UVM_REGISTER_GPU 37
#define UVM_UNMAP_EXTERNAL 66
#define UVM_CREATE_EXTERNAL_RANGE 73

#define NVOS32_FUNCTION_ALLOC_SIZE 2
#define NVOS32_FUNCTION_FREE 3

struct nvos64 {
	uint32_t root, parent, object, class_id;
	uint64_t params, rights;
	uint32_t params_size, flags, status, pad;
};
_Static_assert(sizeof(struct nvos64) == 48 && offsetof(struct nvos64, status) == 40, "NVOS64_PARAMETERS");

struct nvos21 {
	uint32_t root, parent, object, class_id;
	uint64_t params;
	uint32_t params_size, status;
};
_Static_assert(sizeof(struct nvos21) == 32 && offsetof(struct nvos21, status) == 28, "NVOS21_PARAMETERS");

struct memory_params {
	uint32_t owner, type, flags, width, height;
	int32_t pitch;
	uint32_t attr, attr2, format, compr, zcull, pad;
	uint64_t range_low, range_high, size, alignment, offset, limit, address;
	uint32_t ctag, vaspace, internal_flags, tag;
	int32_t numa_node;      /* since 545 */
	uint32_t pad2;
};
_Static_assert(offsetof(struct memory_params, attr) == 24 && offsetof(struct memory_params, size) == 64 &&
	       offsetof(struct memory_params, vaspace) == 108 && sizeof(struct memory_params) == 128,
	       "NV_MEMORY_ALLOCATION_PARAMS");

struct nvos00 { uint32_t root, parent, object, status; };

struct nvos55 { uint32_t client, parent, object, source_client, source_object, flags, status; };
_Static_assert(sizeof(struct nvos55) == 28, "NVOS55_PARAMETERS");

struct nvos02 {
	uint32_t root, parent, object, class_id, flags, pad;
	uint64_t memory, limit;
	uint32_t status, pad2;
	int32_t fd;
	uint32_t pad3;
};
_Static_assert(sizeof(struct nvos02) == 56 && offsetof(struct nvos02, status) == 40,
	       "nv_ioctl_nvos02_parameters");

struct nvos32 {
	uint32_t root, parent, function, vaspace;
	int16_t ivc_heap, pad;
	uint32_t status;
	uint64_t total, free;
	uint32_t owner, memory, type, flags, attr; /* data.AllocSize; data.Free.hMemory lies at the same place */
	uint32_t middle[7];
	uint64_t size;
	uint8_t rest[88];
};
_Static_assert(sizeof(struct nvos32) == 184 && offsetof(struct nvos32, status) == 20 &&
	       offsetof(struct nvos32, memory) == 44 && offsetof(struct nvos32, attr) == 56 &&
	       offsetof(struct nvos32, size) == 88, "NVOS32_PARAMETERS");

struct xfer { uint32_t command, size; uint64_t params; };

struct uvm_attributes { uint8_t uuid[16]; uint32_t types[5]; };
_Static_assert(sizeof(struct uvm_attributes) == 36, "UvmGpuMappingAttributes");

#define UVM_MAP_STRUCT(name, gpus, count_at, total)                               \
	struct name {                                                             \
		uint64_t base, length, offset;                                    \
		struct uvm_attributes gpu[gpus];                                  \
		uint64_t count;                                                   \
		int32_t ctl_fd;                                                   \
		uint32_t client, memory, status;                                  \
	};                                                                        \
	_Static_assert(offsetof(struct name, count) == (count_at) && sizeof(struct name) == (total), #name)
UVM_MAP_STRUCT(uvm_map_535, 32, 1176, 1200);
UVM_MAP_STRUCT(uvm_map_550, 256, 9240, 9264);

static void issue(unsigned int nr, void *params, uint32_t size, bool indirect)
{
	struct xfer xfer = { .command = nr, .size = size, .params = (uintptr_t)params };

	if (indirect)
		devfile_ctl(ESC(NV_ESC_IOCTL_XFER_CMD, sizeof(xfer)), &xfer);
	else
		devfile_ctl(ESC(nr, size), params);
}

static bool release_550(void)
{
	return g.driver >= 545 && g.driver < 560;
}

static void alloc_vid_heap(struct rm_request *request)
{
	struct nvos32 params = {
		.root = request->client, .parent = request->parent, .function = NVOS32_FUNCTION_ALLOC_SIZE,
		.memory = request->object, .flags = request->flags, .attr = request->attr,
		.size = request->size, .status = request->status,
	};

	issue(NV_ESC_RM_VID_HEAP_CONTROL, &params, sizeof(params), false);
}

static void alloc_os_memory(struct rm_request *request)
{
	struct nvos02 params = {
		.root = request->client, .parent = request->parent, .object = request->object,
		.class_id = request->class_id, .memory = (uintptr_t)request->address,
		.limit = request->size - 1, .status = request->status, .fd = -1,
	};

	issue(NV_ESC_RM_ALLOC_MEMORY, &params, sizeof(params), false);
}

static bool has_memory(uint32_t class_id)
{
	return class_id == 0x40 || class_id == 0x3e;
}

void encode_alloc(struct rm_request *request)
{
	struct memory_params memory = {.flags = request->flags, .attr = request->attr, .size = request->size};
	uint32_t device[14] = { request->device_id }; /* NV0080_ALLOC_PARAMETERS, 56 bytes */
	void *params = has_memory(request->class_id) ? (void *)&memory :
		       request->class_id == RM_CLASS_DEVICE ? (void *)device : NULL;
	struct nvos64 wide = {
		.root = request->client, .parent = request->parent, .object = request->object,
		.class_id = request->class_id, .params = (uintptr_t)params, .status = request->status,
	};
	struct nvos21 narrow = {
		.root = request->client, .parent = request->parent, .object = request->object,
		.class_id = request->class_id, .params = (uintptr_t)params, .status = request->status,
	};

	if (request->class_id == 0x71)
		alloc_os_memory(request);
	else if (g.driver < 545 && request->class_id == 0x40 && request->size <= PAGE_BYTES)
		alloc_vid_heap(request);
	else if (g.driver < 545)
		issue(NV_ESC_RM_ALLOC, &narrow, sizeof(narrow), false);
	else
		issue(NV_ESC_RM_ALLOC, &wide, sizeof(wide), release_550());
}

void encode_free(uint32_t client, uint32_t parent, uint32_t object, bool vid_heap)
{
	struct nvos00 params = { .root = client, .parent = parent, .object = object };
	struct nvos32 heap = {
		.root = client, .parent = parent, .function = NVOS32_FUNCTION_FREE, .memory = object};

	if (vid_heap && g.driver < 545)
		issue(NV_ESC_RM_VID_HEAP_CONTROL, &heap, sizeof(heap), false);
	else
		issue(NV_ESC_RM_FREE, &params, sizeof(params), release_550());
}

void encode_dup(uint32_t client, uint32_t parent, uint32_t object, uint32_t source_client,
		uint32_t source_object)
{
	struct nvos55 params = {
		.client = client, .parent = parent, .object = object,
		.source_client = source_client, .source_object = source_object,
	};

	issue(NV_ESC_RM_DUP_OBJECT, &params, sizeof(params), release_550());
}

void uvm_register_gpu(const struct device *device)
{
	struct {
		uint8_t uuid[16], numa[8];
		int32_t ctl_fd;
		uint32_t client, smc, status;
	} params = { .ctl_fd = -1 };

	_Static_assert(sizeof(params) == 40, "UVM_REGISTER_GPU_PARAMS");
	memcpy(params.uuid, device->gpu->uuid, sizeof(params.uuid));
	devfile_uvm(UVM_REGISTER_GPU, &params);
}

void uvm_register_vaspace(const struct device *device)
{
	struct {
		uint8_t uuid[16];
		int32_t ctl_fd;
		uint32_t client, vaspace, status;
	} params = { .ctl_fd = -1, .client = rm_client(), .vaspace = device->rm_vaspace };

	_Static_assert(sizeof(params) == 32, "UVM_REGISTER_GPU_VASPACE_PARAMS");
	memcpy(params.uuid, device->gpu->uuid, sizeof(params.uuid));
	devfile_uvm(UVM_REGISTER_GPU_VASPACE, &params);
}

void uvm_create_range(uint64_t base, uint64_t length)
{
	struct { uint64_t base, length; uint32_t status, pad; } params = { base, length, 0, 0 };

	devfile_uvm(UVM_CREATE_EXTERNAL_RANGE, &params);
}

void uvm_map(const struct device *device, uint64_t base, uint64_t length, uint32_t handle)
{
	/* Thousands of bytes of which few are used: cleared once, under the lock that all calls hold. */
	static struct uvm_map_535 old;
	static struct uvm_map_550 new;

#define FILL(params)                                                              \
	do {                                                                      \
		(params).base = base;                                             \
		(params).length = length;                                         \
		(params).count = 1;                                               \
		(params).ctl_fd = -1;                                             \
		(params).client = rm_client();                                    \
		(params).memory = handle;                                         \
		memcpy((params).gpu[0].uuid, device->gpu->uuid, 16);              \
		devfile_uvm(UVM_MAP_EXTERNAL_ALLOCATION, &(params));              \
	} while (0)
	if (g.driver < 550)
		FILL(old);
	else
		FILL(new);
}

void uvm_unmap(const struct device *device, uint64_t base, uint64_t length)
{
	struct {
		uint64_t base, length;
		uint8_t uuid[16];
		uint32_t status, pad;
	} params = {base, length, {0}, 0, 0};

	_Static_assert(sizeof(params) == 40, "UVM_UNMAP_EXTERNAL_PARAMS");
	memcpy(params.uuid, device->gpu->uuid, sizeof(params.uuid));
	devfile_uvm(UVM_UNMAP_EXTERNAL, &params);
}

void uvm_free(uint64_t base, uint64_t length)
{
	struct { uint64_t base, length; uint32_t status, pad; } old = { base, length, 0, 0 };
	struct { uint64_t base; uint32_t status, pad; } new = { base, 0, 0 };

	if (g.driver >= 590)
		devfile_uvm(UVM_FREE, &new);
	else
		devfile_uvm(UVM_FREE, &old);
}

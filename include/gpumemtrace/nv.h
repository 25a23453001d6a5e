/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Numbers of the NVIDIA kernel driver: ioctls, classes of objects, states. They were read from the headers of 23
 * releases of NVIDIA/open-gpu-kernel-modules, 535.54.03 to 595.45.04, and are the same in all of these. The header
 * that a group comes from stands above the group. Offsets in structures are in bpf/ioctl.bpf.h, their only reader. If
 * releases differ, the offsets are in struct gmt_driver_layout (config.h).
 */
#ifndef GPUMEMTRACE_NV_H
#define GPUMEMTRACE_NV_H

/* nv-ioctl-numbers.h, nv_escape.h: the number in _IOWR('F', number, structure) */
#define NV_IOCTL_MAGIC 'F'
#define NV_ESC_RM_ALLOC_MEMORY 0x27
#define NV_ESC_RM_FREE 0x29
#define NV_ESC_RM_ALLOC 0x2b
#define NV_ESC_RM_DUP_OBJECT 0x34
#define NV_ESC_RM_VID_HEAP_CONTROL 0x4a
#define NV_ESC_IOCTL_XFER_CMD 0xd3

/*
 * uvm_ioctl.h: plain numbers without magic or size.
 *
 * No number of UVM tells where managed memory lies. UVM_MIGRATE (51: base, length, UUID of the destination) is a
 * prefetch, and UVM_SET_PREFERRED_LOCATION (42) an advice: what they ask for need not come, and faults, access counters
 * and evictions move pages without an ioctl. Migrations are events of UVM's tools (UVM_TOOLS_INIT_EVENT_TRACKER, 56),
 * but the tracker needs the target's own descriptor of nvidia-uvm, and changes what UVM does for the target.
 */
#define UVM_REGISTER_GPU_VASPACE 25
#define UVM_MAP_EXTERNAL_ALLOCATION 33
#define UVM_FREE 34
#define UVM_REGISTER_GPU 37
#define UVM_UNMAP_EXTERNAL 66

/* Classes: sdk/nvidia/inc/class/cl*.h */
#define NV01_ROOT 0x00
#define NV01_ROOT_NON_PRIV 0x01
#define NV01_MEMORY_SYSTEM 0x3e
#define NV01_MEMORY_LOCAL_USER 0x40
#define NV01_ROOT_CLIENT 0x41
#define NV01_MEMORY_SYSTEM_OS_DESCRIPTOR 0x71
#define NV01_DEVICE_0 0x80

/* nvos.h */
#define NVOS64_SIZE 48                /* bytes: NV_ESC_RM_ALLOC comes as NVOS64 or as the shorter NVOS21 */
#define NVOS32_FUNCTION_ALLOC_SIZE 2
#define NVOS32_FUNCTION_FREE 3
#define NVOS32_ATTR_LOCATION(attr) ((attr) >> 25 & 3) /* bits 26:25 of attr; 0 is VIDMEM */
#define NVOS32_ALLOC_FLAGS_VIRTUAL (1u << 19)

/* nvstatuscodes.h: there was not enough memory */
#define NV_ERR_INSUFFICIENT_RESOURCES 0x1a
#define NV_ERR_NO_MEMORY 0x51

/* Whether an object of the class is a client, the root of all objects below it. */
static inline __attribute__((always_inline)) int nv_is_client(unsigned int class_id)
{
	return class_id == NV01_ROOT || class_id == NV01_ROOT_NON_PRIV || class_id == NV01_ROOT_CLIENT;
}

/* Whether a call returned this NV_STATUS for want of memory. */
static inline __attribute__((always_inline)) int nv_is_no_memory(unsigned int status)
{
	return status == NV_ERR_NO_MEMORY || status == NV_ERR_INSUFFICIENT_RESOURCES;
}

#endif

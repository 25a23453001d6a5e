/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The settings that the collector gives to the BPF programs before they are loaded (read-only data). */
#ifndef GPUMEMTRACE_CONFIG_H
#define GPUMEMTRACE_CONFIG_H

#include <gpumemtrace/api.h>
#include <gpumemtrace/stackmap.h>

#define GMT_INFLIGHT_DEPTH 8   /* calls of probed functions inside each other on one thread; a power of two */

/* One probe point as BPF sees it: the row of api.h without its name. The index is the api id, which
 * is also the cookie of the uprobe. */
struct gmt_spec {
	__u16 flags;             /* enum gmt_api_flag */
	__u8 count;              /* values */
	__u8 takes_stack;        /* the call asks for memory */
	__u32 entry_reads;       /* bit i: caps[i] has to be read at entry */
	__u32 size_cap;          /* where the number of requested bytes is; GMT_CAP_NONE: unknown at entry */
	__u32 caps[GMT_CALL_VALS];
};

#define GMT_FW_ARG_BITS 3    /* of an argument's number */

/* The numbers of the arguments of a framework's function, from 1 to 6; 0: not passed. This is the cookie of the
 * probe. */
struct gmt_fw_layout {
	__u64 framework : 8;                     /* enum gmt_fw */
	__u64 ptr : GMT_FW_ARG_BITS;             /* the block's address */
	__u64 bytes : GMT_FW_ARG_BITS;           /* of a block, negative where it is taken back; of a request */
	__u64 release : GMT_FW_ARG_BITS;         /* ... or never negative: the block is taken back where this one ... */
	__u64 release_value : 8;                 /* ... has this value in its lowest byte */
	__u64 total_allocated : GMT_FW_ARG_BITS; /* of the device, after it */
	__u64 total_reserved : GMT_FW_ARG_BITS;
	__u64 device : GMT_FW_ARG_BITS;          /* by value: its type in the lowest byte, its ordinal in the next; 0:
						    the block's address says where it is */
	__u64 gpu_type : 8;                      /* the type that is a GPU */
	__u64 reserved : 22;
};
_Static_assert(sizeof(struct gmt_fw_layout) == sizeof(__u64), "a layout is a cookie");

/* Offsets, in bytes, that differ between driver releases (compiled from NVIDIA/open-gpu-kernel-modules,
 * 535.54.03 to 595.45.04). */
struct gmt_driver_layout {
	__u32 uvm_map_count;     /* UVM_MAP_EXTERNAL_ALLOCATION_PARAMS.gpuAttributesCount */
	__u32 uvm_map_client;    /* .hClient; hMemory and rmStatus follow it, 4 bytes each */
	__u32 uvm_free_status;   /* UVM_FREE_PARAMS.rmStatus */
	__u32 reserved;
};

struct gmt_config {
	__u32 trace_all;         /* every process, not only those in the target map */
	__u32 follow_children;   /* children of targets become targets */
	__u32 nvidia_major;      /* character device major of /dev/nvidiactl and /dev/nvidiaN (195) */
	__u32 uvm_major;         /* of /dev/nvidia-uvm, from /proc/devices; 0: none */
	__u32 ctl_rdev;          /* if not 0: the device that stands for nvidiactl (the kernel's dev_t) */
	__u32 uvm_rdev;          /* if not 0: likewise for nvidia-uvm */
	__u32 self_tgid;         /* never a target: NVML makes ioctls of its own in the collector; 0: unknown */
	__u32 never;             /* 0; see bpf/guard.bpf.h, which tests it */
	__u32 stack_mode;        /* enum gmt_stack_mode */
	__u32 stack_depth;       /* native frames, at most GMT_UNWIND_FRAMES_MAX */
	__u32 block_stacks;      /* stacks also for frameworks' blocks */
	__u32 ioctl_stacks;      /* also for memory that the driver takes by itself */
	__u32 reserved;
	__u32 stack_memos;       /* entries of the map of this name; set by the loader */
	__u32 stack_walks;       /* likewise, and never 0 */
	__u32 cpus;              /* the most that the machine can have */
	__u64 stack_sample_bytes; /* bytes that a thread asks for between two stacks; 0: each call has a stack */
	__u64 wake_bytes;        /* wake the reader when this many bytes wait in the ring */
	struct gmt_driver_layout layout;
};

/* Values that the collector changes while the programs run: the section .data.gmt. */
struct gmt_runtime {
	__u32 generation;        /* raised before and after a library is probed: odd while probes are added */
	__u32 armed;             /* trace_all holds from now on: all layers begin at one moment */
};

/* The read-only section .rodata.gmt. */
struct gmt_rodata {
	struct gmt_config config;
	struct gmt_spec specs[GMT_API_MAX];
};

#endif

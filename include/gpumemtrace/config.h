/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The settings that the collector gives to the BPF programs before they are loaded (read-only data). */
#ifndef GPUMEMTRACE_CONFIG_H
#define GPUMEMTRACE_CONFIG_H

#include <gpumemtrace/api.h>
#include <gpumemtrace/stackmap.h>

#define GMT_INFLIGHT_DEPTH 8   /* most nested calls of probed functions on one thread; a power of two */

#define GMT_TARGETS 65536      /* processes that are traced at a time */
#define GMT_TARGETS_NEAR 64    /* of them, by tgid % this: they need no look-up in the hash */
#define GMT_USERS 1024         /* users that are counted each by itself */
#define GMT_USER_OTHERS (~0u)  /* ... and all others: no user has this uid */
#define GMT_USER_SHARE 2       /* a user gets this part of what all share: half */

/* What a user's processes have taken (bpf/users.bpf.h). */
struct gmt_user {
	__u32 stacks;            /* stack traces that were sent for the processes that are traced now */
	__u32 processes;         /* that are traced now */
	__u64 stacks_refused;    /* stack traces that were not sent, because the user had its share */
	__u64 processes_refused; /* times that a process was not made a target, likewise */
};

/* A traced process. */
struct gmt_target {
	__u32 user;              /* whose share it is taken from: a uid, or GMT_USER_OTHERS */
	__u32 stacks;            /* stack traces that were sent for it */
};

/* One probe point as BPF sees it: the row of api.h without its name. The index in gmt_rodata.specs is the api id, which
 * is also in the cookie of the uprobe. */
struct gmt_spec {
	__u16 flags;             /* enum gmt_api_flag */
	__u8 count;              /* number of values */
	__u8 takes_stack;        /* the call asks for memory */
	__u32 entry_reads;       /* bit i: caps[i] has to be read at entry */
	__u32 size_cap;          /* place of the number of requested bytes; GMT_CAP_NONE: unknown at entry */
	__u32 caps[GMT_CALL_VALS];
};

#define GMT_FW_ARG_BITS 3    /* bits of an argument's number */

/* Which argument of a framework's function has which meaning: the argument's number, from 1 to 6; 0: not passed. The
 * layout is the probe's cookie. */
struct gmt_fw_layout {
	__u64 framework : 8;                     /* enum gmt_fw */
	__u64 ptr : GMT_FW_ARG_BITS;             /* the block's address */
	__u64 bytes : GMT_FW_ARG_BITS;           /* size of a block or a request; negative: the block is taken back */
	__u64 release : GMT_FW_ARG_BITS;         /* if passed, bytes is never negative: a block is taken back if ... */
	__u64 release_value : 8;                 /* ... the lowest byte of `release` has this value */
	__u64 total_allocated : GMT_FW_ARG_BITS; /* bytes on the device after the event */
	__u64 total_reserved : GMT_FW_ARG_BITS;
	__u64 device : GMT_FW_ARG_BITS;          /* by value: type in the lowest byte, ordinal in the next byte; not
						    passed: the block's address tells the device */
	__u64 gpu_type : 8;                      /* the type of a GPU */
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
	__u32 uvm_major;         /* the same of /dev/nvidia-uvm, from /proc/devices; 0: none */
	__u32 ctl_rdev;          /* if not 0: the device that stands for nvidiactl (the kernel's dev_t) */
	__u32 uvm_rdev;          /* if not 0: the device that stands for nvidia-uvm */
	__u32 self_tgid;         /* the collector, in which NVML makes ioctls: never a target; 0: unknown */
	__u32 never;             /* always 0; bpf/guard.bpf.h says why */
	__u32 stack_mode;        /* enum gmt_stack_mode */
	__u32 stack_depth;       /* native frames, at most GMT_UNWIND_FRAMES_MAX */
	__u32 block_stacks;      /* frameworks' blocks get stacks, too */
	__u32 ioctl_stacks;      /* memory that the driver takes by itself gets stacks, too */
	__u32 reserved;
	__u32 stack_memos;       /* entries of the map of this name; set by the loader */
	__u32 stack_walks;       /* likewise, and never 0 */
	__u32 cpus;              /* most CPUs that the machine can have */
	__u32 user_stacks;       /* stack traces that may be sent for a user's processes, while these are traced */
	__u32 user_processes;    /* processes that a user may have traced at a time */
	__u64 stack_sample_bytes; /* bytes that a thread asks for between two stacks; 0: each call gets a stack */
	__u64 wake_bytes;        /* wake the reader when this many bytes wait in the ring */
	struct gmt_driver_layout layout;
};

/* Values that the collector changes while the programs run: the section .data.gmt. */
struct gmt_runtime {
	__u32 generation;        /* raised before and after probes are added to a library: odd in between */
	__u32 armed;             /* trace_all is in force, so that all layers begin at the same moment */
};

/* The read-only section .rodata.gmt. */
struct gmt_rodata {
	struct gmt_config config;
	struct gmt_spec specs[GMT_API_MAX];
};

#endif

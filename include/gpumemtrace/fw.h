/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The part of wire.h about frameworks: libraries whose own allocators cut the driver's memory into blocks. It has the
 * list of frameworks and the records of their events. A row of user/live/framework says what is probed in a framework.
 */
#ifndef GPUMEMTRACE_FW_H
#define GPUMEMTRACE_FW_H

/* X(NAME, value, row, text). Append-only; the values are written out. Recordings made before this list existed have 0
 * in the framework's place, and all their events are PyTorch's. */
#define GMT_FRAMEWORKS(X)                                                         \
	X(PYTORCH, 0, pytorch, "PyTorch")

enum gmt_fw {
#define X(name, value, row, text) GMT_FW_##name = value,
	GMT_FRAMEWORKS(X)
#undef X
	GMT_FW_COUNT
};

/* Where a block lies, whatever the framework calls the place. GPU has the number of c10::DeviceType::CUDA
 * (c10/core/DeviceType.h), because recordings made before this enum have that number. */
enum gmt_fw_device {
	GMT_FW_HOST = 0,        /* the host, or a device that is not a CUDA GPU: not sent */
	GMT_FW_GPU = 1,
	GMT_FW_BY_ADDRESS = 2,  /* the framework does not say: a GPU of the process, or the host; the ordinal is 0 */
};

enum gmt_fw_mem_flag {
	GMT_FW_NO_TOTALS = 1,   /* the framework does not report totals: both are 0 */
};

/* A framework's own allocator gave out a block or took a block back. Sent at the entry of the function that gets the
 * allocator's reports. The allocator holds its lock, so a device's records are in order and the totals are exact. */
struct gmt_fw_mem {
	struct gmt_hdr hdr;
	__u64 ptr;
	__s64 delta;            /* bytes of the block as the allocator rounds them; negative: taken back */
	__u64 total_allocated;  /* bytes in the device's blocks after this event */
	__u64 total_reserved;   /* bytes of the driver's memory that the allocator holds */
	__u8 device_type;       /* enum gmt_fw_device */
	__u8 device_index;      /* CUDA ordinal in the process */
	__u8 framework;         /* enum gmt_fw; a reader skips records of frameworks that it does not know */
	__u8 flags;             /* enum gmt_fw_mem_flag */
	__u32 stack_id;         /* 0: none */
};
#define GMT_FIELDS_gmt_fw_mem(X, T)                                               \
	X(T, HEX, ptr) X(T, SIGNED, delta) X(T, UNSIGNED, total_allocated)        \
	X(T, UNSIGNED, total_reserved) X(T, UNSIGNED, device_type) X(T, UNSIGNED, device_index) \
	X(T, FRAMEWORK, framework) X(T, HEX, flags) X(T, UNSIGNED, stack_id)

/* A framework has tried everything and is about to report that there is no memory. A framework also reports this at
 * its own limit; then no driver call has failed. */
struct gmt_fw_oom {
	struct gmt_hdr hdr;
	__u64 size;             /* bytes of the request as the allocator rounds them */
	__u64 total_allocated;
	__u64 total_reserved;
	__u8 device_type;       /* as in gmt_fw_mem */
	__u8 device_index;
	__u8 framework;
	__u8 reserved;
	__u32 stack_id;         /* 0: none */
};
#define GMT_FIELDS_gmt_fw_oom(X, T)                                               \
	X(T, UNSIGNED, size) X(T, UNSIGNED, total_allocated) X(T, UNSIGNED, total_reserved) \
	X(T, UNSIGNED, device_type) X(T, UNSIGNED, device_index) X(T, FRAMEWORK, framework) \
	X(T, UNSIGNED, stack_id)

enum gmt_range_what {
	GMT_RANGE_BEGIN = 0,    /* a named range begins */
	GMT_RANGE_END = 1,
	GMT_RANGE_BACKWARD = 2, /* the thread begins to compute gradients; no record tells the end */
};
#define GMT_RANGE_NAME_BYTES 96

/* What a framework's thread does from here on. PyTorch's ranges are those of record_function and those that PyTorch
 * makes itself ("Optimizer.step#SGD.step"), whether a profiler is on or not. */
struct gmt_fw_range {
	struct gmt_hdr hdr;
	__u64 object;           /* the same number at the range's begin and end; BACKWARD: 0 */
	__u8 what;              /* enum gmt_range_what */
	__u8 framework;         /* as in gmt_fw_mem */
	__u8 reserved[2];
	__u32 stack_id;         /* BACKWARD: where the thread asks for the gradients; 0: none */
	__u8 name[GMT_RANGE_NAME_BYTES]; /* NUL-terminated, cut; only at BEGIN */
};
#define GMT_FIELDS_gmt_fw_range(X, T)                                             \
	X(T, HEX, object) X(T, RANGE_WHAT, what) X(T, FRAMEWORK, framework) X(T, UNSIGNED, stack_id) \
	X(T, TEXT, name)

/* The size that the program asked for when it got the newest block at an address. Sent after the block. */
struct gmt_fw_size {
	struct gmt_hdr hdr;
	__u64 ptr;
	__u64 size;             /* bytes of the request */
	__u64 stream;           /* the framework's number of the stream; 0: the default stream */
	__u8 device_type;       /* as in gmt_fw_mem */
	__u8 device_index;
	__u8 framework;
	__u8 reserved;
	__u32 reserved2;
};
#define GMT_FIELDS_gmt_fw_size(X, T)                                              \
	X(T, HEX, ptr) X(T, UNSIGNED, size) X(T, HEX, stream) X(T, UNSIGNED, device_type) \
	X(T, UNSIGNED, device_index) X(T, FRAMEWORK, framework)

enum gmt_framework_flag {
	GMT_FRAMEWORK_ASYNC = 1,    /* the environment asks for CUDA's own pools */
	GMT_FRAMEWORK_UNCACHED = 2, /* the environment turns caching off */
	GMT_FRAMEWORK_NO_HOOK = 4,  /* no function that reports the framework's blocks is probed */
};

/* A process has mapped a framework for CUDA. The record may come again. */
struct gmt_framework {
	struct gmt_hdr hdr;
	__u32 flags;            /* enum gmt_framework_flag, or-ed */
	__u8 framework;         /* as in gmt_fw_mem */
	__u8 reserved[3];
};
#define GMT_FIELDS_gmt_framework(X, T)                                            \
	X(T, HEX, flags) X(T, FRAMEWORK, framework)

#endif

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The part of wire.h, which includes it, about frameworks: libraries that cut the driver's memory into blocks by an
 * allocator of their own. Which there are, and the records of what they say. What is probed of one is a row of
 * user/live/framework.
 */
#ifndef GPUMEMTRACE_FW_H
#define GPUMEMTRACE_FW_H

/* X(NAME, value, row, text). Append-only, values written out. Recordings made before the list have 0 in this place, and
 * all of their events are PyTorch's. */
#define GMT_FRAMEWORKS(X)                                                         \
	X(PYTORCH, 0, pytorch, "PyTorch")

enum gmt_fw {
#define X(name, value, row, text) GMT_FW_##name = value,
	GMT_FRAMEWORKS(X)
#undef X
	GMT_FW_COUNT
};

/* Where a block lies, whatever the framework calls the place. GPU has the number that c10::DeviceType::CUDA has
 * (c10/core/DeviceType.h), which is what recordings made before this enum hold. */
enum gmt_fw_device {
	GMT_FW_HOST = 0,        /* or another device that is no GPU of CUDA's: not sent */
	GMT_FW_GPU = 1,
	GMT_FW_BY_ADDRESS = 2,  /* the framework does not say: a GPU of the process, or the host; the ordinal is 0 */
};

enum gmt_fw_mem_flag {
	GMT_FW_NO_TOTALS = 1,   /* the framework does not say them: both are 0 */
};

/* A framework's own allocator gave out a block or took one back: entry of the function that it reports blocks to. Sent
 * while the allocator holds its lock: the records of a device are in order, and their totals exact. */
struct gmt_fw_mem {
	struct gmt_hdr hdr;
	__u64 ptr;
	__s64 delta;            /* bytes of the block as the allocator rounds it; negative: taken back */
	__u64 total_allocated;  /* of the device, after it */
	__u64 total_reserved;   /* what the allocator holds of the driver's memory */
	__u8 device_type;       /* enum gmt_fw_device */
	__u8 device_index;      /* CUDA ordinal in the process */
	__u8 framework;         /* enum gmt_fw; a reader passes over those that it does not know */
	__u8 flags;             /* enum gmt_fw_mem_flag */
	__u32 stack_id;         /* 0: none */
};
#define GMT_FIELDS_gmt_fw_mem(X, T)                                               \
	X(T, HEX, ptr) X(T, SIGNED, delta) X(T, UNSIGNED, total_allocated)        \
	X(T, UNSIGNED, total_reserved) X(T, UNSIGNED, device_type) X(T, UNSIGNED, device_index) \
	X(T, FRAMEWORK, framework) X(T, HEX, flags) X(T, UNSIGNED, stack_id)

/* A framework is about to say that there is no memory, after all it has tried. It does so in its limits too, then
 * without a call of the driver that failed. */
struct gmt_fw_oom {
	struct gmt_hdr hdr;
	__u64 size;             /* asked for, as the allocator rounds it */
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
	GMT_RANGE_BEGIN = 0,    /* of a named range */
	GMT_RANGE_END = 1,
	GMT_RANGE_BACKWARD = 2, /* the thread computes gradients; has no end of its own */
};
#define GMT_RANGE_NAME_BYTES 96

/* What a framework's thread does from here on. PyTorch's ranges are record_function's and those that it makes itself
 * ("Optimizer.step#SGD.step"), whether a profiler is on or not. */
struct gmt_fw_range {
	struct gmt_hdr hdr;
	__u64 object;           /* its begin's and its end's are the same; BACKWARD: 0 */
	__u8 what;              /* enum gmt_range_what */
	__u8 framework;         /* as in gmt_fw_mem */
	__u8 reserved[6];
	__u8 name[GMT_RANGE_NAME_BYTES]; /* NUL-terminated, cut; BEGIN only */
};
#define GMT_FIELDS_gmt_fw_range(X, T)                                             \
	X(T, HEX, object) X(T, RANGE_WHAT, what) X(T, FRAMEWORK, framework) X(T, TEXT, name)

/* What the newest block at an address was asked for. Sent after the block. */
struct gmt_fw_size {
	struct gmt_hdr hdr;
	__u64 ptr;
	__u64 size;             /* asked for */
	__u64 stream;           /* the framework's number of it; 0: the default stream */
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
	GMT_FRAMEWORK_ASYNC = 1,    /* the environment asks for CUDA's own pools ... */
	GMT_FRAMEWORK_UNCACHED = 2, /* ... for no caching */
	GMT_FRAMEWORK_NO_HOOK = 4,  /* the function that it reports blocks with is not probed: it has none */
};

/* A process has a framework for CUDA mapped. May come again. */
struct gmt_framework {
	struct gmt_hdr hdr;
	__u32 flags;            /* enum gmt_framework_flag, or-ed */
	__u8 framework;         /* as in gmt_fw_mem */
	__u8 reserved[3];
};
#define GMT_FIELDS_gmt_framework(X, T)                                            \
	X(T, HEX, flags) X(T, FRAMEWORK, framework)

#endif

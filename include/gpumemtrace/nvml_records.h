/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The part of wire.h about NVML's numbers: of traced processes, of whole GPUs, and of processes that are not traced. */
#ifndef GPUMEMTRACE_NVML_RECORDS_H
#define GPUMEMTRACE_NVML_RECORDS_H

enum gmt_nvml_when {
	GMT_NVML_BASELINE = 0,  /* at attach, and a few times after: memory from before the attach */
	GMT_NVML_SAMPLE = 1,
};

struct gmt_nvml {
	struct gmt_hdr hdr;     /* ts_ns: when NVML was asked; tgid: whose memory */
	__u64 used_bytes;       /* nvmlProcessInfo_t.usedGpuMemory */
	__u8 uuid[GMT_UUID_BYTES];
	__u32 when;             /* enum gmt_nvml_when */
	__u32 reserved;
};
#define GMT_FIELDS_gmt_nvml(X, T)                                                 \
	X(T, UNSIGNED, used_bytes) X(T, UUID, uuid) X(T, NVML_WHEN, when)

/* A GPU's memory as NVML counts it, whoever holds the memory. */
struct gmt_gpu_memory {
	struct gmt_hdr hdr;     /* ts_ns: when NVML was asked */
	__u64 used_bytes;       /* nvmlMemory_t.used: the driver's own memory is part of it */
	__u64 free_bytes;       /* nvmlMemory_t.free */
	__u64 processes_bytes;  /* the sum of usedGpuMemory of all processes that NVML lists, traced or not */
	__u8 uuid[GMT_UUID_BYTES];
};
#define GMT_FIELDS_gmt_gpu_memory(X, T)                                           \
	X(T, UNSIGNED, used_bytes) X(T, UNSIGNED, free_bytes) X(T, UNSIGNED, processes_bytes) X(T, UUID, uuid)

#define GMT_NEIGHBOURS_MAX 16

/* A process that is not traced, and its memory of a GPU. The largest GMT_NEIGHBOURS_MAX processes of a GPU have a
 * record each, the others have a record together. A record comes when a number has changed. At the newest
 * gmt_gpu_memory of the GPU all numbers are true. */
struct gmt_gpu_neighbour {
	struct gmt_hdr hdr;     /* tgid: the process, as the collector's pid namespace numbers it; 0: the others */
	__u64 used_bytes;       /* nvmlProcessInfo_t.usedGpuMemory; 0: the process has left the GPU, is traced now, or
	                         * is one of the others now */
	__u32 count;            /* number of processes that the record is about */
	__u32 reserved;
	__u8 uuid[GMT_UUID_BYTES];
	__u8 comm[GMT_COMM_BYTES]; /* "": not known */
};
#define GMT_FIELDS_gmt_gpu_neighbour(X, T)                                        \
	X(T, UNSIGNED, used_bytes) X(T, UNSIGNED, count) X(T, UUID, uuid) X(T, TEXT, comm)

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Maps BPF arrays into memory. During a system call on a map the kernel runs no tracepoint programs on that CPU
 * (bpf_disable_instrumentation(), include/linux/bpf.h): if the caller is preempted, ioctls of other tasks are not seen.
 * So values that are read or written often are accessed without system calls.
 */
#ifndef GPUMEMTRACE_LIVE_BPF_ARRAY_MAP_H
#define GPUMEMTRACE_LIVE_BPF_ARRAY_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

/* Maps the first `bytes` of an array's values. The array needs the flag BPF_F_MMAPABLE, which the sections of BPF's
 * variables have. Values lie at multiples of 8. NULL: the array cannot be mapped. */
static inline void *mapped_open(int map_fd, size_t bytes, bool writable)
{
	void *values = mmap(NULL, bytes, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, map_fd, 0);

	return values == MAP_FAILED ? NULL : values;
}

static inline void mapped_close(void *values, size_t bytes)
{
	if (values)
		munmap(values, bytes);
}

#endif

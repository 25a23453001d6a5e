/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arrays of BPF as memory. A system call on a map keeps the kernel from running tracepoints' programs on its CPU until
 * the call is over (bpf_disable_instrumentation(), include/linux/bpf.h): if the caller is preempted, ioctls of other
 * tasks are not seen. So whatever is read or written often is not accessed by system calls.
 */
#ifndef GPUMEMTRACE_LIVE_BPF_ARRAY_MAP_H
#define GPUMEMTRACE_LIVE_BPF_ARRAY_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

/* The first `bytes` of the values of an array with BPF_F_MMAPABLE, as the sections of BPF's variables have the flag;
 * values lie at multiples of 8. NULL: the array cannot be mapped. */
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

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arrays of BPF as memory. A system call on a map keeps the kernel from running tracepoints' programs on its CPU until
 * the call is over (bpf_disable_instrumentation(), include/linux/bpf.h): where the caller is preempted, other tasks'
 * ioctls go by unseen. So what is read or written often is not done by system calls.
 */
#ifndef GPUMEMTRACE_LIVE_BPF_ARRAY_MAP_H
#define GPUMEMTRACE_LIVE_BPF_ARRAY_MAP_H

#include <stdbool.h>
#include <stddef.h>

/* The values of an array that has BPF_F_MMAPABLE, as sections of BPF's variables have: `bytes` from the first one on;
 * values lie at multiples of 8. NULL: it cannot be mapped. To be unmapped by mapped_close(). */
void *mapped_open(int map_fd, size_t bytes, bool writable);
void mapped_close(void *values, size_t bytes);

#endif

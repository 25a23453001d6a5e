/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures the memory that gpumemtrace itself takes. */
#ifndef GPUMEMTRACE_LIVE_PROCESS_OWN_MEMORY_H
#define GPUMEMTRACE_LIVE_PROCESS_OWN_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

/* Anonymous memory that is resident, in bytes. What shares files or the kernel's maps does not count. */
struct own_memory {
	uint64_t tracer;         /* this process */
	uint64_t readers;        /* the keeper (parse/parser.h) and its workers */
};

/* `keeper`: 0: there is none. What cannot be read counts as nothing. Takes some microseconds for each process. */
void own_memory_read(pid_t keeper, struct own_memory *memory);

/* Bytes of all BPF maps that this process has open, as the kernel counts them. It looks at each descriptor. */
uint64_t own_memory_maps(void);
/* The same of one map, before its descriptor is closed. */
uint64_t own_memory_map(int fd);

#endif

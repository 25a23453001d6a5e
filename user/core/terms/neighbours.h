/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes that hold memory of a GPU and are not traced, as NVML lists them (gmt_gpu_neighbour). */
#ifndef GPUMEMTRACE_CORE_TERMS_NEIGHBOURS_H
#define GPUMEMTRACE_CORE_TERMS_NEIGHBOURS_H

#include <stddef.h>

#include <gpumemtrace/wire.h>

struct neighbours {
	size_t count;
	struct gmt_gpu_neighbour list[GMT_NEIGHBOURS_MAX]; /* the largest first */
	struct gmt_gpu_neighbour others; /* all further ones together; used_bytes 0: there are none */
};

/* Takes a record in: new numbers of a process, or the process is gone. 0, or -EINVAL: the list is full. */
int neighbours_take(struct neighbours *neighbours, const struct gmt_gpu_neighbour *rec);

#endif

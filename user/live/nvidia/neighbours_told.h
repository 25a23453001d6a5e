/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells the stream which processes hold memory of a GPU and are not traced (gmt_gpu_neighbour): what has changed. */
#ifndef GPUMEMTRACE_LIVE_NVIDIA_NEIGHBOURS_TOLD_H
#define GPUMEMTRACE_LIVE_NVIDIA_NEIGHBOURS_TOLD_H

#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

struct stream;

/* A process and its memory of one GPU. */
struct neighbour_usage {
	uint32_t pid;            /* 0: NVML does not say */
	uint64_t bytes;
};

/* What the stream knows by now. All zeros: nothing. */
struct neighbours_told {
	struct neighbour_told *list;
	size_t count;
};

/* `list`: all processes that hold memory of the GPU now and are not traced. The function sorts the list. */
void neighbours_tell(struct neighbours_told *told, struct stream *stream, const struct gmt_gpu *gpu,
		     struct neighbour_usage *list, size_t count);
void neighbours_told_free(struct neighbours_told *told);

#endif

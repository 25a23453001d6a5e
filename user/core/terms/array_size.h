/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An estimate of the memory of a CUDA array from its descriptor: texels times bytes. The driver pads (rows to a GOB of
 * 64 x 8 bytes, the whole to 64 KiB or 2 MiB pages), so the estimate is a lower bound.
 */
#ifndef GPUMEMTRACE_CORE_TERMS_ARRAY_SIZE_H
#define GPUMEMTRACE_CORE_TERMS_ARRAY_SIZE_H

#include <stdbool.h>
#include <stdint.h>

struct array_shape {
	uint64_t width, height, depth; /* in texels; height 0: one dimension, depth 0: two */
	uint32_t format;               /* CUarray_format */
	uint32_t channels;
	uint32_t flags;                /* CUDA_ARRAY3D_* */
	uint32_t levels;               /* levels of a mipmap; 0 and 1: one level */
};

/* Whether the array has memory of its own. It has none if it is sparse, or if its memory is mapped later. */
bool array_has_memory(uint32_t flags);

/* Bytes; 0 without memory of its own. UINT64_MAX: the format is not known or the shape makes no sense. */
#define ARRAY_SIZE_UNKNOWN UINT64_MAX
uint64_t array_size(const struct array_shape *shape);

#endif

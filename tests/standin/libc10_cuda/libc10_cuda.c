/* SPDX-License-Identifier: BSD-2-Clause */
/* What of PyTorch's libc10_cuda a tracer sees: its allocator's calls of CUDA come from here. */
#include <stdint.h>

#include "../cuda_min.h"
#include "../cuda_proto.h"

/* As the allocators get memory: a segment, or with the backend cudaMallocAsync a block. */
uint64_t c10_cuda_get(uint64_t size, int is_async);
uint64_t c10_cuda_get(uint64_t size, int is_async)
{
	CUdeviceptr at = 0;
	CUresult rc = is_async ? cuMemAllocAsync(&at, size, NULL) : cuMemAlloc_v2(&at, size);

	return rc == CUDA_SUCCESS ? at : 0;
}

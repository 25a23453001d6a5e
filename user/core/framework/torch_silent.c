// SPDX-License-Identifier: BSD-2-Clause
/*
 * Finds processes whose PyTorch takes device memory and reports no blocks (framework.h). A PyTorch that is loaded and
 * does nothing is not silent. There are two signs. First, the environment has settings for PyTorch, and the process
 * makes the calls that go with these settings. Second, there are stacks in which PyTorch's own allocator takes memory.
 * An allocation by just any library of the process is no sign: NCCL, cuBLAS and RMM allocate, too.
 */
#include "core/framework/framework.h"

#include <string.h>

#include "core/terms/frames.h"
#include "core/ledger/process.h"

/* So many calls by PyTorch are a sign. After a single call, the report may be about to come. */
#define CALLS_ENOUGH 2
/* So many calls are a sign where no stacks are taken: a library alone makes fewer. */
#define CALLS_MANY 16
#define FRAMES_MOST 24   /* a pluggable allocator's own frames come before PyTorch's */

static bool begins_with(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* The allocator of PyTorch that took the memory, as the stack shows. */
static enum gmt_torch_silence allocator_of(const struct frames *frames, uint32_t stack)
{
	enum gmt_torch_silence by_call = GMT_TORCH_NOT_SILENT;
	bool is_inside = true;   /* the frame is CUDA's */
	uint32_t count;
	const uint32_t *list = frames_list(frames, stack, &count);

	for (uint32_t i = 0; i < count && i < FRAMES_MOST; i++) {
		const struct frames_symbol *s = &frames->symbols[list[i]];
		const char *module = basename(s->module);

		if (begins_with(s->function, "cuMemAllocAsync") ||
		    begins_with(s->function, "cuMemAllocFromPoolAsync") || begins_with(s->function, "cudaMallocAsync"))
			by_call = GMT_TORCH_ASYNC;
		else if (by_call == GMT_TORCH_NOT_SILENT &&
			 (begins_with(s->function, "cuMemAlloc") || begins_with(s->function, "cudaMalloc")))
			by_call = GMT_TORCH_UNCACHED;
		/* CUDA took the memory for something else, such as a context or a module. */
		if (by_call == GMT_TORCH_NOT_SILENT)
			return GMT_TORCH_NOT_SILENT;
		if (strstr(s->function, "CUDAPluggableAllocator"))
			return GMT_TORCH_PLUGGABLE;
		if (is_inside && begins_with(module, "libc10_cuda.so"))
			return by_call;
		is_inside &= begins_with(module, "libcuda.so") || begins_with(module, "libcudart");
	}
	return GMT_TORCH_NOT_SILENT;
}

static enum gmt_torch_silence by_stacks(const struct process *p, const struct frames *frames)
{
	uint64_t calls[GMT_TORCH_SILENCE_COUNT] = { 0 };
	int most = GMT_TORCH_NOT_SILENT;

	for (unsigned int row = 0; row < p->account.count; row++) {
		const struct stacks *s = &p->account.rows[row].stacks;

		for (uint32_t i = 0; i < s->count; i++)
			if (s->list[i].allocs)
				calls[allocator_of(frames, frames_of(frames, s->list[i].id))] += s->list[i].allocs;
	}
	calls[GMT_TORCH_NOT_SILENT] = 0;
	for (int i = 0; i < GMT_TORCH_SILENCE_COUNT; i++)
		most = calls[i] > calls[most] ? i : most;
	return calls[most] >= CALLS_ENOUGH ? most : GMT_TORCH_NOT_SILENT;
}

static enum gmt_torch_silence by_calls(uint64_t device, uint64_t pool)
{
	if (device + pool < CALLS_MANY)
		return GMT_TORCH_NOT_SILENT;
	return pool > device ? GMT_TORCH_ASYNC : GMT_TORCH_UNTOLD;
}

enum gmt_torch_silence torch_silence(const struct framework *f, const struct process *p, const struct frames *frames)
{
	uint64_t device = p->account.by_class[GMT_CLASS_DEVICE].allocs;
	uint64_t pool = p->account.by_class[GMT_CLASS_POOL].allocs;

	if (!f || !f->is_loaded[GMT_FW_PYTORCH] || framework_has_reported(f) || !(device + pool))
		return GMT_TORCH_NOT_SILENT;
	if (f->flags[GMT_FW_PYTORCH] & GMT_FRAMEWORK_NO_HOOK)
		return GMT_TORCH_NO_HOOK;
	if (f->flags[GMT_FW_PYTORCH] & GMT_FRAMEWORK_ASYNC && pool)
		return GMT_TORCH_ASYNC;
	if (f->flags[GMT_FW_PYTORCH] & GMT_FRAMEWORK_UNCACHED && device)
		return GMT_TORCH_UNCACHED;
	return p->unwinding.stacks ? by_stacks(p, frames) : by_calls(device, pool);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of PyTorch's libc10_cuda that a tracer sees: the allocator's calls to CUDA come from this library, and the
 * library has a static probe, pytorch:malloc, with its arguments where PyTorch 2.11 has them.
 */
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

#if defined(__x86_64__)
/* How many want to be told: while none do the probe is passed by. */
extern uint16_t torch_sdt_semaphore_pytorch_malloc __attribute__((visibility("hidden")));
uint16_t c10_cuda_wanted(void);
uint16_t c10_cuda_wanted(void)
{
	return *(volatile uint16_t *)&torch_sdt_semaphore_pytorch_malloc;
}

/* void c10_cuda_told(uint64_t ptr, int8_t device, uint64_t size, uint64_t stream) */
__asm__(".pushsection .probes, \"aw\", @progbits\n"
	".globl torch_sdt_semaphore_pytorch_malloc\n"
	".hidden torch_sdt_semaphore_pytorch_malloc\n"
	".type torch_sdt_semaphore_pytorch_malloc, @object\n"
	".size torch_sdt_semaphore_pytorch_malloc, 2\n"
	"torch_sdt_semaphore_pytorch_malloc: .zero 2\n"
	".popsection\n"
	".globl c10_cuda_told\n"
	".type c10_cuda_told, @function\n"
	"c10_cuda_told:\n"
	".cfi_startproc\n"
	"	cmpw $0, torch_sdt_semaphore_pytorch_malloc(%rip)\n"
	"	je 2f\n"
	"	push %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset 6, -16\n"
	"	mov %rsp, %rbp\n"
	".cfi_def_cfa_register 6\n"
	"	push %r14\n"
	".cfi_offset 14, -24\n"
	"	sub $56, %rsp\n"
	"	mov %rdi, %rax\n"
	"	mov %rdx, %r14\n"
	"	mov %esi, %edx\n"
	"	or $0x5500, %edx\n"   /* above the byte is whatever was there */
	"	mov %rcx, -56(%rbp)\n"
	"1:	nop\n"
	"	add $56, %rsp\n"
	"	pop %r14\n"
	"	pop %rbp\n"
	".cfi_def_cfa 7, 8\n"
	"2:	ret\n"
	".cfi_endproc\n"
	".size c10_cuda_told, .-c10_cuda_told\n"
	".pushsection .note.stapsdt, \"\", @note\n"
	".balign 4\n"
	".4byte 4f - 3f, 6f - 5f, 3\n"
	"3: .asciz \"stapsdt\"\n"
	"4: .balign 4\n"
	"5: .8byte 1b, 0, torch_sdt_semaphore_pytorch_malloc\n"
	".asciz \"pytorch\"\n"
	".asciz \"malloc\"\n"
	".asciz \"-8@%rax -1@%dl -8@%r14 -8@-56(%rbp)\"\n"
	"6: .balign 4\n"
	".popsection\n");
#endif

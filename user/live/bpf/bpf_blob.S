/* SPDX-License-Identifier: BSD-2-Clause */
/* The compiled BPF programs inside the binary. programs.c opens them. */
	.section .rodata
	.balign 8
	.globl bpf_blob
	.type bpf_blob, @object
bpf_blob:
	.incbin GMT_BPF_OBJECT
	.size bpf_blob, . - bpf_blob
	.globl bpf_blob_end
bpf_blob_end:
	.section .note.GNU-stack,"",@progbits

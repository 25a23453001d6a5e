/* SPDX-License-Identifier: BSD-2-Clause */
/* The built-in rules inside the binary: see owners.h. */
	.section .rodata
	.globl owners_builtin
	.type owners_builtin, %object
owners_builtin:
	.incbin "user/symbol/owners.conf"
	.size owners_builtin, . - owners_builtin
	.globl owners_builtin_end
owners_builtin_end:
	.byte 0
	.section .note.GNU-stack,"",%progbits

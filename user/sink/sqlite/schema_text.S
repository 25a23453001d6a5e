/* SPDX-License-Identifier: BSD-2-Clause */
/* The schema inside the binary: see schema.h. */
	.section .rodata
	.globl sqlite_schema
	.type sqlite_schema, %object
sqlite_schema:
	.incbin "user/doc/sqlite-schema.sql"
	.byte 0
	.size sqlite_schema, . - sqlite_schema
	.section .note.GNU-stack,"",%progbits

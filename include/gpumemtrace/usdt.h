/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Where the arguments of a static probe lie. The collector reads the places from the library's notes and gives them to
 * BPF for each probe. The uprobe's cookie is the place's number | enum gmt_fw << 32.
 */
#ifndef GPUMEMTRACE_USDT_H
#define GPUMEMTRACE_USDT_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define GMT_USDT_ARGS 4      /* most arguments that are read */
#define GMT_USDT_PLACES 64   /* most places in all libraries */

enum gmt_usdt_kind {
	GMT_USDT_CONSTANT,   /* value */
	GMT_USDT_REGISTER,
	GMT_USDT_MEMORY,     /* at the register's value + value */
};

struct gmt_usdt_arg {
	__s64 value;
	__u16 reg;           /* its offset in struct pt_regs */
	__u8 kind;           /* enum gmt_usdt_kind */
	__u8 bytes;          /* 1, 2, 4 or 8 */
	__u8 is_signed;
	__u8 reserved[3];
};

struct gmt_usdt {
	struct gmt_usdt_arg args[GMT_USDT_ARGS];
};

#endif

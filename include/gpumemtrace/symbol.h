/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The part of wire.h about names: the frames of stacks as text. */
#ifndef GPUMEMTRACE_SYMBOL_H
#define GPUMEMTRACE_SYMBOL_H

enum gmt_symbol_kind {
	GMT_SYMBOL_NATIVE = 0,
	GMT_SYMBOL_PYTHON = 1,
};

enum gmt_symbol_flag {
	GMT_SYMBOL_INLINED = 1,  /* inlined into the next frame outwards */
	GMT_SYMBOL_GUESSED = 2,  /* found by its frame pointer, without unwind information */
};

/* One frame in words. The text is function, module and source file, each ended by a NUL; "" is unknown,
 * the module is a path, or "[vdso]", "[anon]"; the end is filled with NULs. */
struct gmt_symbol {
	struct gmt_hdr hdr;      /* tgid 0: of no single process */
	__u32 id;                /* of this session, given out once, never 0 */
	__u32 line;              /* 0: unknown */
	__u64 offset;            /* in the module; an address where the module is unknown; 0 with a function */
	__u8 kind;               /* enum gmt_symbol_kind */
	__u8 flags;              /* enum gmt_symbol_flag */
	__u16 function_len;      /* of the texts, without their NULs */
	__u16 module_len;
	__u16 file_len;
	__u8 text[];
};
#define GMT_FIELDS_gmt_symbol(X, T)                                               \
	X(T, UNSIGNED, id) X(T, UNSIGNED, line) X(T, HEX, offset) X(T, SYMBOL_KIND, kind) \
	X(T, HEX, flags)

/* No later stack has a symbol with this id or a lower one: a symbol that is needed again comes with a new id. */
struct gmt_symbols_end {
	struct gmt_hdr hdr;
	__u32 last_id;
	__u32 reserved;
};
#define GMT_FIELDS_gmt_symbols_end(X, T)                                          \
	X(T, UNSIGNED, last_id)

/* A stack in words: the ids of its frames' symbols, which were sent before it, innermost first. */
struct gmt_stack_frames {
	struct gmt_hdr hdr;      /* tgid: the stack's */
	__u32 stack_id;
	__u32 count;             /* an odd one is followed by 4 bytes of padding */
	__u32 symbols[];
};
#define GMT_FIELDS_gmt_stack_frames(X, T)                                         \
	X(T, UNSIGNED, stack_id) X(T, UNSIGNED, count)

#endif

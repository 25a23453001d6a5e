/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading little-endian numbers out of untrusted bytes. A read that would leave the bytes gives 0,
 * moves to the end and marks the cursor bad, for good: a sequence of reads needs one check.
 */
#ifndef GPUMEMTRACE_SYMBOL_UNWIND_EHREAD_H
#define GPUMEMTRACE_SYMBOL_UNWIND_EHREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "symbol/unwind/ehframe.h"

struct eh_cursor {
	const unsigned char *base; /* offsets count from here */
	const unsigned char *p, *end;
	bool is_bad;
};

/* `start` and `size` are cut to what is there. */
static inline struct eh_cursor eh_cursor(const unsigned char *base, size_t total, size_t start, size_t size)
{
	start = start < total ? start : total;
	size = size < total - start ? size : total - start;
	if (!total)
		return (struct eh_cursor){ base, base, base, false };   /* base may be NULL: no arithmetic */
	return (struct eh_cursor){ base, base + start, base + start + size, false };
}

static inline size_t eh_at(const struct eh_cursor *c)
{
	return (size_t)(c->p - c->base);
}

static inline const unsigned char *eh_take(struct eh_cursor *c, uint64_t size)
{
	const unsigned char *p = c->p;

	if (size > (uint64_t)(c->end - c->p)) {
		c->is_bad = true;
		c->p = c->end;
		return NULL;
	}
	c->p += size;
	return p;
}

static inline void eh_skip(struct eh_cursor *c, uint64_t size)
{
	(void)eh_take(c, size);
}

/* The next bytes as a cursor of their own. */
static inline struct eh_cursor eh_sub(struct eh_cursor *c, uint64_t size)
{
	const unsigned char *p = eh_take(c, size);

	return (struct eh_cursor){ c->base, p ? p : c->end, c->p, !p };
}

#define EH_READ(name, type)                                        \
	static inline type name(struct eh_cursor *c)               \
	{                                                          \
		const unsigned char *p = eh_take(c, sizeof(type)); \
		type value = 0;                                    \
		if (p)                                             \
			memcpy(&value, p, sizeof(value));          \
		return value;                                      \
	}
EH_READ(eh_u8, uint8_t)
EH_READ(eh_u16, uint16_t)
EH_READ(eh_u32, uint32_t)
EH_READ(eh_u64, uint64_t)
#undef EH_READ

/* 7.6; bits beyond 64 are dropped. */
static inline uint64_t eh_leb(struct eh_cursor *c, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = eh_u8(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift = shift < 64 ? shift + 7 : shift;
	} while (byte & 0x80);
	if (is_signed && (byte & 0x40) && shift < 64)
		value |= ~0ULL << shift;
	return value;
}

static inline uint64_t eh_uleb(struct eh_cursor *c)
{
	return eh_leb(c, false);
}

static inline int64_t eh_sleb(struct eh_cursor *c)
{
	return (int64_t)eh_leb(c, true);
}

/* A string with its zero; "" marks a bad cursor where there is none. */
static inline const char *eh_string(struct eh_cursor *c)
{
	const unsigned char *zero = c->end > c->p ? memchr(c->p, 0, (size_t)(c->end - c->p)) : NULL;
	const char *text = (const char *)c->p;

	if (!zero) {
		c->is_bad = true;
		return "";
	}
	c->p = zero + 1;
	return text;
}

/* A pointer as FDEs of a CIE have it (DW_CFA_set_loc). */
uint64_t eh_code_address(const struct ehframe *eh, const struct eh_cie *cie, struct eh_cursor *c);

#endif

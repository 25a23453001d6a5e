/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads call frame information out of untrusted bytes: numbers, encoded pointers, CIEs and the header.
 *
 * A read beyond the bytes gives 0, moves to the end and marks the cursor bad for good. So one check after a sequence of
 * reads is enough. Sources: DWARF 5 section 6.4 and 7.6, Linux Standard Base 5 chapter 10 (.eh_frame, .eh_frame_hdr and
 * their pointer encodings).
 */
#ifndef GPUMEMTRACE_SYMBOL_ELF_EHREAD_H
#define GPUMEMTRACE_SYMBOL_ELF_EHREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes of a file and the virtual address at which the module expects them. */
struct eh_bytes {
	const unsigned char *data;
	size_t size;
	uint64_t vaddr;
};

struct eh_cursor {
	const unsigned char *base; /* offsets count from here */
	const unsigned char *p, *end;
	uint64_t vaddr;            /* of the base */
	bool is_bad;
};

/* `start` and `size` are cut to what is there. */
static inline struct eh_cursor eh_cursor(const struct eh_bytes *bytes, size_t start, size_t size)
{
	const unsigned char *base = bytes->data;

	start = start < bytes->size ? start : bytes->size;
	size = size < bytes->size - start ? size : bytes->size - start;
	if (!bytes->size) /* base may be NULL: no arithmetic */
		return (struct eh_cursor){ base, base, base, bytes->vaddr, false };
	return (struct eh_cursor){ base, base + start, base + start + size, bytes->vaddr, false };
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

/* The next bytes as a cursor of their own. */
static inline struct eh_cursor eh_sub(struct eh_cursor *c, uint64_t size)
{
	const unsigned char *p = eh_take(c, size);

	return (struct eh_cursor){ c->base, p ? p : c->end, c->p, c->vaddr, !p };
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

/* DWARF 5, 7.6; bits beyond 64 are dropped. */
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

#define EH_FORMAT 0x0f /* the part of a pointer's encoding that says how its number is written */

/* A pointer. An offset from the data's base (DW_EH_PE_datarel) counts from the bytes' own address. The address is
 * not followed: DW_EH_PE_indirect makes sense for personality routines only. */
uint64_t eh_pointer(struct eh_cursor *c, uint8_t encoding);

struct eh_cie {
	size_t offset;           /* in the section: FDEs name it */
	uint64_t code_align;
	int64_t data_align;
	size_t program, program_size;
	uint8_t fde_encoding;
	bool has_augmentation;   /* 'z': FDEs carry a length of their augmentation */
	bool is_signal;          /* 'S' */
	bool is_usable;          /* all its parts are known */
};

/* Reads a CIE from its version on, up to the end of the cursor. False: it is cut off. */
bool eh_cie_read(struct eh_cursor *c, struct eh_cie *cie);

/* The header of the call frame information: .eh_frame_hdr, PT_GNU_EH_FRAME. */
struct eh_header {
	uint64_t eh_frame;       /* vaddr of the section */
	uint64_t count;          /* entries of the table; 0: there is no table */
	uint64_t table;          /* its vaddr; 0: its entries are not struct eh_table_entry, which linkers write */
};
struct eh_table_entry {
	int32_t start, fde;      /* relative to the header's address; sorted by start */
};
#define EH_HEADER_BYTES 12       /* up to the table, as linkers write it */

/* False: the header is damaged or of an unknown kind. */
bool eh_header_read(const struct eh_bytes *bytes, struct eh_header *header);

#endif

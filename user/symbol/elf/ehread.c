// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/elf/ehread.h"

/* A CIE's program runs for each of the CIE's FDEs. Real programs have 5 to 20 bytes. */
#define CIE_PROGRAM_MAX 1024

/* Pointer encodings, LSB 5, 10.5.1: the low half is the format, the high half says what the pointer is relative to. */
enum {
	PE_ABSPTR = 0x00, PE_ULEB128 = 0x01, PE_UDATA2 = 0x02, PE_UDATA4 = 0x03, PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09, PE_SDATA2 = 0x0a, PE_SDATA4 = 0x0b, PE_SDATA8 = 0x0c,
	PE_PCREL = 0x10, PE_DATAREL = 0x30, PE_ALIGNED = 0x50, PE_BASE = 0x70,
	PE_OMIT = 0xff,
};

static uint64_t read_format(struct eh_cursor *c, uint8_t format)
{
	switch (format) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		return eh_u64(c);
	case PE_ULEB128:
		return eh_uleb(c);
	case PE_SLEB128:
		return (uint64_t)eh_sleb(c);
	case PE_UDATA2:
		return eh_u16(c);
	case PE_SDATA2:
		return (uint64_t)(int64_t)(int16_t)eh_u16(c);
	case PE_UDATA4:
		return eh_u32(c);
	case PE_SDATA4:
		return (uint64_t)(int64_t)(int32_t)eh_u32(c);
	}
	c->is_bad = true;
	return 0;
}

uint64_t eh_pointer(struct eh_cursor *c, uint8_t encoding)
{
	uint64_t at = c->vaddr + eh_at(c), value;

	if (encoding == PE_ALIGNED) {
		eh_take(c, -at & 7);
		return eh_u64(c);
	}
	value = read_format(c, encoding & EH_FORMAT);
	switch (encoding & PE_BASE) {
	case 0:
		return value;
	case PE_PCREL:
		return value + at;
	case PE_DATAREL:
		return value + c->vaddr;
	}
	c->is_bad = true;
	return 0;
}

/* The augmentation's data, in the order of its letters (LSB 5, 10.6.1.1.1). */
static void read_augmentation(struct eh_cursor *c, struct eh_cie *cie, const char *letters)
{
	struct eh_cursor data = eh_sub(c, eh_uleb(c));

	cie->has_augmentation = true;
	for (; *letters; letters++) {
		uint8_t encoding = strchr("SB", *letters) ? PE_OMIT : eh_u8(&data);

		switch (*letters) {
		case 'L':
			break;
		case 'P':
			if (encoding != PE_OMIT)
				eh_pointer(&data, encoding);
			break;
		case 'R':
			cie->fde_encoding = encoding;
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'B': /* arm64: return addresses are signed with the other key */
			break;
		default:
			return;
		}
	}
	cie->is_usable = !data.is_bad;
}

bool eh_cie_read(struct eh_cursor *c, struct eh_cie *cie)
{
	uint8_t version = eh_u8(c);
	const char *letters = (const char *)c->p;
	const unsigned char *zero = c->p < c->end ? memchr(c->p, 0, (size_t)(c->end - c->p)) : NULL;

	*cie = (struct eh_cie){ .fde_encoding = PE_ABSPTR };
	if (!zero)
		return false;
	c->p = zero + 1;
	cie->code_align = eh_uleb(c);
	cie->data_align = eh_sleb(c);
	if (version == 1) /* the column of the return address */
		eh_u8(c);
	else
		eh_uleb(c);
	if (letters[0] == 'z')
		read_augmentation(c, cie, letters + 1);
	else
		cie->is_usable = !letters[0];
	cie->program = eh_at(c);
	cie->program_size = (size_t)(c->end - c->p);
	cie->is_usable &= (version == 1 || version == 3) && cie->program_size <= CIE_PROGRAM_MAX;
	return !c->is_bad;
}

bool eh_header_read(const struct eh_bytes *bytes, struct eh_header *header)
{
	struct eh_cursor c = eh_cursor(bytes, 0, bytes->size);
	uint8_t version = eh_u8(&c), section = eh_u8(&c), count = eh_u8(&c), table = eh_u8(&c);

	*header = (struct eh_header){ 0 };
	if (c.is_bad || version != 1 || section == PE_OMIT)
		return false;
	header->eh_frame = eh_pointer(&c, section);
	if (c.is_bad)
		return false;
	if (count != PE_OMIT)
		header->count = eh_pointer(&c, count);
	if (c.is_bad)
		header->count = 0;
	else if (table == (PE_DATAREL | PE_SDATA4))
		header->table = bytes->vaddr + eh_at(&c);
	return true;
}

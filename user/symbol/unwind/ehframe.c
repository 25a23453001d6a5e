// SPDX-License-Identifier: BSD-2-Clause
/* See ehframe.h. Section numbers are DWARF 5's. */
#include "symbol/unwind/ehframe.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "symbol/unwind/ehread.h"

/* Entry lengths (LSB 5, 10.6.1.1): 64 bits follow. */
#define LENGTH_64 0xffffffffu

/* A CIE's program runs for each of its FDEs. Real ones have 5 to 20 bytes. */
#define CIE_PROGRAM_MAX 1024

/* Pointer encodings, LSB 5, 10.5.1: format in the low half, what it is relative to above. */
enum {
	PE_ABSPTR = 0x00, PE_ULEB128 = 0x01, PE_UDATA2 = 0x02, PE_UDATA4 = 0x03, PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09, PE_SDATA2 = 0x0a, PE_SDATA4 = 0x0b, PE_SDATA8 = 0x0c,
	PE_FORMAT = 0x0f, PE_PCREL = 0x10, PE_DATAREL = 0x30, PE_ALIGNED = 0x50, PE_BASE = 0x70,
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

/* A pointer; PE_DATAREL counts from `data`, the header's own address. The address is not followed:
 * PE_INDIRECT makes sense for personality routines only, which nobody here asks for. */
static uint64_t read_encoded(struct eh_cursor *c, uint8_t encoding, uint64_t vaddr, uint64_t data)
{
	uint64_t at = vaddr + eh_at(c), value;

	if (encoding == PE_ALIGNED) {
		eh_skip(c, -at & 7);
		return eh_u64(c);
	}
	value = read_format(c, encoding & PE_FORMAT);
	switch (encoding & PE_BASE) {
	case 0:
		return value;
	case PE_PCREL:
		return value + at;
	case PE_DATAREL:
		return value + data;
	}
	c->is_bad = true;
	return 0;
}

int ehframe_hdr_parse(const struct eh_bytes *bytes, struct ehframe_hdr *hdr)
{
	struct eh_cursor c = eh_cursor(bytes->data, bytes->size, 0, bytes->size);
	uint8_t version = eh_u8(&c), section = eh_u8(&c), count = eh_u8(&c);

	eh_u8(&c);   /* encoding of the search table, which is not used: entries are read in their own order */
	*hdr = (struct ehframe_hdr){ 0 };
	if (c.is_bad || version != 1 || section == PE_OMIT)
		return -EINVAL;
	hdr->eh_frame = read_encoded(&c, section, bytes->vaddr, bytes->vaddr);
	if (c.is_bad)
		return -EINVAL;
	if (count != PE_OMIT)
		hdr->fde_count = read_encoded(&c, count, bytes->vaddr, bytes->vaddr);
	if (c.is_bad)
		hdr->fde_count = 0;
	return 0;
}

/* The augmentation's data, in the order of its letters (LSB 5, 10.6.1.1.1). */
static void read_augmentation(struct ehframe *eh, struct eh_cie *cie, struct eh_cursor *c, const char *letters)
{
	uint64_t size = eh_uleb(c);
	struct eh_cursor data = eh_sub(c, size);

	cie->has_augmentation = true;
	for (; *letters; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'L':
			eh_u8(&data);
			break;
		case 'P':
			encoding = eh_u8(&data);
			if (encoding != PE_OMIT)
				read_encoded(&data, encoding, eh->bytes.vaddr, 0);
			break;
		case 'R':
			cie->fde_encoding = eh_u8(&data);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		default:
			return;
		}
	}
	cie->is_usable = !data.is_bad;
}

static bool parse_cie(struct ehframe *eh, struct eh_cursor *c, size_t offset)
{
	struct eh_cie *cie;
	const char *letters;
	uint8_t version;

	if (eh->cie_count == eh->cie_capacity) {
		eh->cie_capacity = eh->cie_capacity ? eh->cie_capacity * 2 : 16;
		eh->cies = xreallocarray(eh->cies, eh->cie_capacity, sizeof(*eh->cies));
	}
	cie = &eh->cies[eh->cie_count];
	*cie = (struct eh_cie){ .offset = offset, .fde_encoding = PE_ABSPTR };
	version = eh_u8(c);
	letters = eh_string(c);
	if (c->is_bad)
		return false;
	cie->code_align = eh_uleb(c);
	cie->data_align = eh_sleb(c);
	cie->ra_column = version == 1 ? eh_u8(c) : eh_uleb(c);
	if (letters[0] == 'z')
		read_augmentation(eh, cie, c, letters + 1);
	else
		cie->is_usable = !letters[0];
	if (c->is_bad)
		return false;
	cie->is_usable &= version == 1 || version == 3;
	cie->program = eh_at(c);
	cie->program_size = (size_t)(c->end - c->p);
	cie->is_usable &= cie->program_size <= CIE_PROGRAM_MAX;
	eh->cie_count++;
	return true;
}

/* The CIE at an offset: nearly always the newest one. */
static const struct eh_cie *find_cie(const struct ehframe *eh, size_t offset)
{
	size_t low = 0, high = eh->cie_count;

	if (high && eh->cies[high - 1].offset == offset)
		return &eh->cies[high - 1];
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (eh->cies[middle].offset == offset)
			return &eh->cies[middle];
		if (eh->cies[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static bool parse_fde(struct ehframe *eh, struct eh_cursor *c, const struct eh_cie *cie)
{
	struct eh_fde fde = { .cie = (uint32_t)(cie - eh->cies) };

	fde.start = read_encoded(c, cie->fde_encoding, eh->bytes.vaddr, 0);
	fde.size = read_format(c, cie->fde_encoding & PE_FORMAT);
	if (cie->has_augmentation)
		eh_skip(c, eh_uleb(c));
	if (c->is_bad || (size_t)(c->end - c->p) > UINT32_MAX)
		return false;
	fde.program = eh_at(c);
	fde.program_size = (uint32_t)(c->end - c->p);
	if (eh->fde_count == eh->fde_capacity) {
		eh->fde_capacity = eh->fde_capacity ? eh->fde_capacity * 2 : 1024;
		eh->fdes = xreallocarray(eh->fdes, eh->fde_capacity, sizeof(*eh->fdes));
	}
	eh->fdes[eh->fde_count++] = fde;
	return true;
}

/* One entry behind its length. An entry that makes no sense ends the parsing: the next length would
 * be as wrong. */
static bool parse_entry(struct ehframe *eh, struct eh_cursor *c, size_t offset)
{
	size_t id_at = eh_at(c);
	uint32_t id = eh_u32(c);
	const struct eh_cie *cie;

	if (c->is_bad)
		return false;
	if (!id)
		return parse_cie(eh, c, offset);
	cie = id <= id_at ? find_cie(eh, id_at - id) : NULL;
	if (!cie)
		return false;
	return !cie->is_usable || parse_fde(eh, c, cie);
}

int ehframe_parse(struct ehframe *eh, const struct eh_bytes *bytes, uint16_t machine, bool stop_at_zero)
{
	struct eh_cursor c = eh_cursor(bytes->data, bytes->size, 0, bytes->size);

	*eh = (struct ehframe){ .bytes = *bytes, .machine = machine };
	if (machine != EM_X86_64)
		return -ENOTSUP;
	while (c.end - c.p >= 4) {
		size_t offset = eh_at(&c);
		uint64_t length = eh_u32(&c);
		struct eh_cursor entry;

		if (!length && stop_at_zero)
			break;
		if (length == LENGTH_64)
			length = eh_u64(&c);
		entry = eh_sub(&c, length);
		if (entry.is_bad || (length && !parse_entry(eh, &entry, offset))) {
			eh->is_damaged = true;
			break;
		}
	}
	return 0;
}

void ehframe_fini(struct ehframe *eh)
{
	free(eh->cies);
	free(eh->fdes);
	*eh = (struct ehframe){ 0 };
}

uint64_t eh_code_address(const struct ehframe *eh, const struct eh_cie *cie, struct eh_cursor *c)
{
	return read_encoded(c, cie->fde_encoding, eh->bytes.vaddr, 0);
}

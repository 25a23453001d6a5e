// SPDX-License-Identifier: BSD-2-Clause
/*
 * image_fde(): finds the function that an address is in, by call frame information. The search reads only the bytes
 * that it passes, so that a symbol without a size can be checked without loading the .eh_frame of its module.
 */
#include "symbol/elf/ehread.h"
#include "symbol/elf/image.h"

#define ENTRY_BYTES 64  /* read of a CIE or an FDE; the fields that are needed end long before */

/* Reads the beginning of an entry behind its length. Extended lengths (0xffffffff) belong to sections of 4 GiB. */
static bool read_entry_head(const struct image *image, uint64_t vaddr, unsigned char *to, struct eh_cursor *c)
{
	struct eh_bytes bytes = { to, ENTRY_BYTES, vaddr };
	uint32_t length;

	if (!image_read_at(image, vaddr, &length, sizeof(length)) || length < 8 || length == UINT32_MAX)
		return false;
	if (length < ENTRY_BYTES - 4)
		bytes.size = length + 4;
	*c = eh_cursor(&bytes, 4, bytes.size);
	return image_read_at(image, vaddr, to, bytes.size);
}

static bool fde_size(const struct image *image, uint64_t vaddr, uint64_t *size)
{
	unsigned char fde_data[ENTRY_BYTES], cie_data[ENTRY_BYTES];
	struct eh_cursor fde, c;
	struct eh_cie cie;
	uint32_t back;

	if (!read_entry_head(image, vaddr, fde_data, &fde))
		return false;
	back = eh_u32(&fde);
	if (!back || !read_entry_head(image, vaddr + 4 - back, cie_data, &c))
		return false;
	eh_u32(&c);
	if (!eh_cie_read(&c, &cie))
		return false;
	eh_pointer(&fde, cie.fde_encoding);
	*size = eh_pointer(&fde, cie.fde_encoding & EH_FORMAT);
	return !fde.is_bad;
}

bool image_fde(const struct image *image, uint64_t vaddr, uint64_t *start, uint64_t *size)
{
	unsigned char data[EH_HEADER_BYTES];
	struct eh_bytes bytes = { data, sizeof(data), image->eh_frame_hdr };
	struct eh_header header;
	struct eh_table_entry entry;
	uint64_t low = 0, high;

	if (!bytes.vaddr || !image_read_at(image, bytes.vaddr, data, sizeof(data)) ||
	    !eh_header_read(&bytes, &header) || !header.table)
		return false;
	for (high = header.count; low < high;) { /* the first entry behind the address */
		uint64_t middle = low + (high - low) / 2;

		if (!image_read_at(image, header.table + middle * sizeof(entry), &entry, sizeof(entry)))
			return false;
		if (bytes.vaddr + (uint64_t)(int64_t)entry.start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || !image_read_at(image, header.table + (low - 1) * sizeof(entry), &entry, sizeof(entry)))
		return false;
	*start = bytes.vaddr + (uint64_t)(int64_t)entry.start;
	return fde_size(image, bytes.vaddr + (uint64_t)(int64_t)entry.fde, size) && vaddr - *start < *size;
}

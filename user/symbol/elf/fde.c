// SPDX-License-Identifier: BSD-2-Clause
/*
 * image_fde(): which function an address is in, as the unwinder sees it. Only the bytes on the way are
 * read, so that a symbol without a size can be checked without loading the .eh_frame of its module.
 * Layout: Linux Standard Base 5, chapter 10.6 (.eh_frame, .eh_frame_hdr); encodings: 10.5.1.
 */
#include <string.h>

#include "symbol/elf/image.h"

#define ENC_SDATA4_DATAREL 0x3b
#define ENC_UDATA4 0x03
#define CIE_BYTES 64    /* what is read of a CIE: its augmentation ends long before */

struct header {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
	uint32_t count;
};

struct entry {
	int32_t start, fde;     /* relative to the header's address */
};

/* The bytes of a pointer in an encoding, 0 if it has no fixed number. */
static unsigned int encoded_size(uint8_t encoding)
{
	switch (encoding & 0x07) {
	case 0x00: return 8;
	case 0x02: return 2;
	case 0x03: return 4;
	case 0x04: return 8;
	}
	return 0;
}

static bool skip_leb(const unsigned char *bytes, size_t size, size_t *at)
{
	while (*at < size) {
		if (!(bytes[(*at)++] & 0x80))
			return true;
	}
	return false;
}

/* The encoding of the addresses in FDEs of this CIE: 'R' of its augmentation. */
static bool cie_encoding(const struct image *image, uint64_t vaddr, uint8_t *encoding)
{
	unsigned char cie[CIE_BYTES];
	uint32_t length;
	size_t size = sizeof(cie), at = 9, letters = 9;

	if (!image_read_at(image, vaddr, &length, sizeof(length)) || length < 8)
		return false;
	if (length + 4 < size)
		size = length + 4;
	if (!image_read_at(image, vaddr, cie, size))
		return false;
	while (at < size && cie[at])
		at++;
	at++;
	*encoding = 0;
	if (letters >= size || cie[letters] != 'z')
		return at < size; /* without augmentation addresses are absolute */
	if (!skip_leb(cie, size, &at) || !skip_leb(cie, size, &at)) /* code and data alignment */
		return false;
	if (cie[8] == 1 ? at++ >= size : !skip_leb(cie, size, &at)) /* return address column */
		return false;
	if (!skip_leb(cie, size, &at))
		return false;
	for (letters++; at < size && cie[letters]; letters++) {
		if (cie[letters] == 'R') {
			*encoding = cie[at];
			return true;
		}
		if (cie[letters] == 'L') {
			at++;
		} else if (cie[letters] == 'P') {
			unsigned int pointer = encoded_size(cie[at]);

			if (!pointer)
				return false;
			at += 1 + pointer;
		}
	}
	return true;
}

static bool fde_size(const struct image *image, uint64_t vaddr, uint64_t *size)
{
	uint32_t head[2];
	uint8_t encoding;
	unsigned int bytes;

	/* extended lengths (0xffffffff) belong to sections of 4 GiB */
	if (!image_read_at(image, vaddr, head, sizeof(head)) || head[0] < 8 || head[0] == UINT32_MAX || !head[1])
		return false;
	if (!cie_encoding(image, vaddr + 4 - head[1], &encoding))
		return false;
	bytes = encoded_size(encoding);
	*size = 0;
	return bytes && image_read_at(image, vaddr + 8 + bytes, size, bytes);
}

bool image_fde(const struct image *image, uint64_t vaddr, uint64_t *start, uint64_t *size)
{
	uint64_t base = image->eh_frame_hdr, table = base + sizeof(struct header);
	struct header header;
	struct entry entry;
	uint32_t low = 0, high;

	if (!base || !image_read_at(image, base, &header, sizeof(header)) || header.version != 1 ||
	    header.count_encoding != ENC_UDATA4 || header.table_encoding != ENC_SDATA4_DATAREL ||
	    encoded_size(header.frame_encoding) != 4)
		return false;
	for (high = header.count; low < high;) { /* the first entry behind the address */
		uint32_t middle = low + (high - low) / 2;

		if (!image_read_at(image, table + (uint64_t)middle * sizeof(entry), &entry, sizeof(entry)))
			return false;
		if (base + (uint64_t)(int64_t)entry.start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || !image_read_at(image, table + (uint64_t)(low - 1) * sizeof(entry), &entry, sizeof(entry)))
		return false;
	*start = base + (uint64_t)(int64_t)entry.start;
	return fde_size(image, base + (uint64_t)(int64_t)entry.fde, size) && vaddr - *start < *size;
}

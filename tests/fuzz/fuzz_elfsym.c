// SPDX-License-Identifier: BSD-2-Clause
/* Any bytes as an ELF file with symbols: ranges are sorted and do not overlap, names end, call frame information stays
 * inside the file, and every name can be made readable, also when the file has changed since. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/elf/demangle.h"
#include "symbol/elf/elfsym.h"
#include "symbol/elf/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const char *name)
{
	char text[200];

	if (!name[0] || strlen(name) >= ELFSYM_NAME_BYTES)
		abort();
	demangle_short(name, 80, text, sizeof(text));
	if (strlen(text) > 80)
		abort();
}

static void check_table(const struct elfsym *symbols, const struct image *image)
{
	char first[ELFSYM_NAME_BYTES], last[ELFSYM_NAME_BYTES];

	for (size_t i = 0; i < symbols->count; i++) {
		const struct elfsym_range *range = &symbols->ranges[i];

		if (!range->size || (i && range[-1].start + range[-1].size > range->start))
			abort();
		if (!elfsym_find(symbols, image, range->start, first) ||
		    !elfsym_find(symbols, image, range->start + range->size - 1, last) || strcmp(first, last) != 0)
			abort();
		if (i < 64)
			check_name(first);
	}
	for (size_t i = 0; i < symbols->point_count && i < 64; i++) {
		if (elfsym_find(symbols, image, symbols->points[i].start + 1, first))
			check_name(first);
	}
}

/* The file has changed since its symbols were read: other bytes, and fewer. Names end all the same. */
static void check_changed(const struct elfsym *symbols, const struct image *image)
{
	struct image changed = *image;
	uint8_t *bytes = malloc(image->size);
	char name[ELFSYM_NAME_BYTES];

	for (size_t i = 0; bytes && i < image->size; i++)
		bytes[i] = image->bytes[i] ? image->bytes[i] : (uint8_t)i;
	changed.bytes = bytes;
	for (size_t i = 0; bytes && i < symbols->count && i < 64; i++) {
		if (elfsym_find(symbols, &changed, symbols->ranges[i].start, name))
			check_name(name);
		changed.size -= changed.size / 16;
	}
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image image, debug;
	struct elfsym symbols;
	uint64_t start, bytes, vaddr;
	char name[ELFSYM_NAME_BYTES];

	if (image_open_bytes(&image, data, size, NULL))
		return 0;
	if (image_open_bytes(&debug, data, size, NULL))
		abort();
	elfsym_read(&symbols, &image, &debug);
	check_table(&symbols, &image);
	check_changed(&symbols, &image);
	for (uint32_t i = 0; i < image.segment_count; i++) {
		if (image_fde(&image, image.segments[i].vaddr + 64, &start, &bytes) &&
		    image.segments[i].vaddr + 64 - start >= bytes)
			abort();
		if (image_code_vaddr(&image, image.segments[i].offset, &vaddr))
			elfsym_find(&symbols, &image, vaddr, name);
	}
	elfsym_fini(&symbols);
	image_close(&image);
	image_close(&debug);
	return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
/* Any bytes as an ELF file with symbols: ranges are sorted and do not overlap, names end, call frame information stays
 * inside the file, and every name can be made readable. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/elf/demangle.h"
#include "symbol/elf/elfsym.h"
#include "symbol/elf/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const struct elfsym *symbols, const char *name)
{
	char text[200];

	if (name < symbols->names || name >= symbols->names + symbols->names_size)
		abort();
	if (name + strlen(name) >= symbols->names + symbols->names_size)
		abort();
	demangle_short(name, 80, text, sizeof(text));
	if (strlen(text) > 80)
		abort();
}

static void check_table(const struct elfsym *symbols, const struct image *image)
{
	for (size_t i = 0; i < symbols->count; i++) {
		const struct elfsym_range *range = &symbols->ranges[i];

		if (!range->size || (i && range[-1].start + range[-1].size > range->start))
			abort();
		if (elfsym_find(symbols, image, range->start + range->size - 1) != symbols->names + range->name)
			abort();
		if (i < 64)
			check_name(symbols, symbols->names + range->name);
	}
	for (size_t i = 0; i < symbols->point_count && i < 64; i++) {
		const char *name = elfsym_find(symbols, image, symbols->points[i].start + 1);

		if (name)
			check_name(symbols, name);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image image, debug;
	struct elfsym symbols;
	uint64_t start, bytes, vaddr;

	if (image_open_bytes(&image, data, size, NULL))
		return 0;
	if (image_open_bytes(&debug, data, size, NULL))
		abort();
	elfsym_read(&symbols, &image, &debug);
	check_table(&symbols, &image);
	for (uint32_t i = 0; i < image.segment_count; i++) {
		if (image_fde(&image, image.segments[i].vaddr + 64, &start, &bytes) &&
		    image.segments[i].vaddr + 64 - start >= bytes)
			abort();
		if (image_code_vaddr(&image, image.segments[i].offset, &vaddr))
			elfsym_find(&symbols, &image, vaddr);
	}
	elfsym_fini(&symbols);
	image_close(&image);
	image_close(&debug);
	return 0;
}

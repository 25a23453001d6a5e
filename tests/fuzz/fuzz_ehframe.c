// SPDX-License-Identifier: BSD-2-Clause
/*
 * Any bytes as a module: damaged parts are left out, and every resulting table keeps the promises that BPF relies on.
 * The first byte says whether the rest is a whole file or an .eh_frame alone, for a fuzzer seldom gets past an ELF
 * header, and of which machine the .eh_frame is.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/unwind/ehframe.h"
#include "symbol/elf/image.h"
#include "../symbol/table_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CODE 0x1000
#define CODE_BYTES 0x30000
#define EH_FRAME 0x1000000

struct order {
	uint64_t next;           /* offsets may not be below */
	uint64_t size;
	uint8_t flags;           /* that a rule may have */
};

static void check_row(void *arg, uint64_t offset, const struct gmt_unwind_row *row)
{
	struct order *order = arg;
	uint8_t rule = row->rule & ~order->flags;

	if (offset < order->next || offset >= order->size || rule > GMT_UNWIND_UNSUPPORTED)
		abort();
	order->next = offset + 1;
}

static void check_entries(const uint8_t *data, size_t size, uint16_t machine)
{
	struct eh_bytes bytes = { data, size, EH_FRAME };
	struct eh_header hdr;
	struct ehframe eh;

	if (eh_header_read(&bytes, &hdr) && size < 5)   /* as uleb128 */
		abort();
	if (ehframe_parse(&eh, &bytes, machine, size & 1))
		abort();
	for (size_t i = 0; i < eh.fde_count && i < 64; i++) {
		struct order order = { .size = eh.fdes[i].size, .flags = machine == EM_AARCH64 ? GMT_UNWIND_RA_ALONE : 0 };

		ehframe_rows(&eh, &eh.fdes[i], check_row, &order);
		if (eh.fdes[i].size && !order.next)
			abort();
	}
	ehframe_fini(&eh);
}

static void check_table(const struct image *image)
{
	struct unwind_table table;

	if (!unwind_table_build(image, &table)) {
		if (!unwind_table_check(&table))
			abort();
		unwind_table_mark_eval(&table, table.base + 5, table.base + 0x10007);
		unwind_table_mark_eval(&table, table.base - 5, table.base + 3);
		if (!unwind_table_check(&table))
			abort();
		for (uint64_t at = 0; at < (uint64_t)table.pages << 16 && at < 1 << 20; at += 4093)
			if (!table_row_at(&table, table.base + at))
				abort();
	}
	unwind_table_fini(&table);
}

/* An image of one segment, whose code is zeros and whose .eh_frame is the input. */
static void check_section(const uint8_t *data, size_t size, uint16_t machine)
{
	Elf64_Shdr section = { .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_addr = CODE + CODE_BYTES, .sh_size = size,
					 .sh_offset = CODE_BYTES };
	char names[] = "\0.eh_frame";
	struct image image = { .fd = -1, .machine = machine, .size = CODE_BYTES + size, .segment_count = 2,
			       .sections = &section, .section_count = 1, .section_names = names,
			       .section_names_size = sizeof(names) };
	unsigned char *file = calloc(1, CODE_BYTES + size);

	if (!file)
		abort();
	memcpy(file + CODE_BYTES, data, size);
	image.bytes = file;
	image.segments[0] = (struct image_segment){ .vaddr = CODE, .file_size = CODE_BYTES, .size = CODE_BYTES,
						    .executable = true };
	image.segments[1] = (struct image_segment){ .vaddr = section.sh_addr, .offset = CODE_BYTES, .file_size = size,
						    .size = size };
	check_table(&image);
	free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image image;

	if (size < 1)
		return 0;
	if (data[0] & 1) {
		/* A copy, so that a read behind its end is seen. */
		uint8_t *copy = malloc(size - 1 ? size - 1 : 1);
		uint16_t machine = data[0] & 2 ? EM_AARCH64 : EM_X86_64;

		memcpy(copy, data + 1, size - 1);
		check_entries(copy, size - 1, machine);
		check_section(copy, size - 1, machine);
		free(copy);
	} else if (!image_open_bytes(&image, data + 1, size - 1, NULL)) {
		check_table(&image);
		image_close(&image);
	}
	return 0;
}

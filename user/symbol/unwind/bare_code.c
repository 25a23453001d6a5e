// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/unwind/bare_code.h"

#include <elf.h>
#include <string.h>

#include "symbol/elf/image.h"

#define INSN_BYTES 4
#define VDSO_MAX (128u << 10)   /* the vDSO is two pages at most, of up to 64 KiB */

/* The PLT's header saves two registers and goes to the loader; all other entries only branch (binutils,
 * bfd/elfnn-aarch64.c, elfNN_aarch64_small_plt0_entry and the variant for BTI; lld, AArch64::writePltHeader()). */
#define PLT_HEADER_BYTES 32
#define STP_X16_X30 0xa9bf7bf0u /* stp x16, x30, [sp, #-16]! */

_Static_assert(sizeof(struct bare_code) == 24, "no padding in what is hashed");

static void add_code(struct bare_code *found, size_t *count, uint64_t start, uint64_t end, struct gmt_unwind_row row)
{
	if (start < end)
		found[(*count)++] = (struct bare_code){ start, end, row };
}

static size_t find_plt(const struct image *image, struct bare_code *found)
{
	static const struct gmt_unwind_row leaf = { .rule = GMT_UNWIND_SP };
	static const struct gmt_unwind_row saved = { .rule = GMT_UNWIND_SP | GMT_UNWIND_RA_ALONE, .cfa = 2, .fp = 1 };
	const Elf64_Shdr *plt = image_section(image, ".plt", SHT_PROGBITS);
	uint32_t header[PLT_HEADER_BYTES / INSN_BYTES];
	size_t count = 0;

	if (!plt || plt->sh_size < sizeof(header) || plt->sh_addr + plt->sh_size < plt->sh_addr ||
	    !image_code_at(image, plt->sh_addr) || !image_read_at(image, plt->sh_addr, header, sizeof(header)))
		return 0;
	for (size_t i = 0; i + 1 < PLT_HEADER_BYTES / INSN_BYTES; i++) {
		uint64_t pushed = plt->sh_addr + (i + 1) * INSN_BYTES, first = plt->sh_addr + PLT_HEADER_BYTES;

		if (header[i] != STP_X16_X30)
			continue;
		add_code(found, &count, plt->sh_addr, pushed, leaf);
		add_code(found, &count, pushed, first, saved);
		add_code(found, &count, first, plt->sh_addr + plt->sh_size, leaf);
		break;
	}
	return count;
}

/* Nobody calls _start. */
static size_t find_start(const struct image *image, struct bare_code *found)
{
	static const struct gmt_unwind_row row = { .rule = GMT_UNWIND_STOP };
	size_t count = 0;

	add_code(found, &count, image->entry, image->entry + image_entry_size(image), row);
	return count;
}

/* A handler returns to __kernel_rt_sigreturn. Not every kernel describes the function. A return address is looked for
 * at the instruction before: that is a nop in front of the function, which is marked, too
 * (arch/arm64/kernel/vdso/sigreturn.S). */
static size_t find_sigreturn(const struct image *image, struct bare_code *found)
{
	static const char name[] = "__kernel_rt_sigreturn";
	static const struct gmt_unwind_row row = { .rule = GMT_UNWIND_SIGNAL };
	struct image_symbols symbols;
	size_t count = 0;

	if (image->size > VDSO_MAX)
		return 0;
	if (image_symbols(image, SHT_DYNSYM, &symbols)) {
		for (size_t i = 0; i < symbols.count && !count; i++) {
			const Elf64_Sym *symbol = &symbols.list[i];

			if (symbol->st_name < symbols.names_size && !strcmp(symbols.names + symbol->st_name, name) &&
			    symbol->st_value >= INSN_BYTES && symbol->st_size <= VDSO_MAX)
				add_code(found, &count, symbol->st_value - INSN_BYTES,
					 symbol->st_value + symbol->st_size, row);
		}
	}
	image_symbols_free(&symbols);
	return count;
}

size_t bare_code_find(const struct image *image, struct bare_code found[BARE_CODE_MAX])
{
	size_t count;

	if (image->machine != EM_AARCH64)
		return 0;
	count = find_plt(image, found);
	count += find_start(image, found + count);
	return count + find_sigreturn(image, found + count);
}

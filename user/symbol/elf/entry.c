// SPDX-License-Identifier: BSD-2-Clause
/*
 * image_entry_size(): the code of glibc's _start, of arm64's programs. Debian 11's has no FDE, and its symbol no size.
 */
#include "symbol/elf/image.h"

#define INSN_BYTES 4
#define ENTRY_INSNS 24          /* that are looked at: glibc's _start has 14 in Debian 11 */
#define MOV_X30_0 0xd280001eu   /* mov x30, #0 */
#define BL 0x94000000u
#define BL_MASK 0xfc000000u

/* Nobody calls _start, which begins with a return address of 0, and ends in the calls of main's caller and of abort
 * (glibc, sysdeps/aarch64/start.S). What follows has other callers: the functions of crtbegin.o. */
uint64_t image_entry_size(const struct image *image)
{
	uint32_t insns[ENTRY_INSNS];
	bool has_no_caller = false;

	if (image->machine != EM_AARCH64 || !image->entry || !image_code_at(image, image->entry) ||
	    !image_read_at(image, image->entry, insns, sizeof(insns)))
		return 0;
	for (size_t i = 0; i + 1 < ENTRY_INSNS; i++) {
		has_no_caller |= insns[i] == MOV_X30_0;
		if ((insns[i] & BL_MASK) != BL)
			continue;
		return has_no_caller && (insns[i + 1] & BL_MASK) == BL ? (i + 2) * INSN_BYTES : 0;
	}
	return 0;
}

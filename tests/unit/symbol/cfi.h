/* SPDX-License-Identifier: BSD-2-Clause */
/* .eh_frame sections and images written by tests. Needs cmocka.h before it. */
#ifndef TESTS_UNIT_CFI_H
#define TESTS_UNIT_CFI_H

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/elf/image.h"

#define CFI_VADDR 0x1000000ULL

struct cfi {
	unsigned char data[8192];
	size_t size;
	size_t cie;              /* offset of the newest one */
};

static inline void cfi_put(struct cfi *cfi, uint64_t value, size_t size)
{
	assert_true(cfi->size + size <= sizeof(cfi->data));
	memcpy(cfi->data + cfi->size, &value, size);
	cfi->size += size;
}

static inline void cfi_bytes(struct cfi *cfi, const void *bytes, size_t size)
{
	assert_true(cfi->size + size <= sizeof(cfi->data));
	memcpy(cfi->data + cfi->size, bytes, size);
	cfi->size += size;
}

static inline size_t cfi_begin(struct cfi *cfi)
{
	cfi_put(cfi, 0, 4);
	return cfi->size - 4;
}

/* Pads to 8 and writes the length. */
static inline void cfi_end(struct cfi *cfi, size_t begin)
{
	uint32_t length;

	while (cfi->size % 8)
		cfi_put(cfi, 0, 1);
	length = (uint32_t)(cfi->size - begin - 4);
	memcpy(cfi->data + begin, &length, 4);
}

/* As GCC's: data -8. `letters` begins with z and may have R, S and B. */
static inline void cfi_cie_of(struct cfi *cfi, const char *letters, uint8_t encoding, uint8_t code_align, uint8_t ra,
			      const void *program, size_t program_size)
{
	size_t begin = cfi_begin(cfi);

	cfi->cie = begin;
	cfi_put(cfi, 0, 4);
	cfi_put(cfi, 1, 1);
	cfi_bytes(cfi, letters, strlen(letters) + 1);
	cfi_put(cfi, code_align, 1);
	cfi_put(cfi, 0x78, 1);
	cfi_put(cfi, ra, 1);
	cfi_put(cfi, strchr(letters, 'R') ? 1 : 0, 1);
	if (strchr(letters, 'R'))
		cfi_put(cfi, encoding, 1);
	cfi_bytes(cfi, program, program_size);
	cfi_end(cfi, begin);
}

/* x86-64: code 1, return address in column 16, CFA = rsp + 8. */
static inline void cfi_cie(struct cfi *cfi, const char *letters, uint8_t encoding)
{
	static const unsigned char program[] = { 0x0c, 7, 8, 0x80 | 16, 1 };

	cfi_cie_of(cfi, letters, encoding, 1, 16, program, sizeof(program));
}

/* arm64: code 4, return address in x30, CFA = sp. */
static inline void cfi_cie_arm64(struct cfi *cfi, const char *letters)
{
	static const unsigned char program[] = { 0x0c, 31, 0 };

	cfi_cie_of(cfi, letters, 0x1b, 4, 30, program, sizeof(program));
}

/* An FDE of the newest CIE, whose encoding is pcrel | sdata4 (0x1b). */
static inline void cfi_fde(struct cfi *cfi, uint64_t start, uint64_t size, const void *program, size_t program_size)
{
	size_t begin = cfi_begin(cfi);

	cfi_put(cfi, cfi->size - cfi->cie, 4);
	cfi_put(cfi, start - (CFI_VADDR + cfi->size), 4);
	cfi_put(cfi, size, 4);
	cfi_put(cfi, 0, 1);
	cfi_bytes(cfi, program, program_size);
	cfi_end(cfi, begin);
}

/* A module of one code segment and the section, as an image without a file. */
struct cfi_image {
	struct image image;
	Elf64_Shdr section;
	char names[16];
	unsigned char *file;
};

static inline void cfi_image(struct cfi_image *made, const struct cfi *cfi, uint64_t code, uint64_t code_bytes)
{
	*made = (struct cfi_image){ .names = "\0.eh_frame" };
	made->file = calloc(1, code_bytes + cfi->size);
	memcpy(made->file + code_bytes, cfi->data, cfi->size);
	made->section = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_addr = CFI_VADDR,
				      .sh_offset = code_bytes, .sh_size = cfi->size };
	made->image = (struct image){ .fd = -1, .bytes = made->file, .size = code_bytes + cfi->size, .machine = EM_X86_64,
				      .segment_count = 2, .sections = &made->section, .section_count = 1,
				      .section_names = made->names, .section_names_size = sizeof(made->names) };
	made->image.segments[0] = (struct image_segment){ .vaddr = code, .file_size = code_bytes, .size = code_bytes,
							  .executable = true };
	made->image.segments[1] = (struct image_segment){ .vaddr = CFI_VADDR, .offset = code_bytes, .file_size = cfi->size,
							  .size = cfi->size };
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a 64-bit little-endian ELF file: its headers, and other parts on demand, from a descriptor or from bytes (the
 * vDSO, unpacked data). Files are read, not mapped: the owner of a container could truncate a mapped file (SIGBUS).
 *
 * The one invariant: no offset of the file is believed before image_read() has checked it.
 */
#ifndef GPUMEMTRACE_SYMBOL_ELF_IMAGE_H
#define GPUMEMTRACE_SYMBOL_ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define IMAGE_SEGMENTS_MAX 32
#define IMAGE_SECTIONS_MAX 4096
#define IMAGE_PART_MAX (256u << 20)   /* a section larger than this is not read */
#define IMAGE_NAMES_MAX (1u << 20)    /* nor are the names of sections */
#define IMAGE_BUILD_ID_CHARS 41       /* SHA-1 in hex and NUL; longer ids are cut */

struct image_segment {                /* PT_LOAD */
	uint64_t vaddr, offset, file_size, size;
	uint64_t executable;          /* 1 or 0; no padding: segments are hashed */
};

struct image {
	int fd;                       /* -1: bytes */
	const unsigned char *bytes;
	void *owned;                  /* bytes to be freed, or NULL */
	uint64_t size;
	struct timespec modified;     /* the file's time, of a descriptor */
	uint16_t machine;
	char build_id[IMAGE_BUILD_ID_CHARS]; /* "": it has none */
	uint32_t segment_count;
	struct image_segment segments[IMAGE_SEGMENTS_MAX];
	uint64_t entry;               /* vaddr of a program's first instruction; 0: none */
	uint64_t eh_frame_hdr;        /* vaddr of PT_GNU_EH_FRAME; 0: none */
	uint32_t section_count;
	Elf64_Shdr *sections;
	char *section_names;
	uint64_t section_names_size;
};

/*
 * Returns 0; -ENOEXEC: another kind of file, or damaged headers; else -errno. The descriptor and `owned` (NULL, or
 * memory to be free()d) belong to the image, even after an error.
 */
int image_open(struct image *image, int fd);
int image_open_bytes(struct image *image, const void *bytes, size_t size, void *owned);
void image_close(struct image *image);

/* Whether the file was written to since it was opened: what was read from it may no longer fit together. */
bool image_has_changed(const struct image *image);

/* What the headers say, apart from the open file: small, and without pointers. */
struct image_shape {
	uint64_t size;
	uint16_t machine;
	char build_id[IMAGE_BUILD_ID_CHARS];
	uint32_t segment_count;
	struct image_segment segments[IMAGE_SEGMENTS_MAX];
};
void image_shape(const struct image *image, struct image_shape *shape);
/* Makes an image that has the shape and no bytes. False: no image could have such a shape. */
bool image_of_shape(struct image *image, const struct image_shape *shape);

/* Copies a part of the file; false if any of it lies outside. */
bool image_read(const struct image *image, uint64_t offset, void *to, size_t size);
/* Copies a part by virtual address, out of one segment. */
bool image_read_at(const struct image *image, uint64_t vaddr, void *to, size_t size);

/* A section by name, or, with NULL, by type; NULL if there is none. */
const Elf64_Shdr *image_section(const struct image *image, const char *name, uint32_t type);
/* The section's bytes and one NUL behind them, to be free()d; NULL if the section cannot be read or is empty. Ends the
 * process if there is no memory (base/xalloc.h): a file that cannot be loaded is not a file without the section. */
char *image_load(const struct image *image, const Elf64_Shdr *section);

/* Takes the next note (elf(5), "Notes") out of the bytes of a segment or section. *at is 0 at the start. False: the
 * notes end or are damaged. */
struct image_note {
	uint32_t type;
	size_t name_size, desc_size;
	const char *name, *desc;      /* into the bytes */
};
bool image_next_note(const void *notes, size_t size, size_t *at, struct image_note *note);
bool image_is_note(const struct image_note *note, uint32_t type, const char *name);

/* The file offset of an address in code, or in other segments; 0: no such segment has the address. The offset may
 * lie behind the end of a file that was cut off. */
uint64_t image_offset(const struct image *image, uint64_t vaddr, bool is_code);

/* The sections of the first symbol table of a type (SHT_SYMTAB, SHT_DYNSYM) and of its strings, at most IMAGE_PART_MAX
 * bytes each, which lie in the file. False: there is no such table. */
bool image_symbol_sections(const struct image *image, uint32_t type, const Elf64_Shdr **symbols,
			   const Elf64_Shdr **strings);

/* A symbol table and its strings; behind the last string is a NUL. */
struct image_symbols {
	Elf64_Sym *list;
	size_t count;
	char *names;
	size_t names_size;
};
/* Loads the first table of a type. False: there is none. Always call image_symbols_free(). */
bool image_symbols(const struct image *image, uint32_t type, struct image_symbols *symbols);
void image_symbols_free(struct image_symbols *symbols);

/* The segment that has a virtual address in the file, or NULL. */
const struct image_segment *image_segment_at(const struct image *image, uint64_t vaddr);
/* The executable segment that an address is in, or NULL. */
const struct image_segment *image_code_at(const struct image *image, uint64_t vaddr);
/* The virtual address of a byte of code in the file. False: the byte is no code. Mappings begin at whole pages, so
 * the first and last page of a segment may hold bytes of its neighbours. */
bool image_code_vaddr(const struct image *image, uint64_t file_offset, uint64_t *vaddr);

/* The function that an address is in, by the call frame information (.eh_frame_hdr's sorted table). */
bool image_fde(const struct image *image, uint64_t vaddr, uint64_t *start, uint64_t *size);
/* The bytes of code from the entry on, if they are glibc's _start of arm64; else 0. */
uint64_t image_entry_size(const struct image *image);

#endif

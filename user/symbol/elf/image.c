// SPDX-License-Identifier: BSD-2-Clause
/* See image.h. Layouts: elf(5). */
#include "symbol/elf/image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/storage.h"
#include "base/xalloc.h"

#define NOTES_MAX 65536
#define PAGE_MAX 65536u   /* the largest page of any machine: a mapping's offset is rounded down to a page */

bool image_read(const struct image *image, uint64_t offset, void *to, size_t size)
{
	char *out = to;

	if (offset > image->size || size > image->size - offset)
		return false;
	if (image->fd < 0) {
		memcpy(to, image->bytes + offset, size);
		return true;
	}
	while (size) {
		ssize_t got = storage_pread(image->fd, out, size, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		out += got;
		offset += (uint64_t)got;
		size -= (size_t)got;
	}
	return true;
}

enum kind { CODE = 1, DATA = 2 };

/* The first segment of the given kinds that contains a virtual address, in the file or in memory only. */
static const struct image_segment *find_segment(const struct image *image, uint64_t vaddr, int kinds, bool in_memory)
{
	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct image_segment *segment = &image->segments[i];

		if (kinds & (segment->executable ? CODE : DATA) && vaddr >= segment->vaddr &&
		    vaddr - segment->vaddr < (in_memory ? segment->size : segment->file_size))
			return segment;
	}
	return NULL;
}

const struct image_segment *image_segment_at(const struct image *image, uint64_t vaddr)
{
	return find_segment(image, vaddr, CODE | DATA, false);
}

const struct image_segment *image_code_at(const struct image *image, uint64_t vaddr)
{
	return find_segment(image, vaddr, CODE, true);
}

uint64_t image_offset(const struct image *image, uint64_t vaddr, bool is_code)
{
	const struct image_segment *segment = find_segment(image, vaddr, is_code ? CODE : DATA, false);

	return segment ? segment->offset + (vaddr - segment->vaddr) : 0;
}

bool image_read_at(const struct image *image, uint64_t vaddr, void *to, size_t size)
{
	const struct image_segment *segment = image_segment_at(image, vaddr);
	uint64_t into = segment ? vaddr - segment->vaddr : 0;

	return segment && size <= segment->file_size - into && image_read(image, segment->offset + into, to, size);
}

/* Names and descriptors are padded to 4 bytes (elf(5), "Notes"); the end of the last one may lack its padding. */
bool image_next_note(const void *notes, size_t size, size_t *at, struct image_note *note)
{
	const char *bytes = (const char *)notes + *at;
	size_t left = size - *at, name_room, desc_room;
	Elf64_Nhdr header;

	if (left < sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));
	left -= sizeof(header);
	name_room = ((size_t)header.n_namesz + 3) & ~(size_t)3;
	if (name_room > left || header.n_descsz > left - name_room)
		return false;
	*note = (struct image_note){ header.n_type, header.n_namesz, header.n_descsz, bytes + sizeof(header),
				     bytes + sizeof(header) + name_room };
	left -= name_room;
	desc_room = ((size_t)header.n_descsz + 3) & ~(size_t)3;
	*at = size - (desc_room < left ? left - desc_room : 0);
	return true;
}

bool image_is_note(const struct image_note *note, uint32_t type, const char *name)
{
	return note->type == type && note->name_size == strlen(name) + 1 && !memcmp(note->name, name, note->name_size);
}

static void read_notes(struct image *image, const Elf64_Phdr *phdr)
{
	size_t size = phdr->p_filesz <= NOTES_MAX ? phdr->p_filesz : 0, at = 0;
	unsigned char *notes = xmalloc(size + 1);
	struct image_note note;

	if (!image_read(image, phdr->p_offset, notes, size))
		size = 0;
	while (!image->build_id[0] && image_next_note(notes, size, &at, &note))
		if (image_is_note(&note, NT_GNU_BUILD_ID, ELF_NOTE_GNU))
			for (size_t i = 0; i < note.desc_size && 2 * i + 2 < sizeof(image->build_id); i++)
				snprintf(image->build_id + 2 * i, 3, "%02x", (unsigned char)note.desc[i]);
	free(notes);
}

static int read_segments(struct image *image, const Elf64_Ehdr *ehdr)
{
	if (ehdr->e_phentsize != sizeof(Elf64_Phdr))
		return -ENOEXEC;
	for (uint32_t i = 0; i < ehdr->e_phnum; i++) {
		struct image_segment *segment = &image->segments[image->segment_count];
		Elf64_Phdr phdr;

		if (!image_read(image, ehdr->e_phoff + (uint64_t)i * sizeof(phdr), &phdr, sizeof(phdr)))
			return -ENOEXEC;
		if (phdr.p_type == PT_NOTE && !image->build_id[0])
			read_notes(image, &phdr);
		if (phdr.p_type == PT_GNU_EH_FRAME)
			image->eh_frame_hdr = phdr.p_vaddr;
		if (phdr.p_type != PT_LOAD || image->segment_count == IMAGE_SEGMENTS_MAX ||
		    phdr.p_vaddr > UINT64_MAX - phdr.p_memsz || phdr.p_offset > UINT64_MAX - phdr.p_filesz)
			continue;
		*segment = (struct image_segment){ phdr.p_vaddr, phdr.p_offset, phdr.p_filesz, phdr.p_memsz,
						   phdr.p_flags & PF_X };
		image->segment_count++;
	}
	return image->segment_count ? 0 : -ENOEXEC;
}

/* A file without usable section headers has no symbols, which is no error. */
static void read_sections(struct image *image, const Elf64_Ehdr *ehdr)
{
	if (ehdr->e_shentsize != sizeof(Elf64_Shdr) || ehdr->e_shnum > IMAGE_SECTIONS_MAX || !ehdr->e_shnum)
		return;
	image->sections = xcalloc(ehdr->e_shnum, sizeof(*image->sections));
	for (uint32_t i = 0; i < ehdr->e_shnum; i++, image->section_count++) {
		if (!image_read(image, ehdr->e_shoff + (uint64_t)i * sizeof(Elf64_Shdr), &image->sections[i],
				sizeof(Elf64_Shdr)))
			return;
	}
	if (ehdr->e_shstrndx < image->section_count) {
		const Elf64_Shdr *names = &image->sections[ehdr->e_shstrndx];

		image->section_names = names->sh_size <= IMAGE_NAMES_MAX ? image_load(image, names) : NULL;
		image->section_names_size = names->sh_size;
	}
}

static int read_headers(struct image *image)
{
	Elf64_Ehdr ehdr;
	int err;

	if (!image_read(image, 0, &ehdr, sizeof(ehdr)) || memcmp(ehdr.e_ident, ELFMAG, SELFMAG) ||
	    ehdr.e_ident[EI_CLASS] != ELFCLASS64 || ehdr.e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	image->machine = ehdr.e_machine;
	image->entry = ehdr.e_entry;
	err = read_segments(image, &ehdr);
	if (!err)
		read_sections(image, &ehdr);
	return err;
}

/* Reads the headers unless there is an error, after which the image is closed. */
static int finish_open(struct image *image, int err)
{
	err = err ? err : read_headers(image);
	if (err)
		image_close(image);
	return err;
}

int image_open(struct image *image, int fd)
{
	struct stat st;
	int err = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -ENOEXEC;

	*image = (struct image){ .fd = fd };
	if (!err) {
		image->size = (uint64_t)st.st_size;
		image->modified = st.st_mtim;
	}
	return finish_open(image, err);
}

bool image_has_changed(const struct image *image)
{
	struct stat st;

	if (image->fd < 0)
		return false;
	return fstat(image->fd, &st) || (uint64_t)st.st_size != image->size ||
	       st.st_mtim.tv_sec != image->modified.tv_sec || st.st_mtim.tv_nsec != image->modified.tv_nsec;
}

int image_open_bytes(struct image *image, const void *bytes, size_t size, void *owned)
{
	*image = (struct image){ .fd = -1, .bytes = bytes, .owned = owned, .size = size };
	return finish_open(image, 0);
}

void image_close(struct image *image)
{
	if (image->fd >= 0)
		close(image->fd);
	free(image->owned);
	free(image->sections);
	free(image->section_names);
	*image = (struct image){ .fd = -1 };
}

void image_shape(const struct image *image, struct image_shape *shape)
{
	*shape = (struct image_shape){ .size = image->size, .machine = image->machine,
				       .segment_count = image->segment_count };
	memcpy(shape->build_id, image->build_id, sizeof(shape->build_id));
	memcpy(shape->segments, image->segments, sizeof(shape->segments));
}

bool image_of_shape(struct image *image, const struct image_shape *shape)
{
	*image = (struct image){ .fd = -1, .size = shape->size, .machine = shape->machine };
	if (!shape->segment_count || shape->segment_count > IMAGE_SEGMENTS_MAX ||
	    shape->build_id[sizeof(shape->build_id) - 1] ||
	    strspn(shape->build_id, "0123456789abcdef") != strlen(shape->build_id))
		return false;
	for (uint32_t i = 0; i < shape->segment_count; i++) {
		const struct image_segment *segment = &shape->segments[i];

		if (segment->vaddr > UINT64_MAX - segment->size || segment->offset > UINT64_MAX - segment->file_size)
			return false;
		image->segments[i] = *segment;
	}
	image->segment_count = shape->segment_count;
	memcpy(image->build_id, shape->build_id, sizeof(image->build_id));
	return true;
}

const Elf64_Shdr *image_section(const struct image *image, const char *name, uint32_t type)
{
	for (uint32_t i = 0; i < image->section_count; i++) {
		const Elf64_Shdr *section = &image->sections[i];

		if (!name ? section->sh_type == type
			  : image->section_names && section->sh_name < image->section_names_size &&
				    !strcmp(image->section_names + section->sh_name, name))
			return section;
	}
	return NULL;
}

/* SHF_COMPRESSED: only debug sections, which libdw reads, are packed. */
static bool is_there(const struct image *image, const Elf64_Shdr *section)
{
	return section->sh_type != SHT_NOBITS && section->sh_size && section->sh_size <= IMAGE_PART_MAX &&
	       section->sh_offset <= image->size && section->sh_size <= image->size - section->sh_offset &&
	       !(section->sh_flags & SHF_COMPRESSED);
}

char *image_load(const struct image *image, const Elf64_Shdr *section)
{
	char *data;

	if (!is_there(image, section))
		return NULL;
	data = xmalloc(section->sh_size + 1);
	if (!image_read(image, section->sh_offset, data, section->sh_size)) {
		free(data);
		return NULL;
	}
	data[section->sh_size] = '\0';
	return data;
}

bool image_symbol_sections(const struct image *image, uint32_t type, const Elf64_Shdr **symbols,
			   const Elf64_Shdr **strings)
{
	*symbols = image_section(image, NULL, type);
	if (!*symbols || (*symbols)->sh_link >= image->section_count)
		return false;
	*strings = &image->sections[(*symbols)->sh_link];
	return is_there(image, *symbols) && is_there(image, *strings);
}

bool image_symbols(const struct image *image, uint32_t type, struct image_symbols *symbols)
{
	const Elf64_Shdr *section, *names;

	*symbols = (struct image_symbols){ 0 };
	if (!image_symbol_sections(image, type, &section, &names))
		return false;
	*symbols = (struct image_symbols){ (void *)image_load(image, section), section->sh_size / sizeof(Elf64_Sym),
					   image_load(image, names), names->sh_size };
	return symbols->list && symbols->names;
}

void image_symbols_free(struct image_symbols *symbols)
{
	free(symbols->list);
	free(symbols->names);
}

bool image_code_vaddr(const struct image *image, uint64_t file_offset, uint64_t *vaddr)
{
	for (int rounded = 0; rounded < 2; rounded++) {
		for (uint32_t i = 0; i < image->segment_count; i++) {
			const struct image_segment *segment = &image->segments[i];
			uint64_t slack = rounded ? PAGE_MAX : 0;
			uint64_t first = segment->offset > slack ? segment->offset - slack : 0;

			if (!segment->executable || file_offset < first ||
			    file_offset >= segment->offset + segment->file_size + slack)
				continue;
			*vaddr = segment->vaddr + (file_offset - segment->offset);
			return true;
		}
	}
	return false;
}

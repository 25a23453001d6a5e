// SPDX-License-Identifier: BSD-2-Clause
/*
 * See usdt_notes.h. A note (SystemTap's sys/sdt.h, version 3) is: address of the place, of the section
 * .stapsdt.base as it was when the note was made, of the counter; then provider, name and arguments, each ended by
 * a NUL. Where prelink has moved the file, the base tells by how much.
 */
#include "live/probe/usdt_notes.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define NOTE_TYPE 3
#define NOTE_NAME "stapsdt"
#define NOTES_MAX (4u << 20)

struct reader {
	Elf *elf;
	uint64_t base;           /* of .stapsdt.base; 0: none */
	const char *provider, *name;
	int args;
	struct usdt_place *out;
	size_t count, most;
};

struct note {
	uint64_t location, base, counter;
	const char *provider, *name, *args;
};

/* The offset in the file of what is at an address; 0: nothing is. */
static uint64_t offset_of_address(Elf *elf, uint64_t address, bool is_code)
{
	size_t count;

	if (elf_getphdrnum(elf, &count))
		return 0;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD || is_code != !!(p.p_flags & PF_X))
			continue;
		if (address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz)
			return p.p_offset + (address - p.p_vaddr);
	}
	return 0;
}

/* A text that ends before `end`, and goes on behind it; NULL. */
static const char *next_text(const char **at, const char *end)
{
	const char *text = *at, *stop = memchr(text, '\0', (size_t)(end - text));

	*at = stop ? stop + 1 : end;
	return stop ? text : NULL;
}

static bool read_note(const char *bytes, size_t size, struct note *note)
{
	uint64_t numbers[3];
	const char *at = bytes + sizeof(numbers);

	if (size < sizeof(numbers))
		return false;
	memcpy(numbers, bytes, sizeof(numbers));
	*note = (struct note){ .location = numbers[0], .base = numbers[1], .counter = numbers[2] };
	note->provider = next_text(&at, bytes + size);
	note->name = next_text(&at, bytes + size);
	note->args = next_text(&at, bytes + size);
	return note->provider && note->name && note->args;
}

static void take_note(struct reader *r, const struct note *note)
{
	uint64_t moved = r->base && note->base ? r->base - note->base : 0;
	struct usdt_place place = { .offset = offset_of_address(r->elf, note->location + moved, true) };

	if (strcmp(note->provider, r->provider) || strcmp(note->name, r->name) || r->count == r->most)
		return;
	if (note->counter)
		place.counter = offset_of_address(r->elf, note->counter + moved, false);
	if (!place.offset || (note->counter && !place.counter) ||
	    usdt_parse_args(note->args, &place.usdt) < r->args)
		return;
	r->out[r->count++] = place;
}

static void read_probe_notes(struct reader *r, Elf_Scn *section, const GElf_Shdr *shdr)
{
	Elf_Data *data = shdr->sh_size <= NOTES_MAX ? elf_getdata(section, NULL) : NULL;
	size_t at = 0, next, name_at, bytes_at;
	GElf_Nhdr header;
	struct note note;

	while (data && (next = gelf_getnote(data, at, &header, &name_at, &bytes_at)) > 0) {
		const char *bytes = (const char *)data->d_buf;

		if (header.n_type == NOTE_TYPE && header.n_namesz == sizeof(NOTE_NAME) &&
		    !memcmp(bytes + name_at, NOTE_NAME, sizeof(NOTE_NAME)) &&
		    read_note(bytes + bytes_at, header.n_descsz, &note))
			take_note(r, &note);
		at = next;
	}
}

static Elf_Scn *find_section(Elf *elf, const char *wanted, GElf_Shdr *shdr)
{
	Elf_Scn *section = NULL;
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		const char *name = gelf_getshdr(section, shdr) ? elf_strptr(elf, strings, shdr->sh_name) : NULL;

		if (name && !strcmp(name, wanted))
			return section;
	}
	return NULL;
}

static bool is_for_us(Elf *elf)
{
#if defined(__x86_64__)
	const uint16_t machine = EM_X86_64;
#else
	const uint16_t machine = EM_AARCH64;
#endif
	GElf_Ehdr ehdr;

	return elf_kind(elf) == ELF_K_ELF && gelf_getclass(elf) == ELFCLASS64 && gelf_getehdr(elf, &ehdr) &&
	       ehdr.e_machine == machine && ehdr.e_ident[EI_DATA] == ELFDATA2LSB;
}

static int read_probes(struct reader *r)
{
	Elf_Scn *section;
	GElf_Shdr shdr;

	if (!is_for_us(r->elf))
		return -ENOEXEC;
	r->base = find_section(r->elf, ".stapsdt.base", &shdr) ? shdr.sh_addr : 0;
	section = find_section(r->elf, ".note.stapsdt", &shdr);
	if (section && shdr.sh_type == SHT_NOTE)
		read_probe_notes(r, section, &shdr);
	return (int)r->count;
}

int usdt_find(const char *path, const char *provider, const char *name, int args, struct usdt_place *out,
	      size_t most)
{
	struct reader r = { .provider = provider, .name = name, .args = args, .out = out, .most = most };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), count;

	if (fd < 0)
		return -errno;
	elf_version(EV_CURRENT);
	r.elf = elf_begin(fd, ELF_C_READ, NULL);
	count = r.elf ? read_probes(&r) : -ENOEXEC;
	elf_end(r.elf);
	close(fd);
	return count;
}

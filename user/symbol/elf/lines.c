// SPDX-License-Identifier: BSD-2-Clause
/*
 * See lines.h. The units' own ranges say which unit an address is in: clang and rustc do not write .debug_aranges,
 * on which dwarf_addrdie() of elfutils before 0.190 relies.
 */
#include "symbol/elf/lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/count.h"
#include "base/sorted.h"
#include "base/xalloc.h"

struct unit_range {
	uint64_t start, end;
	Dwarf_Off die;
};

struct lines {
	int fd;
	Elf *elf;
	Dwarf *dwarf;
	struct unit_range *ranges;    /* sorted by start */
	size_t count;
	size_t bytes;
};

/* The bytes of a section when libdw has unpacked it. */
static uint64_t unpacked_bytes(const struct image *image, const Elf64_Shdr *section)
{
	Elf64_Chdr header;

	if (!(section->sh_flags & SHF_COMPRESSED))
		return section->sh_size;
	return image_read(image, section->sh_offset, &header, sizeof(header)) ? header.ch_size : UINT64_MAX;
}

/* What libdw may read. A file with sections of the older kind of packing, .zdebug_, is left out: what they unpack to is
 * not known. UINT64_MAX: too much, or not known. */
static uint64_t debug_bytes(const struct image *image)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < image->section_count && image->section_names; i++) {
		const Elf64_Shdr *section = &image->sections[i];
		const char *name = image->section_names + section->sh_name;
		uint64_t bytes;

		if (section->sh_name >= image->section_names_size || section->sh_type == SHT_NOBITS)
			continue;
		if (!strncmp(name, ".zdebug_", 8))
			return UINT64_MAX;
		if (strncmp(name, ".debug_", 7))
			continue;
		bytes = unpacked_bytes(image, section);
		if (bytes >= UINT64_MAX - sum)
			return UINT64_MAX;
		sum += bytes;
	}
	return sum;
}

static void read_units(struct lines *lines)
{
	Dwarf_CU *unit = NULL;
	uint8_t type;
	Dwarf_Die die;

	while (!dwarf_get_units(lines->dwarf, unit, &unit, NULL, &type, &die, NULL)) {
		Dwarf_Addr base, start, end;
		ptrdiff_t at = 0;

		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		while ((at = dwarf_ranges(&die, at, &base, &start, &end)) > 0) {
			if (end <= start)
				continue;
			lines->ranges = xgrow(lines->ranges, lines->count, sizeof(*lines->ranges));
			lines->ranges[lines->count++] = (struct unit_range){ start, end, dwarf_dieoffset(&die) };
		}
	}
	if (lines->count)
		qsort(lines->ranges, lines->count, sizeof(*lines->ranges), sorted_compare);
}

struct lines *lines_open(const struct image *image)
{
	uint64_t bytes = debug_bytes(image);
	struct lines *lines;

	if (!bytes || bytes > LINES_DEBUG_MAX)
		return NULL;
	elf_version(EV_CURRENT);
	lines = xcalloc(1, sizeof(*lines));
	lines->fd = -1;
	lines->bytes = bytes;
	if (image->fd >= 0) {
		lines->fd = fcntl(image->fd, F_DUPFD_CLOEXEC, 0);
		if (lines->fd < 0)
			xalloc_failed(); /* too many files are open: the same as too little memory */
		/* read, not mapped: see image.h */
		lines->elf = elf_begin(lines->fd, ELF_C_READ, NULL);
	} else {
		lines->elf = elf_memory((char *)(uintptr_t)image->bytes, image->size);
	}
	if (lines->elf)
		lines->dwarf = dwarf_begin_elf(lines->elf, DWARF_C_READ, NULL);
	if (lines->dwarf) {
		dwarf_new_oom_handler(lines->dwarf, xalloc_failed); /* libdw's own ends the process without a word */
		read_units(lines);
	}
	if (lines->count)
		return lines;
	lines_close(lines);
	return NULL;
}

void lines_close(struct lines *lines)
{
	if (!lines)
		return;
	dwarf_end(lines->dwarf);
	elf_end(lines->elf);
	if (lines->fd >= 0)
		close(lines->fd);
	free(lines->ranges);
	free(lines);
}

size_t lines_bytes(const struct lines *lines)
{
	return lines ? lines->bytes : 0;
}

static bool find_unit(const struct lines *lines, uint64_t vaddr, Dwarf_Die *unit)
{
	size_t count = sorted_count(lines->ranges, lines->count, sizeof(*lines->ranges), vaddr);

	return count && vaddr < lines->ranges[count - 1].end &&
	       dwarf_offdie(lines->dwarf, lines->ranges[count - 1].die, unit);
}

static const char *function_of(Dwarf_Die *scope)
{
	static const unsigned int names[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name };
	Dwarf_Attribute attr;

	for (size_t i = 0; i < COUNT(names); i++) {
		if (dwarf_attr_integrate(scope, names[i], &attr))
			return dwarf_formstring(&attr);
	}
	return NULL;
}

/* Fills in where an inlined function was called. */
static void call_of(Dwarf_Die *unit, Dwarf_Die *scope, struct lines_place *place)
{
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	Dwarf_Word number;
	size_t count;

	*place = (struct lines_place){ 0 };
	if (!dwarf_formudata(dwarf_attr(scope, DW_AT_call_line, &attr), &number))
		place->line = (uint32_t)number;
	if (!dwarf_formudata(dwarf_attr(scope, DW_AT_call_file, &attr), &number) &&
	    !dwarf_getsrcfiles(unit, &files, &count) && number < count)
		place->file = dwarf_filesrc(files, number, NULL, NULL);
}

size_t lines_find(struct lines *lines, uint64_t vaddr, struct lines_place *places, size_t most)
{
	Dwarf_Die unit, *around = NULL, *scopes = NULL;
	Dwarf_Line *line;
	int number = 0, scope_count = 0;
	size_t count = 0;

	if (most < 2 || !find_unit(lines, vaddr, &unit))
		return 0;
	line = dwarf_getsrc_die(&unit, vaddr);
	if (!line || dwarf_lineno(line, &number))
		return 0;
	places[count++] = (struct lines_place){ NULL, dwarf_linesrc(line, NULL, NULL), (uint32_t)number };
	/* Outside of an inlined function, dwarf_getscopes() goes on where the function was written, not where it was
	 * called. So only the innermost scope comes from dwarf_getscopes(), and its parents come from the tree. */
	if (dwarf_getscopes(&unit, vaddr, &around) > 0) {
		Dwarf_Die innermost = around[0];

		free(around);
		scope_count = dwarf_getscopes_die(&innermost, &scopes);
	}
	for (int i = 0; i < scope_count; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag == DW_TAG_subprogram)
			break;
		if (tag != DW_TAG_inlined_subroutine)
			continue;
		places[count - 1].function = function_of(&scopes[i]);
		if (count == most)
			places[count - 2] = (struct lines_place){ .function = LINES_MORE };
		else
			count++;
		call_of(&unit, &scopes[i], &places[count - 1]);
	}
	if (scope_count > 0)
		free(scopes);
	return count;
}

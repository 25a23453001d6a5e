// SPDX-License-Identifier: BSD-2-Clause
/*
 * See usdt_notes.h. A note (SystemTap's sys/sdt.h, version 3) holds three addresses: of the place, of the section
 * .stapsdt.base when the note was made, and of the counter. Provider, name and arguments follow, each ended by a NUL.
 * The base shows by how much prelink has moved the file.
 */
#include "live/probe/usdt_notes.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/elf/image.h"

#define NOTE_TYPE 3
#define NOTE_NAME "stapsdt"
#define NOTES_MAX (4u << 20)

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#else
#define OUR_MACHINE EM_AARCH64
#endif

struct reader {
	struct image image;
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

/* Takes a text, which ends with a NUL before `end`; NULL: there is none. */
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
	struct usdt_place place = { .offset = image_offset(&r->image, note->location + moved, true) };

	if (strcmp(note->provider, r->provider) || strcmp(note->name, r->name) || r->count == r->most)
		return;
	if (note->counter)
		place.counter = image_offset(&r->image, note->counter + moved, false);
	if (!place.offset || (note->counter && !place.counter) ||
	    usdt_parse_args(note->args, &place.usdt) < r->args)
		return;
	r->out[r->count++] = place;
}

static int read_probes(struct reader *r)
{
	const Elf64_Shdr *base = image_section(&r->image, ".stapsdt.base", 0);
	const Elf64_Shdr *section = image_section(&r->image, ".note.stapsdt", 0);
	struct image_note found;
	struct note note;
	size_t at = 0;
	char *notes;

	if (r->image.machine != OUR_MACHINE)
		return -ENOEXEC;
	r->base = base ? base->sh_addr : 0;
	notes = section && section->sh_type == SHT_NOTE && section->sh_size <= NOTES_MAX ?
			image_load(&r->image, section) : NULL;
	while (notes && image_next_note(notes, section->sh_size, &at, &found))
		if (image_is_note(&found, NOTE_TYPE, NOTE_NAME) && read_note(found.desc, found.desc_size, &note))
			take_note(r, &note);
	free(notes);
	return (int)r->count;
}

int usdt_find(const char *path, const char *provider, const char *name, int args, struct usdt_place *out,
	      size_t most)
{
	struct reader r = { .provider = provider, .name = name, .args = args, .out = out, .most = most };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), count;

	if (fd < 0)
		return -errno;
	count = image_open(&r.image, fd);
	if (count)
		return count;
	count = read_probes(&r);
	image_close(&r.image);
	return count;
}

// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/elf/symfile.h"

#include "symbol/elf/demangle.h"

bool symfile_wants_debug(const struct image *image)
{
	return image->build_id[0] &&
	       !(image_section(image, ".symtab", 0) && image_section(image, ".debug_info", 0));
}

void symfile_open(struct symfile *file, const struct image *image, const struct image *debug)
{
	*file = (struct symfile){ .image = *image };
	elfsym_read(&file->symbols, &file->image, debug);
	file->lines = lines_open(&file->image);
	if (!file->lines && debug)
		file->lines = lines_open(debug);
	file->bytes = elfsym_bytes(&file->symbols) + lines_bytes(file->lines);
}

void symfile_close(struct symfile *file)
{
	lines_close(file->lines); /* before the bytes that it reads */
	elfsym_fini(&file->symbols);
	image_close(&file->image);
	file->lines = NULL;
}

void symfile_find(const struct symfile *file, uint64_t vaddr, struct symfile_frames *found)
{
	struct lines_place places[LINES_DEPTH] = { { 0 } };
	size_t count = file->lines ? lines_find(file->lines, vaddr, places, LINES_DEPTH) : 0;
	char symbol[ELFSYM_NAME_BYTES];
	bool has_symbol = elfsym_find(&file->symbols, &file->image, vaddr, symbol);

	found->count = count ? (uint32_t)count : 1;
	for (uint32_t i = 0; i < found->count; i++) {
		struct symfile_frame *frame = &found->frames[i];
		const char *name = i + 1 < found->count ? places[i].function : has_symbol ? symbol : NULL;

		frame->function[0] = '\0';
		if (name)
			demangle_short(name, SYMFILE_NAME_WIDTH, frame->function, sizeof(frame->function));
		frame->file = places[i].file;
		frame->line = places[i].line;
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* A file that is open for names: its symbols and its lines. */
#ifndef GPUMEMTRACE_SYMBOL_ELF_SYMFILE_H
#define GPUMEMTRACE_SYMBOL_ELF_SYMFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/elf/elfsym.h"
#include "symbol/elf/image.h"
#include "symbol/elf/lines.h"

#define SYMFILE_NAME_BYTES 256   /* of a readable function name, with its NUL */
#define SYMFILE_NAME_WIDTH 160   /* see demangle_short() */

struct symfile {
	struct image image;
	struct elfsym symbols;
	struct lines *lines;     /* NULL: none */
	size_t bytes;            /* symbols, and debug information that libdw may read */
};

/* The functions at one address: inlined ones, innermost first, then the function around them. */
struct symfile_frame {
	char function[SYMFILE_NAME_BYTES]; /* readable; "": unknown */
	const char *file;        /* of the source; NULL: unknown. Valid until the file is closed */
	uint32_t line;           /* 0: unknown */
};
struct symfile_frames {
	uint32_t count;          /* at least 1 */
	struct symfile_frame frames[LINES_DEPTH];
};

/* Whether the file itself lacks something that its separate debug file would have. */
bool symfile_wants_debug(const struct image *image);

/* Takes the image over, and reads its symbols. `debug`: its debug file, which stays the caller's, or NULL. */
void symfile_open(struct symfile *file, const struct image *image, const struct image *debug);
void symfile_close(struct symfile *file);

void symfile_find(const struct symfile *file, uint64_t vaddr, struct symfile_frames *found);

#endif

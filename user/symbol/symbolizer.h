/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses into names: function, module, file and line. Each address of a file is looked up once,
 * whatever process it is asked for; files are kept open up to a limit, the one asked for longest ago
 * goes first. Looking up may read files for milliseconds: not for the thread that drains the ring.
 *
 * The one invariant: an answer, once given, never changes, and stays good until symbolizer_free().
 * Not for several threads at once.
 */
#ifndef GPUMEMTRACE_SYMBOL_SYMBOLIZER_H
#define GPUMEMTRACE_SYMBOL_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/elf/modules.h"
#include "symbol/elf/source.h"

struct symbol_frame {
	const char *function;   /* readable; NULL: no symbol covers the address */
	const char *module;     /* the file's last part, "[vdso]", "[anon]"; NULL: in no mapping, or no native frame */
	const char *path;       /* of the module; NULL likewise */
	const char *file;       /* of the source; NULL unknown */
	uint32_t line;          /* 0 unknown */
	bool inlined;           /* into the frame behind it */
	uint64_t offset;        /* vaddr in the module; without a module the address */
};

/* What one address stands for: inlined functions, innermost first, then the function itself. */
struct symbol_frames {
	uint32_t count;         /* at least 1 */
	struct symbol_frame frames[];
};

#define SYMBOLIZER_FILES 64      /* open at a time, for symbolizer_new() */

struct symbolizer;

/* At most `files_max` files are open at a time, and fewer when they take much memory. `source` must stay. */
struct symbolizer *symbolizer_new(const struct symbol_source *source, size_t files_max);
void symbolizer_free(struct symbolizer *s);

/*
 * `is_return`: the address is a return address, so the call before it is meant (the frame at a probe
 * and a frame that a signal interrupted are none). Learns build ids and biases of `modules`.
 */
const struct symbol_frames *symbolizer_find(struct symbolizer *s, struct modules *modules, uint64_t address,
					    bool is_return);

#endif

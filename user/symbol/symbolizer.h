/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns addresses into names: function, module, file and line. Each address of a file is looked up once for all
 * processes. Files stay open up to a limit; then the least recently used one is closed. A look-up may read files for
 * milliseconds, so the thread that drains the ring must not look up names.
 *
 * The one invariant: an answer never changes, and stays valid until symbolizer_free(). One thread at a time may
 * use a symbolizer.
 */
#ifndef GPUMEMTRACE_SYMBOL_SYMBOLIZER_H
#define GPUMEMTRACE_SYMBOL_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parse/client.h"
#include "symbol/elf/modules.h"

struct symbol_frame {
	const char *function;   /* readable; NULL: no symbol covers the address */
	const char *module;     /* the file's last part, "[vdso]", "[anon]"; NULL: no mapping, or not a native frame */
	const char *path;       /* of the module; NULL in the same cases */
	const char *file;       /* of the source; NULL unknown */
	uint32_t line;          /* 0 unknown */
	bool inlined;           /* into the frame behind it */
	uint64_t offset;        /* vaddr in the module; without a module the address */
};

/* The functions at one address: inlined ones, innermost first, then the function around them. */
struct symbol_frames {
	uint32_t count;         /* at least 1 */
	struct symbol_frame frames[];
};

#define SYMBOLIZER_FILES 64      /* open at a time, for symbolizer_new() */

struct symbolizer;

/* Hears of a file that could not be read, once, and why (parse_why()). Its frames have no functions. Of a file that is
 * read later (parse_may_pass()) it hears once, too, however many stacks ask meanwhile. */
typedef void (*symbolizer_refused)(void *arg, const char *path, int err);

/* At most `files_max` files are open at a time, and fewer when they take much memory. `client` must stay. `refused` may
 * be NULL. */
struct symbolizer *symbolizer_new(struct parse_client *client, size_t files_max, symbolizer_refused refused, void *arg);
void symbolizer_free(struct symbolizer *s);

/*
 * `is_return`: the address is a return address, and the answer is for the call before it (false for the frame at a
 * probe and for a frame that a signal interrupted). Sets build ids and biases in `modules`.
 */
const struct symbol_frames *symbolizer_find(struct symbolizer *s, struct modules *modules, uint64_t address,
					    bool is_return);

#endif

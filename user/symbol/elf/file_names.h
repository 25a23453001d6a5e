/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of addresses in foreign files, which a worker without privileges reads (parse/parser.h). The worker keeps the
 * files open. Texts are cut to bounds, and are otherwise what the file says: whoever prints them uses base/human.h.
 */
#ifndef GPUMEMTRACE_SYMBOL_ELF_FILE_NAMES_H
#define GPUMEMTRACE_SYMBOL_ELF_FILE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "parse/client.h"
#include "symbol/elf/source.h"
#include "symbol/elf/symfile.h"

#define FILE_NAMES_PATH 1024     /* bytes of a source file's path, with its NUL; a longer path loses its beginning */

/* ---- the worker's side ---- */

int file_names_serve_open(void **state, struct parse_task *task, struct parse_answer *answer);
int file_names_serve_read(void **state, struct parse_task *task, struct parse_answer *answer);
int file_names_serve_find(void **state, struct parse_task *task, struct parse_answer *answer);
int file_names_serve_close(void **state, struct parse_task *task, struct parse_answer *answer);

/* ---- the asker's side ---- */

/* A file that is open in a worker. */
struct file_names {
	uint32_t owner, number;
	uint64_t spent_ns;       /* waited for slow answers about this file */
	size_t bytes;            /* memory that the worker needs for it, as the worker says */
	void *texts;             /* of the last answer */
};

/* Opens the file of a module, with its debug file. `number`: never used before for this client. `shape`: what the
 * headers say. 0; -ENOEXEC: no ELF file; else as source_open_module() or parse_ask(). */
int file_names_open(struct parse_client *client, uint32_t number, const struct modules *modules,
		    const struct module_map *map, struct file_names *names, struct image *shape);

/* The functions at an address. The texts are valid until the next call. 0; -ESTALE: the worker was replaced, or the
 * file was written to, and has to be opened again; else as parse_ask(). */
int file_names_find(struct parse_client *client, struct file_names *names, uint64_t vaddr,
		    struct symfile_frames *found);
void file_names_close(struct parse_client *client, struct file_names *names);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The code that a process has mapped at one moment: finds the module of an address, and the place in it.
 * Built from the bytes of /proc/PID/maps alone; the files are opened elsewhere.
 *
 * The one invariant: mappings are sorted by start and do not overlap. A file mapped in several pieces,
 * or at several places (dlmopen()), is one module with several mappings.
 */
#ifndef GPUMEMTRACE_SYMBOL_ELF_MODULES_H
#define GPUMEMTRACE_SYMBOL_ELF_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/elf/image.h"

/* What an executable mapping belongs to. */
enum module_kind {
	MODULE_FILE,
	MODULE_VDSO,
	MODULE_VSYSCALL,
	MODULE_ANONYMOUS,       /* written at run time (JIT), or not from a file that has a path */
};

struct module {
	enum module_kind kind;
	char *path;             /* as the process sees it: in a container from the container's root; "" */
	const char *name;       /* the path's last part, or "[vdso]", "[anon]" ...; points into path or to a constant */
	uint64_t dev;           /* makedev() */
	uint64_t ino;
	bool deleted;
	uint32_t first, last;   /* its mappings: modules_first(), modules_next() */
	char build_id[IMAGE_BUILD_ID_CHARS]; /* "" before modules_set_image() */
};

struct module_map {
	uint64_t start, end;
	uint64_t offset;        /* in the file */
	uint64_t bias;          /* address - vaddr, modulo 2^64, once has_bias */
	bool has_bias;
	uint32_t module;
	uint32_t next;          /* the next mapping of the module; 0: there is none */
};

#define MODULES_LOWEST 16       /* mappings that modules_limit() keeps at the lowest addresses: the program's */

struct modules {
	uint32_t pid;
	bool has_our_paths;     /* its paths name the same files for us, even after its end */
	struct module *list;
	size_t count;
	struct module_map *maps;
	size_t map_count;
	size_t left_out;        /* mappings, by modules_limit() and for their paths' length */
};

/* Replaces all mappings. Leaves damaged lines out, and returns their number. */
size_t modules_parse(struct modules *modules, uint32_t pid, const char *text, size_t len);
/* Reads /proc/PID/maps; 0 or -errno. What maps_read() does not read is left out, and so are new paths beyond 16 MiB of
 * them. */
int modules_read(struct modules *modules, uint32_t pid);
void modules_fini(struct modules *modules);

/* Leaves out what a process has mapped beyond `most` mappings: first those that are not of files, then the newest.
 * Libraries that came first lie at the highest addresses, and the program at the lowest. `most`: MODULES_LOWEST at
 * least. */
void modules_limit(struct modules *modules, size_t most);

/* The mapping that contains an address, or NULL. */
struct module_map *modules_find(const struct modules *modules, uint64_t address);
static inline struct module *modules_of(const struct modules *modules, const struct module_map *map)
{
	return &modules->list[map->module];
}

/* The mappings of a module, in turn: NULL behind the last. */
static inline struct module_map *modules_first(const struct modules *modules, uint32_t module)
{
	return &modules->maps[modules->list[module].first];
}

static inline struct module_map *modules_next(const struct modules *modules, const struct module_map *map)
{
	return map->next ? &modules->maps[map->next] : NULL;
}

/* Takes the build id of a module and the bias of its mappings from its file. */
void modules_set_image(struct modules *modules, uint32_t module, const struct image *image);

/* The vaddr of an address in its module; if the bias is unknown, the offset in the file. */
uint64_t modules_vaddr(const struct module_map *map, uint64_t address);

#endif

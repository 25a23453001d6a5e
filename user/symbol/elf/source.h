/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens files for a symbolizer: of a running process, through the process's root, so that a container's are found. */
#ifndef GPUMEMTRACE_SYMBOL_ELF_SOURCE_H
#define GPUMEMTRACE_SYMBOL_ELF_SOURCE_H


#include "symbol/elf/modules.h"

struct symbol_source {
	/* Opens the module's file, or its bytes; 0 or -errno. */
	int (*open_module)(const struct modules *modules, const struct module_map *map, struct image *image);
	/* The separate debug file of a build id, checked to be of that build id. */
	int (*open_debug)(const struct modules *modules, const char *build_id, struct image *image);
};

extern const struct symbol_source symbol_source_live;

#endif

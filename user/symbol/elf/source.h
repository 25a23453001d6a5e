/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens files for a symbolizer. Files of a running process open through its root, as it may be a container's. */
#ifndef GPUMEMTRACE_SYMBOL_ELF_SOURCE_H
#define GPUMEMTRACE_SYMBOL_ELF_SOURCE_H


#include "symbol/elf/modules.h"

struct symbol_source {
	/* Opens the module's file, or its bytes; 0 or -errno. */
	int (*open_module)(const struct modules *modules, const struct module_map *map, struct image *image);
	/* Opens the separate debug file of a build id, and checks that the file has this build id. */
	int (*open_debug)(const struct modules *modules, const char *build_id, struct image *image);
};

extern const struct symbol_source symbol_source_live;

#endif

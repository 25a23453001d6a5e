/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the files of modules. Files of a running process open through its root, as it may be a container's. */
#ifndef GPUMEMTRACE_SYMBOL_ELF_SOURCE_H
#define GPUMEMTRACE_SYMBOL_ELF_SOURCE_H

#include <stdint.h>

#include "symbol/elf/modules.h"

struct source_file {
	int fd;                 /* the caller closes it */
	uint32_t owner;         /* uid of the user who can write it */
	uint64_t identity;      /* of its bytes: file system, inode, size and times of change. Another hash than 0 */
};

/* Opens the module's file, or a copy of the vDSO. 0 or -errno. */
int source_open_module(const struct modules *modules, const struct module_map *map, struct source_file *file);

/* Opens the separate debug file of a build id, which is not checked. 0 or -errno. */
int source_open_debug(const struct modules *modules, const char *build_id, struct source_file *file);

#endif

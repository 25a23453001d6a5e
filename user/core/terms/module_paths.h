/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The modules of torch.nn in which code runs, as its Python frames show: a path of the classes whose forward() PyTorch
 * has called, the outermost first, such as Net > Block > Linear.
 *
 * Paths are steps of a tree. Numbers are given out in order, from 1 on; 0 stands for code outside of all modules.
 */
#ifndef GPUMEMTRACE_CORE_TERMS_MODULE_PATHS_H
#define GPUMEMTRACE_CORE_TERMS_MODULE_PATHS_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define MODULE_PATHS_MAX (1u << 16)  /* far more than models have */
#define MODULE_PATHS_NONE 0
/* Of a path as text: between its steps, and in the place of steps that are left out. */
#define MODULE_PATHS_BETWEEN " > "
#define MODULE_PATHS_LEFT_OUT "..." MODULE_PATHS_BETWEEN

struct module_step {
	uint32_t parent;
	uint32_t next;           /* of the same hash; 0: none */
	const char *name;        /* the caller's; no NUL at its end */
	size_t len;
};

struct module_paths {
	struct hash by_step;     /* hash of parent and name -> uint32_t */
	struct module_step *list; /* list[0] is no step */
	uint32_t count;
	uint64_t dropped;        /* steps that were too many, each time that they came */
};

void module_paths_init(struct module_paths *paths);
void module_paths_fini(struct module_paths *paths);

/* What a Python frame does for a path. The next frame inside of a CALL is the FORWARD of a module, or says nothing. */
enum module_role { MODULE_ROLE_NONE, MODULE_ROLE_CALL, MODULE_ROLE_FORWARD };
enum module_role module_paths_role(const char *function, const char *file);

/* The name of the class of a FORWARD: *len bytes inside of one of the texts. Python before 3.11 does not say the class;
 * then the name is that of the source file. */
const char *module_paths_class(const char *function, const char *file, size_t *len);

/* The path one step below `parent`. The path is `parent` itself if there are too many. `name` must last as long as
 * the paths. */
uint32_t module_paths_step(struct module_paths *paths, uint32_t parent, const char *name, size_t len);

/* "Net > Block > Linear", to be freed. The outermost steps of a path that is too long are left out. "": no module. */
char *module_paths_text(const struct module_paths *paths, uint32_t path);

#endif

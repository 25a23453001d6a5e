/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of owners that no rule has: packages, files and libraries, each with the framework that took the memory for
 * this code. A number stays until owner_names_clear().
 */
#ifndef GPUMEMTRACE_CORE_TERMS_OWNER_NAMES_H
#define GPUMEMTRACE_CORE_TERMS_OWNER_NAMES_H

#include <stdint.h>

#include "base/hash.h"

#define OWNER_NAMES_MAX 1024         /* a program chooses how many there are */
#define OWNER_NAMES_FULL UINT32_MAX

struct owner_name {
	char *name;
	uint16_t allocator;          /* the number of an owner of the rules; 0: none */
};

struct owner_names {
	struct owner_name *list;
	uint32_t count;
	struct hash by_name;         /* hash of name and allocator -> uint32_t: index in list */
	uint64_t dropped;            /* questions about names that were too many */
};

void owner_names_init(struct owner_names *names);
void owner_names_fini(struct owner_names *names);
void owner_names_clear(struct owner_names *names);

/* The index of the name, which is added if need be. OWNER_NAMES_FULL: there are too many. */
uint32_t owner_names_put(struct owner_names *names, const char *name, uint16_t allocator);

#endif

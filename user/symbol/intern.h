/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts kept once each. The same text has the same address, which is good until intern_fini(). */
#ifndef GPUMEMTRACE_SYMBOL_INTERN_H
#define GPUMEMTRACE_SYMBOL_INTERN_H

#include "base/hash.h"

struct intern {
	struct hash chains;     /* hash of the text -> struct intern_text * */
};

void intern_init(struct intern *in);
void intern_fini(struct intern *in);
const char *intern(struct intern *in, const char *text); /* NULL stays NULL */

/* FNV-1a, which is also what keys of files are made with. */
uint64_t intern_hash(uint64_t seed, const void *bytes, size_t size);
#define INTERN_SEED 0xcbf29ce484222325ULL

#endif

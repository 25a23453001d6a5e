/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps each text once: equal texts have one address, which is valid until intern_fini(). */
#ifndef GPUMEMTRACE_SYMBOL_INTERN_H
#define GPUMEMTRACE_SYMBOL_INTERN_H

#include "base/hash.h"

struct intern {
	struct hash chains;     /* hash of the text -> struct intern_text * */
};

void intern_init(struct intern *in);
void intern_fini(struct intern *in);
const char *intern(struct intern *in, const char *text); /* NULL stays NULL */

#endif

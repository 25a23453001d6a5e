/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds an output by its name. */
#ifndef GPUMEMTRACE_TESTS_SINKS_H
#define GPUMEMTRACE_TESTS_SINKS_H

#include <stddef.h>
#include <string.h>

#include "sink/sink.h"

/* NULL: there is no output of this name. */
static inline const struct sink *sink_find(const char *name)
{
	for (size_t i = 0; sinks[i]; i++)
		if (!strcmp(sinks[i]->name, name))
			return sinks[i];
	return NULL;
}

#endif

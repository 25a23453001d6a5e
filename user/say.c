// SPDX-License-Identifier: BSD-2-Clause
#include "say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/xalloc.h"

void say(const char *format, ...)
{
	char *text, *clean;
	va_list args;
	size_t size;

	va_start(args, format);
	if (vasprintf(&text, format, args) >= 0) {
		/* Names of processes, paths and symbols are foreign text: a terminal could obey it. */
		size = strlen(text);
		clean = xmalloc(4 * size + 4);
		human_text(clean, (unsigned)size, text, size);
		/* One write, so that the line stays whole beside other output. */
		fprintf(stderr, "gpumemtrace: %s\n", clean);
		free(clean);
		free(text);
	}
	va_end(args);
}

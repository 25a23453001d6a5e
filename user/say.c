// SPDX-License-Identifier: BSD-2-Clause
#include "say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void say(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	/* One write, so that the line stays whole beside other output. */
	if (vasprintf(&text, format, args) >= 0) {
		fprintf(stderr, "gpumemtrace: %s\n", text);
		free(text);
	}
	va_end(args);
}

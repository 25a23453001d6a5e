// SPDX-License-Identifier: BSD-2-Clause
#include "say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"

/* Longer texts are cut: two paths fit. A message needs no memory, as it may speak of the lack of memory. */
#define SAY_BYTES 9216

void say(const char *format, ...)
{
	char text[SAY_BYTES], clean[4 * SAY_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* Names of processes, paths and symbols are foreign text: a terminal could obey it. */
	human_text(clean, SAY_BYTES, text, strlen(text));
	/* One write, so that the line stays whole beside other output. */
	fprintf(stderr, "gpumemtrace: %s\n", clean);
}

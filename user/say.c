// SPDX-License-Identifier: BSD-2-Clause
#include "say.h"

#include <stdarg.h>
#include <stdio.h>

void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("gpumemtrace: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

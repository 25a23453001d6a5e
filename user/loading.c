// SPDX-License-Identifier: BSD-2-Clause
#include "loading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/bpf/programs.h"
#include "say.h"

int loading_print(unsigned int level, const char *format, va_list args)
{
	char *text, *rest, *line;

	if (level >= PROGRAMS_DEBUG || vasprintf(&text, format, args) < 0)
		return 0;
	rest = text;
	while ((line = strsep(&rest, "\n")))
		if (*line)
			say("%s", line);
	free(text);
	return 0;
}

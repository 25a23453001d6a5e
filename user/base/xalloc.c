/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A size of 0 asks for 1 byte, so NULL means only that memory has run out. */
static void *need_memory(void *ptr)
{
	if (!ptr) {
		fputs("gpumemtrace: out of memory\n", stderr);
		abort();
	}
	return ptr;
}

void *xmalloc(size_t size)
{
	return need_memory(malloc(size ? size : 1));
}

void *xcalloc(size_t count, size_t size)
{
	return need_memory(count && size ? calloc(count, size) : calloc(1, 1));
}

void *xrealloc(void *ptr, size_t size)
{
	return need_memory(realloc(ptr, size ? size : 1));
}

void *xreallocarray(void *ptr, size_t count, size_t size)
{
	return need_memory(count && size ? reallocarray(ptr, count, size) : realloc(ptr, 1));
}

void *xgrow(void *list, size_t count, size_t item_size)
{
	return count & (count - 1) ? list : xreallocarray(list, count ? 2 * count : 1, item_size);
}

char *xstrdup(const char *text)
{
	return need_memory(strdup(text));
}

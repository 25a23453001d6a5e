// SPDX-License-Identifier: BSD-2-Clause
/*
 * What libraries call in the place of libc's functions, beside those of xalloc.h (GUARDED in the Makefile). The
 * libraries crash when memory runs out, or leave something out and say nothing.
 */
#include "base/guarded.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"

void *guarded_tsearch(const void *key, void **root, int (*compare)(const void *, const void *))
{
	void *node = tsearch(key, root, compare);

	if (!node)
		xalloc_failed();
	return node;
}

int guarded_memalign(void **to, size_t alignment, size_t size)
{
	int err = posix_memalign(to, alignment, size);

	if (err)
		xalloc_failed();
	return err;
}

char *guarded_strndup(const char *text, size_t size)
{
	char *copy = strndup(text, size);

	if (!copy)
		xalloc_failed();
	return copy;
}

/* ncurses writes to a file in memory (screen/curses.c): a write that fails leaves a hole in the picture. */
ssize_t guarded_write(int fd, const void *from, size_t size)
{
	ssize_t done = write(fd, from, size);

	if (done < 0 && errno != EINTR)
		xalloc_failed();
	return done;
}

void *guarded_dlopen(const char *path, int flags)
{
	(void)path;
	(void)flags;
	return NULL;
}

void *guarded_dlsym(void *library, const char *name)
{
	(void)library;
	(void)name;
	return NULL;
}

int guarded_dlclose(void *library)
{
	(void)library;
	return -1;
}

char *guarded_dlerror(void)
{
	return NULL;
}

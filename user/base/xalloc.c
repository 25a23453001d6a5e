/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/xalloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* One write, which needs neither memory nor a lock that another thread may hold. */
void xalloc_tell(void)
{
	static const char text[] =
		"gpumemtrace: out of memory, so gpumemtrace ends here; a recording that was being written can be read"
		" up to its last second. Allow gpumemtrace more memory (--memory), or trace fewer processes.\n";

	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
}

void xalloc_failed(void)
{
	xalloc_tell();
	quick_exit(EXIT_FAILURE);
}

int xalloc_bound(uint64_t bytes)
{
	struct rlimit limit;
	unsigned long long data;
	FILE *statm = fopen("/proc/self/statm", "re");
	/* size resident shared text lib data: in pages (Documentation/filesystems/proc.rst) */
	int found = statm ? fscanf(statm, "%*u %*u %*u %*u %*u %llu", &data) : 0;
	uint64_t all;

	if (statm)
		fclose(statm);
	if (found != 1 || getrlimit(RLIMIT_DATA, &limit))
		return -EIO;
	all = data * (uint64_t)sysconf(_SC_PAGESIZE);
	if (__builtin_add_overflow(all, bytes, &all) || all >= limit.rlim_cur)
		return 0;
	limit.rlim_cur = all;
	return setrlimit(RLIMIT_DATA, &limit) ? -errno : 0;
}

/* A size of 0 asks for 1 byte, so NULL means only that memory has run out. */
static void *need_memory(void *ptr)
{
	if (!ptr)
		xalloc_failed();
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

void *xfit(void *list, size_t count, size_t item_size)
{
	size_t room = 1;

	while (room < count)
		room *= 2;
	return xreallocarray(list, room, item_size);
}

void *xreach(void *list, size_t *count, size_t index, size_t item_size)
{
	for (; *count <= index; ++*count) {
		list = xgrow(list, *count, item_size);
		memset((char *)list + *count * item_size, 0, item_size);
	}
	return list;
}

char *xstrdup(const char *text)
{
	return need_memory(strdup(text));
}

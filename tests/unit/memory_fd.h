/* SPDX-License-Identifier: BSD-2-Clause */
/* A file in memory, for tests of what reads files. */
#ifndef GPUMEMTRACE_TESTS_MEMORY_FD_H
#define GPUMEMTRACE_TESTS_MEMORY_FD_H

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* A descriptor at the beginning of a file of these bytes. */
static inline int memory_fd(const void *data, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	if (fd < 0 || (size && write(fd, data, size) != (ssize_t)size) || lseek(fd, 0, SEEK_SET))
		abort();
	return fd;
}

#endif

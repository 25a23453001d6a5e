// SPDX-License-Identifier: BSD-2-Clause
#include "live/bpf/array_map.h"

#include <sys/mman.h>

void *mapped_open(int map_fd, size_t bytes, bool writable)
{
	void *values = mmap(NULL, bytes, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, map_fd, 0);

	return values == MAP_FAILED ? NULL : values;
}

void mapped_close(void *values, size_t bytes)
{
	if (values)
		munmap(values, bytes);
}

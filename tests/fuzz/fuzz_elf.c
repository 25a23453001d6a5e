// SPDX-License-Identifier: BSD-2-Clause
/* Any bytes as a library of each kind: what is damaged is an error, and no probe lies outside the file. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "live/probe/library.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct library *library = calloc(1, sizeof(*library));
	int fd = memfd_create("library", MFD_CLOEXEC);

	if (!library || fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	for (int kind = 0; kind < LIBRARY_KIND_COUNT; kind++)
		if (library_read(fd, (enum library_kind)kind, library) == 0)
			for (uint32_t i = 0; i < library->probe_count; i++)
				if (library->probes[i].offset >= size)
					abort();
	close(fd);
	free(library);
	return 0;
}

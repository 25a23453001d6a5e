// SPDX-License-Identifier: BSD-2-Clause
/* Any bytes as a library of each kind: a damaged library is an error, and no probe lies outside the file. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "live/framework/library_kinds.h"
#include "live/probe/library.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_as(int fd, const struct library_kind *kind, struct library *library, size_t size)
{
	if (library_read(dup(fd), kind, library) == 0)
		for (uint32_t i = 0; i < library->probe_count; i++)
			if (library->probes[i].offset >= size)
				abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct library *library = calloc(1, sizeof(*library));
	int fd = memfd_create("library", MFD_CLOEXEC);

	if (!library || fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	read_as(fd, &library_cuda, library, size);
	for (unsigned int id = 0; id < GMT_FW_COUNT; id++)
		for (size_t i = 0; i < framework_of(id)->library_count; i++)
			read_as(fd, &framework_of(id)->libraries[i], library, size);
	close(fd);
	free(library);
	return 0;
}

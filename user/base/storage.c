// SPDX-License-Identifier: BSD-2-Clause
#include "base/storage.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static void raise_if_handled(void)
{
	struct sigaction action;

	if (!sigaction(SIGBUS, NULL, &action) && action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN)
		raise(SIGBUS);
}

ssize_t storage_pread(int fd, void *to, size_t size, off_t offset)
{
	ssize_t got = pread(fd, to, size, offset);
	int err = errno;

	/* Other errors are the asker's: a damaged file names a place that no file has. */
	if (got < 0 && (err == EIO || err == ESTALE))
		raise_if_handled();
	errno = err;
	return got;
}

ssize_t storage_pread64(int fd, void *to, size_t size, off_t offset)
{
	return storage_pread(fd, to, size, offset);
}

// SPDX-License-Identifier: BSD-2-Clause
/* See whole_file.h. */
#include "whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/out.h"

#define MODE 0666   /* less the umask */

static int write_as_it_is(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = out_write_fd(fd, data, size);
	if (close(fd) && !err)
		err = -errno;
	return err;
}

int whole_file_write(const char *path, const void *data, size_t size)
{
	char beside[PATH_MAX];
	struct stat st;
	int fd, err;

	if (!strcmp(path, "-"))
		return out_write_fd(STDOUT_FILENO, data, size);
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return write_as_it_is(path, data, size);
	if (snprintf(beside, sizeof(beside), "%s.%d.tmp", path, (int)getpid()) >= (int)sizeof(beside))
		return -ENAMETOOLONG;
	fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE);
	if (fd < 0)
		return -errno;
	err = out_write_fd(fd, data, size);
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(beside, path))
		err = -errno;
	if (err)
		unlink(beside);
	return err;
}

// SPDX-License-Identifier: BSD-2-Clause
/* See whole_file.h. */
#include "whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/out.h"

#define MODE 0666   /* less the umask */

int whole_file_begin(struct whole_file *file, const char *path)
{
	struct stat st;

	file->beside[0] = '\0';
	if (snprintf(file->path, sizeof(file->path), "%s", path) >= (int)sizeof(file->path))
		return -ENAMETOOLONG;
	if (!strcmp(path, "-")) {
		file->fd = STDOUT_FILENO;
		return 0;
	}
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		file->fd = open(path, O_WRONLY | O_CLOEXEC);
		return file->fd < 0 ? -errno : 0;
	}
	if (snprintf(file->beside, sizeof(file->beside), "%s.%d.tmp", path, (int)getpid()) >=
	    (int)sizeof(file->beside))
		return -ENAMETOOLONG;
	file->fd = open(file->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE);
	return file->fd < 0 ? -errno : 0;
}

int whole_file_end(struct whole_file *file, int error)
{
	if (file->fd != STDOUT_FILENO && close(file->fd) && !error)
		error = -errno;
	if (!file->beside[0])
		return error;
	if (!error && rename(file->beside, file->path))
		error = -errno;
	if (error)
		unlink(file->beside);
	return error;
}

int whole_file_write(const char *path, const void *data, size_t size)
{
	struct whole_file file;
	int err = whole_file_begin(&file, path);

	return err ? err : whole_file_end(&file, out_write_fd(file.fd, data, size));
}

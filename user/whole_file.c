// SPDX-License-Identifier: BSD-2-Clause
/* See whole_file.h. */
#include "whole_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/out.h"
#include "base/out_file.h"

static int set_path(struct whole_file *file, const char *path)
{
	file->beside[0] = '\0';
	return snprintf(file->path, sizeof(file->path), "%s", path) < (int)sizeof(file->path) ? 0 : -ENAMETOOLONG;
}

static int begin_new(struct whole_file *file)
{
	file->fd = out_file_create_beside(file->path, file->beside, sizeof(file->beside));
	return file->fd < 0 ? file->fd : 0;
}

int whole_file_begin_new(struct whole_file *file, const char *path)
{
	int err = set_path(file, path);

	return err ? err : begin_new(file);
}

int whole_file_begin(struct whole_file *file, const char *path)
{
	int err = set_path(file, path);

	if (err)
		return err;
	file->fd = strcmp(path, "-") ? out_file_open_special(path) : STDOUT_FILENO;
	if (file->fd == -ENOENT)
		return begin_new(file);
	return file->fd < 0 ? file->fd : 0;
}

int whole_file_settle(struct whole_file *file, int error)
{
	if (!file->beside[0])
		return error;
	if (!error && rename(file->beside, file->path))
		error = -errno;
	if (error)
		unlink(file->beside);
	return error;
}

int whole_file_end(struct whole_file *file, int error)
{
	if (file->fd != STDOUT_FILENO && close(file->fd) && !error)
		error = -errno;
	return whole_file_settle(file, error);
}

int whole_file_write(const char *path, const void *data, size_t size)
{
	struct whole_file file;
	int err = whole_file_begin(&file, path);

	return err ? err : whole_file_end(&file, out_write_fd(file.fd, data, size));
}

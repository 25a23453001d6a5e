/* SPDX-License-Identifier: BSD-2-Clause */
/* The name of a file without its folder. */
#ifndef GPUMEMTRACE_BASE_PATH_H
#define GPUMEMTRACE_BASE_PATH_H

#include <string.h>

/* Of a path of `size` bytes: what follows the last slash, or the whole path. */
static inline const char *path_base_sized(const char *path, size_t size)
{
	const char *slash = memrchr(path, '/', size);

	return slash ? slash + 1 : path;
}

static inline const char *path_base(const char *path)
{
	return path_base_sized(path, strlen(path));
}

#endif

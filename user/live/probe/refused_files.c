// SPDX-License-Identifier: BSD-2-Clause
#include "live/probe/refused_files.h"

#include <sys/stat.h>

#include "live/probe/library.h"

void refused_add(struct refused_files *files, const struct library *library)
{
	size_t at = files->count++ % REFUSED_FILES;

	files->list[at].dev = library->dev;
	files->list[at].ino = library->ino;
	files->list[at].mtime_ns = library->mtime_ns;
}

bool refused_has(const struct refused_files *files, const char *path)
{
	struct stat st;

	if (!files->count || stat(path, &st))
		return false;
	for (size_t i = 0; i < files->count && i < REFUSED_FILES; i++)
		if (files->list[i].ino == st.st_ino && files->list[i].dev == st.st_dev &&
		    files->list[i].mtime_ns ==
			    (uint64_t)st.st_mtim.tv_sec * 1000000000ull + (uint64_t)st.st_mtim.tv_nsec)
			return true;
	return false;
}

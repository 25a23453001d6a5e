// SPDX-License-Identifier: BSD-2-Clause
#include "source/dump_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/foreign_file.h"
#include "base/xalloc.h"

#define SUFFIX ".gmt"
#define ENTRIES_MAX 100000           /* of a directory, looked at */
#define FILES_MAX 4096               /* of which the newest are opened */
#define OPENED_MAX 100
#define FILE_BYTES_MAX (256ull << 20) /* a dump has some MiB; a larger file is a long recording */

struct entry {
	char *name;
	int64_t written_s, mtime_ns;
	uint64_t bytes;
};

struct dump_folder {
	int fd;
	struct entry *list;
	size_t count, at, opened, left_out;
	bool is_cut;
};

bool dump_folder_is(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static bool has_dump_name(const char *name)
{
	size_t size = strlen(name), end = strlen(SUFFIX);

	return name[0] != '.' && size > end && !strcmp(name + size - end, SUFFIX);
}

/* A dump's name says when the dump was written, also where the file was copied since (dumping.c):
 * "gpumemtrace-oom-20260203-101612-4242-1-0f4d23a9.gmt". 0: the name does not say so. */
static int64_t time_in_name(const char *name)
{
	struct tm tm = { 0 };

	if (sscanf(name, "gpumemtrace-%*[a-z]-%4d%2d%2d-%2d%2d%2d-", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
		   &tm.tm_min, &tm.tm_sec) != 6)
		return 0;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	return timegm(&tm);
}

static void add_entry(struct dump_folder *f, const char *name)
{
	struct stat st;

	if (!has_dump_name(name) || fstatat(f->fd, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return;
	if (f->count == FILES_MAX) {
		f->left_out++;
		return;
	}
	f->list = xgrow(f->list, f->count, sizeof(*f->list));
	f->list[f->count++] = (struct entry){
		.name = xstrdup(name), .bytes = (uint64_t)st.st_size,
		.mtime_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec,
		.written_s = time_in_name(name) ?: st.st_mtim.tv_sec,
	};
}

static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->written_s != b->written_s)
		return a->written_s < b->written_s ? 1 : -1;
	if (a->mtime_ns != b->mtime_ns)
		return a->mtime_ns < b->mtime_ns ? 1 : -1;
	return strcmp(a->name, b->name);
}

struct dump_folder *dump_folder_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dump_folder *f;
	struct dirent *entry;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	f = xcalloc(1, sizeof(*f));
	f->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	for (size_t i = 0; (entry = readdir(dir)); i++) {
		f->is_cut = i >= ENTRIES_MAX;
		if (f->is_cut)
			break;
		add_entry(f, entry->d_name);
	}
	closedir(dir);
	if (f->count)
		qsort(f->list, f->count, sizeof(*f->list), compare_entries);
	return f;
}

void dump_folder_close(struct dump_folder *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->count; i++)
		free(f->list[i].name);
	free(f->list);
	if (f->fd >= 0)
		close(f->fd);
	free(f);
}

int dump_folder_next(struct dump_folder *f, const char **name)
{
	while (f->at < f->count) {
		const struct entry *entry = &f->list[f->at++];
		int fd = -1;

		if (entry->bytes <= FILE_BYTES_MAX && f->opened < OPENED_MAX)
			fd = foreign_open_in(f->fd, entry->name);
		if (fd >= 0) {
			f->opened++;
			*name = entry->name;
			return fd;
		}
		f->left_out++;
	}
	return -1;
}

bool dump_folder_is_cut(const struct dump_folder *f)
{
	return f->is_cut;
}

size_t dump_folder_left_out(const struct dump_folder *f)
{
	return f->left_out;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens files that the user names for writing. The files hold other people's command lines, and root writes them in
 * directories that others may write to, too. So only the owner can read a new file (0600), and a file that somebody
 * else has put at the path is not written to.
 */
#ifndef GPUMEMTRACE_BASE_OUT_FILE_H
#define GPUMEMTRACE_BASE_OUT_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define OUT_FILE_MODE 0600
/* Instead of -errno: at the path is a block device, or a link, pipe or device that is neither ours nor root's. No file
 * system returns this error. */
#define OUT_FILE_FOREIGN (-ENOTUNIQ)
/* Likewise: a pipe or a device is at the path of a file that is written here and there. */
#define OUT_FILE_SPECIAL (-ESPIPE)

/*
 * Opens a file to write it from its beginning: a new file, or a regular file of ours that has no other name, which is
 * emptied and keeps its mode. A file of somebody else is replaced. Links of ours or of root's are followed; our and
 * root's pipes and devices are opened, which may wait for a pipe's reader. Returns a descriptor or -errno.
 * only_special: returns -ENOENT for a regular file, or if nothing is at the path.
 */
int out_file_open(const char *path, bool only_special);

/* Creates a file beside `path`, which the caller renames to `path`. The file's name, which nobody can guess, goes to
 * `name`. The descriptor is for reading, too. */
int out_file_create_beside(const char *path, char *name, size_t size);

/* A file that is there as a whole or not at all. The file has no name until it is whole, so that nothing stays of it if
 * the process is killed; where the file system knows no such files, it is written under another name. */
struct out_file {
	int fd;                  /* to be written to, by the caller */
	char path[PATH_MAX];
	char beside[PATH_MAX];   /* its name before the last; "": it has none, or the path itself is written to */
	bool is_nameless;        /* it has no name yet */
};

/* "-" is standard output; pipes and devices are written to as they are (only_special), unless the file is to
 * replace whatever is there. */
int out_file_begin(struct out_file *file, const char *path, bool replaces);
/* Whether the file is a new one, and no pipe or device. */
bool out_file_is_new(const struct out_file *file);
/* Gives the file its name; after an error, which is returned, removes the file. The descriptor stays the caller's. */
int out_file_settle(struct out_file *file, int error);
/* The same as out_file_settle(), and closes the file. */
int out_file_end(struct out_file *file, int error);

/* The directory of a path: "." if the path names none. */
void out_file_folder(const char *path, char folder[PATH_MAX]);
/* Whether this thread, with the privileges that it has now, may create files in a directory. 0 or -errno. */
int out_file_may_fill(const char *folder);
/* Whether out_file_begin() may create a file for this path. 0 or -errno; 0, too, for what can be known only when the
 * file is written: a link, a pipe or a device is at the path. */
int out_file_may_begin(const char *path);

/* Whether a file for this path will be a new one (out_file_is_new). 0, or OUT_FILE_SPECIAL: opening a pipe would wait
 * for its reader. */
int out_file_may_be_new(const char *path);

/* A number that nobody can guess. 0 or -errno. */
int out_file_random(unsigned int *number);

/* What an error of these functions says, for the user. */
const char *out_file_why(int error);
/* What the user can do against an error at the beginning of a file; "": the error itself says so. */
const char *out_file_remedy(int error);

#endif

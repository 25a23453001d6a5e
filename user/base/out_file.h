/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that the user names to be written. They hold other people's command lines, and are written by root in
 * directories that others may write to, too: a new file is its owner's alone (0600), and what somebody else has
 * put there is not written to.
 */
#ifndef GPUMEMTRACE_BASE_OUT_FILE_H
#define GPUMEMTRACE_BASE_OUT_FILE_H

#include <stddef.h>

#define OUT_FILE_MODE 0600
/* Instead of -errno: a link, pipe or device is there that is neither ours nor root's, or a block device. No file
 * system answers that. */
#define OUT_FILE_FOREIGN (-ENOTUNIQ)

/*
 * For writing from its beginning: a new file; a regular one that is ours alone, cut to nothing, its mode kept;
 * another's is replaced. Links, pipes and devices of ours or of root's are followed and opened, which may wait for a
 * pipe's reader. A descriptor or -errno.
 */
int out_file_open(const char *path);

/* The same for what is no regular file; -ENOENT: that or nothing is there. */
int out_file_open_special(const char *path);

/* A new file beside `path`, to be renamed to that: writes its name, which nobody can tell before. Readable, too. */
int out_file_create_beside(const char *path, char *name, size_t size);

/* A number that nobody can tell before. 0 or -errno. */
int out_file_random(unsigned int *number);

/* What an error of these says, for the user. */
const char *out_file_why(int error);

#endif

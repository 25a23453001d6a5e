/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file that is there as a whole or not at all: it is written under another name beside it, and renamed, so
 * who reads it never sees a part.
 */
#ifndef GPUMEMTRACE_WHOLE_FILE_H
#define GPUMEMTRACE_WHOLE_FILE_H

#include <limits.h>
#include <stddef.h>

struct whole_file {
	int fd;                  /* to be written to, by the caller */
	char path[PATH_MAX];
	char beside[PATH_MAX];   /* what it is called until it is whole; "": it is written to as it is */
};

/* "-" is standard output; what is there and no file (a pipe, a device) is written to as it is (out_file.h). 0 or an
 * error that out_file_why() has words for, as from all of these. */
int whole_file_begin(struct whole_file *file, const char *path);
/* A file, whatever is there: that is replaced. Its descriptor can be read, too. */
int whole_file_begin_new(struct whole_file *file, const char *path);
/* It is there now, or with an error, which is returned, it never was. The descriptor stays the caller's. */
int whole_file_settle(struct whole_file *file, int error);
/* Likewise, and closes it. */
int whole_file_end(struct whole_file *file, int error);

/* Begins, writes and ends one. */
int whole_file_write(const char *path, const void *data, size_t size);

#endif

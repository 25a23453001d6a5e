/* SPDX-License-Identifier: BSD-2-Clause */
/* A file that is there as a whole or not at all. */
#ifndef GPUMEMTRACE_WHOLE_FILE_H
#define GPUMEMTRACE_WHOLE_FILE_H

#include <stddef.h>

/* Writes it under another name beside it, and renames it: who reads it never sees a part. "-" is standard
 * output; what is there and no file (a pipe, a device) is written to as it is. 0 or -errno. */
int whole_file_write(const char *path, const void *data, size_t size);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The dumps and recordings in a directory, the newest first. Others may write to the directory while it is read: only
 * regular files are opened, no links are followed, and what is read is bounded.
 */
#ifndef GPUMEMTRACE_SOURCE_DUMP_FOLDER_H
#define GPUMEMTRACE_SOURCE_DUMP_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

struct dump_folder;

/* Whether the path is a directory. */
bool dump_folder_is(const char *path);

/* NULL, with errno: the directory cannot be read. */
struct dump_folder *dump_folder_open(const char *path);
void dump_folder_close(struct dump_folder *folder);

/* Opens the next file. Returns a descriptor, which the caller closes, and sets *name, which is valid until the folder
 * is closed. -1: there are no more files. */
int dump_folder_next(struct dump_folder *folder, const char **name);

/* Whether the directory has more files than are looked at. */
bool dump_folder_is_cut(const struct dump_folder *folder);

/* The files that are not opened: too many, too large, or not to be opened. Final at the end. */
size_t dump_folder_left_out(const struct dump_folder *folder);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads /proc/PID/maps (proc_pid_maps(5)). */
#ifndef GPUMEMTRACE_BASE_MAPS_H
#define GPUMEMTRACE_BASE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `path` points into the line. */
struct maps_line {
	uint64_t start, end;      /* also the link's name in /proc/PID/map_files */
	uint64_t offset;
	uint64_t ino;             /* 0: not a file */
	uint32_t dev_major, dev_minor;
	bool executable;
	bool deleted;             /* " (deleted)" was cut off path_len */
	const char *path;
	size_t path_len;          /* 0: anonymous */
};

/* Returns 0; -EINVAL: the text is not what the kernel writes. */
int maps_parse_line(const char *line, size_t len, struct maps_line *map);

/*
 * Reads a maps file row by row, without newlines. A process decides how long its rows are and how many there are: a
 * row is cut after 64 KiB, where its path is longer than any that can be opened. 0; -EFBIG: the file has more than
 * 64 MiB, and the rest was not read; -errno; or what `fn` returned, which ends the reading if it is not 0.
 */
typedef int (*maps_row_fn)(const char *text, size_t len, void *arg);
int maps_read(int fd, maps_row_fn fn, void *arg);

#endif

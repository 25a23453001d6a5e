/* SPDX-License-Identifier: BSD-2-Clause */
/* Remembers files that could not be read as libraries, so that they are not read again while they are the same. */
#ifndef GPUMEMTRACE_LIVE_PROBE_REFUSED_FILES_H
#define GPUMEMTRACE_LIVE_PROBE_REFUSED_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REFUSED_FILES 256 /* the newest; an older file is read again when a process maps the file again */

struct library;

struct refused_files {
	size_t count;            /* ever */
	size_t ended;            /* of them, those whose reader was ended (parse_was_ended()) */
	struct {
		uint64_t dev, ino, mtime_ns;
	} list[REFUSED_FILES];   /* number n at n % REFUSED_FILES */
};

void refused_add(struct refused_files *files, const struct library *library);
/* Whether the file that the path leads to is one of them, and the same as then. */
bool refused_has(const struct refused_files *files, const char *path);

#endif

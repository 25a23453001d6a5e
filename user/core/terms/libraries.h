/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The libraries that were probed, each file once. A file that lost its probes, because no process maps the file any
 * more, stays a while and is then forgotten: the list does not grow while programs come and go.
 */
#ifndef GPUMEMTRACE_CORE_TERMS_LIBRARIES_H
#define GPUMEMTRACE_CORE_TERMS_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "base/hash.h"

#define LIBRARIES_GONE 32        /* without probes, the newest */
#define LIBRARIES_MAX 16384      /* more than the collector probes at a time; further ones are counted and not kept */

struct library_entry {
	struct gmt_library rec;
	bool is_forgotten;       /* a gap in the list */
};

struct libraries {
	struct library_entry *list; /* in order of appearance */
	size_t count, gaps;
	struct hash by_file;     /* hash of device and inode -> uint32_t: index of the newest such entry */
	uint64_t gone[LIBRARIES_GONE]; /* keys in by_file, oldest first */
	size_t gone_count;
	uint64_t forgotten;      /* libraries that were forgotten, or not kept */
};

void libraries_init(struct libraries *libraries);
void libraries_fini(struct libraries *libraries);

void libraries_add(struct libraries *libraries, const struct gmt_library *rec);
/* The file has no probes any more. */
void libraries_drop(struct libraries *libraries, const struct gmt_library_gone *rec);

/* A copy of those that are not forgotten, to be freed. */
struct gmt_library *libraries_copy(const struct libraries *libraries, size_t *count);

#endif

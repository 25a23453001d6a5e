/* SPDX-License-Identifier: BSD-2-Clause */
/* A list of records, one behind the other in the order of their arrival. */
#ifndef GPUMEMTRACE_LIVE_STACKS_RECORD_LIST_H
#define GPUMEMTRACE_LIVE_STACKS_RECORD_LIST_H

#include <stddef.h>
#include <string.h>

#include <gpumemtrace/wire.h>

#include "base/xalloc.h"

struct records {
	unsigned char *bytes;    /* to be free()d */
	size_t used, capacity;
};

/* Adds a record, or its first bytes: at least the header, a multiple of 8. The list has a record of this size. */
static inline void records_add(struct records *records, const void *record, size_t size)
{
	struct gmt_hdr *hdr;

	if (records->capacity - records->used < size) {
		records->capacity = (records->used + size) * 2;
		records->bytes = xrealloc(records->bytes, records->capacity);
	}
	hdr = memcpy(records->bytes + records->used, record, size);
	hdr->size = (__u16)size;
	records->used += size;
}

/* Walks the records: *at is 0 at the start. NULL at the end. */
static inline void *records_next(const struct records *records, size_t *at)
{
	struct gmt_hdr *hdr = (void *)(records->bytes + *at);

	if (*at >= records->used)
		return NULL;
	*at += hdr->size;
	return hdr;
}

#endif

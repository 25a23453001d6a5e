/* SPDX-License-Identifier: BSD-2-Clause */
/* Records one behind the other, as they came. */
#ifndef GPUMEMTRACE_LIVE_STACKS_RECORD_LIST_H
#define GPUMEMTRACE_LIVE_STACKS_RECORD_LIST_H

#include <stddef.h>
#include <string.h>

#include "base/xalloc.h"

struct records {
	unsigned char *bytes;    /* to be free()d */
	size_t used, capacity;
};

static inline void records_add(struct records *records, const void *record, size_t size)
{
	if (records->capacity - records->used < size) {
		records->capacity = (records->used + size) * 2;
		records->bytes = xrealloc(records->bytes, records->capacity);
	}
	memcpy(records->bytes + records->used, record, size);
	records->used += size;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Many numbers in little text: each as few bytes of seven bits (LEB128), the bytes in Base64
 * without a slash (RFC 4648, section 5). */
#ifndef GPUMEMTRACE_SINK_HTML_PACKED_H
#define GPUMEMTRACE_SINK_HTML_PACKED_H

#include <stdint.h>

struct out;

struct packed {
	struct out *out;
	uint32_t held;           /* the newest bytes, which are no whole group of three yet */
	unsigned int count;
};

/* All zeros but for `out` is the beginning; packed_end() writes what is left. */
void packed_number(struct packed *p, uint64_t value);
/* A number that may be negative: zigzag, so that small numbers take few bytes. */
void packed_change(struct packed *p, uint64_t from, uint64_t to);
void packed_end(struct packed *p);

#endif

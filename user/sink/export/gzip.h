/* SPDX-License-Identifier: BSD-2-Clause */
/* Compresses what is written, as gzip does (RFC 1952). The header has no time: the same bytes give the same file. */
#ifndef GPUMEMTRACE_SINK_EXPORT_GZIP_H
#define GPUMEMTRACE_SINK_EXPORT_GZIP_H

#include <zlib.h>

#include "base/out.h"

struct gzip {
	struct out in;           /* what is written here goes compressed to the other writer */
	struct out *to;
	z_stream z;
};

/* The address of `g` stays the same until gzip_end(), which writes what is left. */
void gzip_begin(struct gzip *g, struct out *to);
void gzip_end(struct gzip *g);

#endif

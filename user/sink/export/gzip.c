// SPDX-License-Identifier: BSD-2-Clause
#include "sink/export/gzip.h"

#include <errno.h>
#include <limits.h>

#define CHUNK (16 << 10)
#define GZIP_FORMAT 16       /* added to the window bits (zlib.h, deflateInit2) */
#define MEMORY_LEVEL 8       /* zlib's own default */

/* Gives zlib's bytes away until zlib has room left. */
static int drain_stream(struct gzip *g, int flush)
{
	unsigned char chunk[CHUNK];

	do {
		g->z.next_out = chunk;
		g->z.avail_out = CHUNK;
		if (deflate(&g->z, flush) == Z_STREAM_ERROR)
			return -EIO;
		out_bytes(g->to, chunk, CHUNK - g->z.avail_out);
	} while (!g->z.avail_out);
	return g->to->error;
}

static int write_compressed(void *arg, const void *data, size_t size)
{
	struct gzip *g = arg;
	const unsigned char *at = data;
	int err = 0;

	while (size && !err) {
		g->z.next_in = (unsigned char *)at;
		g->z.avail_in = size < INT_MAX ? (unsigned int)size : INT_MAX;
		at += g->z.avail_in;
		size -= g->z.avail_in;
		err = drain_stream(g, Z_NO_FLUSH);
	}
	return err;
}

void gzip_begin(struct gzip *g, struct out *to)
{
	*g = (struct gzip){ .to = to };
	out_init(&g->in, write_compressed, g);
	if (deflateInit2(&g->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP_FORMAT, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		g->in.error = -ENOMEM;
}

void gzip_end(struct gzip *g)
{
	int err = out_flush(&g->in);

	if (!err)
		err = drain_stream(g, Z_FINISH);
	deflateEnd(&g->z);
	out_close(&g->in);
	if (!g->to->error)
		g->to->error = err;
}

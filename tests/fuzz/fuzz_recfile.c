// SPDX-License-Identifier: BSD-2-Clause
/*
 * Any bytes as a recording, through the reader into the ledger. Checksums keep random bytes from
 * getting far, so an odd first byte makes the harness wrap the input into valid blocks first.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <gpumemtrace/recfile.h>
#include <gpumemtrace/wire.h>

#include "core/pipeline/pipeline.h"
#include "core/view/view.h"
#include "source/reader.h"
#include "../unit/memory_fd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay(const void *data, size_t size)
{
	struct pipeline *pipeline = pipeline_new(NULL);
	struct reader *reader = NULL;
	const struct gmt_hdr *hdr;
	struct view view;
	char text[200];

	if (reader_open_fd(&reader, memory_fd(data, size)) == 0) {
		while ((hdr = reader_next(reader))) {
			if (hdr->size < sizeof(*hdr) || hdr->size % 8)
				abort(); /* the reader promises whole records */
			pipeline_apply(pipeline, hdr, hdr->size);
		}
		reader_describe(reader_status(reader), text, sizeof(text));
		reader_close(reader);
	}
	view_build(pipeline, NULL, &view);
	view_free(&view);
	pipeline_free(pipeline);
}

/* A header, and one block a piece of the input: {type and flaws, length, bytes}. */
static size_t wrap(const uint8_t *data, size_t size, uint8_t *out, size_t room)
{
	struct gmt_rec_header header = { .magic = GMT_REC_MAGIC, .byte_order = GMT_REC_BYTE_ORDER,
		.major = GMT_REC_MAJOR, .minor = GMT_REC_MINOR, .header_bytes = sizeof(header) };
	size_t used = sizeof(header);
	uint32_t sequence = 0;

	memcpy(out, &header, sizeof(header));
	while (size >= 3) {
		struct gmt_rec_block block = { .magic = GMT_REC_BLOCK_MAGIC, .sequence = sequence++ };
		size_t bytes = data[1] | (size_t)data[2] << 8, packed;
		unsigned int flaw = data[0];

		data += 3;
		size -= 3;
		bytes = bytes < size ? bytes : size;
		if (room - used < sizeof(block) + ZSTD_compressBound(bytes))
			break;
		packed = ZSTD_compress(out + used + sizeof(block), room - used - sizeof(block), data, bytes, 1);
		if (ZSTD_isError(packed))
			break;
		block.type = flaw & 3;
		block.data_bytes = packed + (flaw & 4 ? flaw >> 4 : 0);
		block.raw_bytes = bytes + (flaw & 8 ? flaw >> 4 : 0);
		block.records = bytes / 40;
		block.check = gmt_rec_check(&block);
		memcpy(out + used, &block, sizeof(block));
		used += sizeof(block) + packed;
		data += bytes;
		size -= bytes;
	}
	return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t out[1 << 18];

	if (size && data[0] & 1)
		replay(out, wrap(data + 1, size - 1, out, sizeof(out)));
	else if (size)
		replay(data + 1, size - 1);
	return 0;
}

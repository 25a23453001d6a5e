// SPDX-License-Identifier: BSD-2-Clause
#include "live/stream.h"

#include <time.h>

#include "core/pipeline/pipeline.h"
#include "source/recorder.h"

void stream_put(struct stream *stream, const void *record, size_t size)
{
	if (stream->recorder) {
		int err = recorder_add(stream->recorder, record, size);

		if (err && !stream->recorder_error)
			stream->recorder_error = err;
	}
	/* The ledger counts malformed records. */
	pipeline_apply(stream->pipeline, record, size);
}

uint64_t stream_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

void stream_put_own(struct stream *stream, struct gmt_hdr *hdr, const struct gmt_hdr *filled)
{
	*hdr = *filled;
	stream_put(stream, hdr, hdr->size);
}

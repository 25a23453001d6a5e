// SPDX-License-Identifier: BSD-2-Clause
#include "live/stream.h"

#include <errno.h>
#include <time.h>

#include "core/pipeline/pipeline.h"
#include "source/recorder.h"

#define LOOK_NS 10000000L         /* between two looks whether the file is still written to */

void stream_init(struct stream *stream, struct pipeline *pipeline)
{
	*stream = (struct stream){ .pipeline = pipeline };
	pthread_mutex_init(&stream->lock, NULL);
}

static void note_error(struct stream *stream, int err)
{
	if (err && !stream->recorder_error)
		stream->recorder_error = err;
}

void stream_put(struct stream *stream, const void *record, size_t size)
{
	pthread_mutex_lock(&stream->lock);
	if (stream->recorder)
		note_error(stream, recorder_add(stream->recorder, record, size));
	pthread_mutex_unlock(&stream->lock);
	/* The ledger counts malformed records. */
	pipeline_apply(stream->pipeline, record, size);
}

void stream_tick(struct stream *stream, uint64_t now_ns)
{
	pthread_mutex_lock(&stream->lock);
	if (stream->recorder && !stream->recorder_error)
		note_error(stream, recorder_tick(stream->recorder, now_ns));
	pthread_mutex_unlock(&stream->lock);
}

int stream_end_recording(struct stream *stream, struct recorder_stats *stats, uint64_t wait_ns)
{
	uint64_t begin_ns = stream_now_ns();
	int err;

	while (pthread_mutex_trylock(&stream->lock)) {
		if (stream_now_ns() - begin_ns >= wait_ns)
			return -ETIMEDOUT;
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
	}
	err = recorder_close(stream->recorder, stats);
	stream->recorder = NULL;
	pthread_mutex_unlock(&stream->lock);
	return err;
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

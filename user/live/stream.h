/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes every record, the kernel's and the collector's own, into the recording and then into the pipeline. Both see the
 * same records in the same order, so a replay gives the same report.
 *
 * One thread puts records. Another thread may close the recording at any time (stream_end_recording()).
 */
#ifndef GPUMEMTRACE_LIVE_STREAM_H
#define GPUMEMTRACE_LIVE_STREAM_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

struct pipeline;
struct recorder;
struct recorder_stats;

struct stream {
	struct pipeline *pipeline;
	pthread_mutex_t lock;        /* guards the recorder: held while its file is written */
	struct recorder *recorder;   /* NULL: nothing is recorded */
	int recorder_error;          /* -errno of its first failure */
};

void stream_init(struct stream *stream, struct pipeline *pipeline);

void stream_put(struct stream *stream, const void *record, size_t size);

/* Writes what has waited long enough (recorder_tick()). */
void stream_tick(struct stream *stream, uint64_t now_ns);
/* Closes the recording, if there is one: recorder_close(). stats may be NULL. -ETIMEDOUT: the file has been written to
 * for all of `wait_ns`, and is still open. 0 or -errno. */
int stream_end_recording(struct stream *stream, struct recorder_stats *stats, uint64_t wait_ns);

/* Puts a record of the collector's own, with this header. */
void stream_put_own(struct stream *stream, struct gmt_hdr *hdr, const struct gmt_hdr *filled);
#define STREAM_PUT_AT(stream, record, KIND, subject, when)                        \
	stream_put_own(stream, &(record)->hdr, &(struct gmt_hdr){                 \
		.size = sizeof(*(record)), .kind = GMT_KIND_##KIND, .tgid = (subject), .ts_ns = (when) })
#define STREAM_PUT(stream, record, KIND, subject) STREAM_PUT_AT(stream, record, KIND, subject, stream_now_ns())

uint64_t stream_now_ns(void);        /* CLOCK_MONOTONIC, as records are stamped */

#endif

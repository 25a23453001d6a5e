/* SPDX-License-Identifier: BSD-2-Clause */
/* A recording or a dump on its way through a pipeline: the one loop over a file's records. */
#ifndef GPUMEMTRACE_PLAYBACK_H
#define GPUMEMTRACE_PLAYBACK_H

#include <stdbool.h>

#include "progress.h"

struct gmt_hdr;
struct options;
struct pipeline;
struct reader;

struct playback {
	const struct options *options;
	struct pipeline *pipeline;
	struct reader *reader;
	struct progress progress;
	bool is_dump;            /* so far */
	bool is_unread;          /* at the end: nothing of the file could be read */
	char note[512];          /* at the end: what the file lacks; "" */
};

/* Opens options->input. `pipeline` belongs to the playback from now on; NULL: records are only read. False, after a
 * sentence on standard error. Call playback_close() in both cases. */
bool playback_open(struct playback *pb, const struct options *options, struct pipeline *pipeline);
/* The same for an open file, which belongs to the playback from now on. options->input is the name in sentences. */
bool playback_open_fd(struct playback *pb, const struct options *options, struct pipeline *pipeline, int fd);
void playback_close(struct playback *pb);

/* From here on a terminal shows how much of the file has been read, until its end. */
void playback_show(struct playback *pb);

/* Returns the next record, after the pipeline has taken it in. The record is valid until the next call. The ledger
 * counts the records that it refuses, and the report gives their number. NULL: the end, after a sentence about what
 * the file lacks. */
const struct gmt_hdr *playback_next(struct playback *pb);

#endif

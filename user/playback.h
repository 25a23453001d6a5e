/* SPDX-License-Identifier: BSD-2-Clause */
/* A recording or a dump on its way through a pipeline: the one loop over a file's records. */
#ifndef GPUMEMTRACE_PLAYBACK_H
#define GPUMEMTRACE_PLAYBACK_H

#include <stdbool.h>

struct options;
struct pipeline;
struct reader;

#define PLAYBACK_SENTENCE 512

struct playback {
	const struct options *options;
	struct pipeline *pipeline;
	struct reader *reader;
	bool is_dump;            /* so far */
	char note[PLAYBACK_SENTENCE]; /* at the end: what the file lacks; "" */
};

/* Opens options->input. False, after a sentence on standard error. playback_close() in both cases. */
bool playback_open(struct playback *pb, const struct options *options);
void playback_close(struct playback *pb);

/* Takes in the next record; what the ledger refuses it counts, and the report says so. False: that was all, and there
 * is a note. */
bool playback_next(struct playback *pb);

/* Nothing of the file could be read: says so. */
bool playback_failed(const struct playback *pb);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes wire records to a recording (recfile.h). Nothing that was given to it is lost in silence:
 * after a failed write (full disk) it stores no more, cuts the file back to its last whole block,
 * counts what it was given since, and says so in the trailer and in the statistics.
 */
#ifndef GPUMEMTRACE_SOURCE_RECORDER_H
#define GPUMEMTRACE_SOURCE_RECORDER_H

#include <stddef.h>
#include <stdint.h>

struct recorder;

struct recorder_stats {
	uint64_t records;         /* stored */
	uint64_t raw_bytes;
	uint64_t file_bytes;      /* written */
	uint64_t lost_records;
	uint64_t lost_from_ns;    /* ts_ns of the first record that is not in the file */
	int error;                /* -errno of the write that failed; 0: the recording is complete */
};

/* "-" is standard output; else see out_file_open(). 0 or an error that out_file_why() has words for. */
int recorder_open(struct recorder **recorder, const char *path);
int recorder_open_fd(struct recorder **recorder, int fd);   /* the descriptor is the recorder's from now on */

/* Adds whole records. 0; -errno once, when the recording fails; 0 again after that (see stats). */
int recorder_add(struct recorder *recorder, const void *records, size_t size);

/* Writes what has waited longer than a second, so that a crash loses no more than that. Call it about
 * as often as once a second; `now_ns` is CLOCK_MONOTONIC. Returns like recorder_add(). */
int recorder_tick(struct recorder *recorder, uint64_t now_ns);

void recorder_stats(const struct recorder *recorder, struct recorder_stats *stats);

/* Writes the rest and the trailer and frees. `stats` may be NULL. The first error of all, or 0. */
int recorder_close(struct recorder *recorder, struct recorder_stats *stats);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes wire records to a recording (recfile.h). No record is lost in silence: after a failed write (full disk) the
 * recorder stores no more, cuts the file back to its last whole block, counts the records that come, and puts their
 * number into the trailer and the statistics.
 */
#ifndef GPUMEMTRACE_SOURCE_RECORDER_H
#define GPUMEMTRACE_SOURCE_RECORDER_H

#include <stddef.h>
#include <stdint.h>

struct recorder;

struct recorder_stats {
	uint64_t records;         /* stored */
	uint64_t lost_records;
	uint64_t lost_from_ns;    /* ts_ns of the first record that is not in the file */
};

/* Opens a file; "-" is standard output, and out_file_open() opens other paths. 0 or an error for out_file_why(). */
int recorder_open(struct recorder **recorder, const char *path);
int recorder_open_fd(struct recorder **recorder, int fd);   /* the descriptor is the recorder's from now on */

/* Adds whole records. Returns 0; -errno once, when the recording fails; then 0 again (see the statistics). */
int recorder_add(struct recorder *recorder, const void *records, size_t size);

/* Writes records that have waited longer than a second, so that a crash loses no more. Call it about once a second;
 * `now_ns` is CLOCK_MONOTONIC. Returns the same as recorder_add(). */
int recorder_tick(struct recorder *recorder, uint64_t now_ns);

/* Writes the rest and the trailer, and frees the recorder. `stats` may be NULL. Returns 0, or the first error. */
int recorder_close(struct recorder *recorder, struct recorder_stats *stats);

#endif

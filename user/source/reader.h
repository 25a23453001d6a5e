/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a recording (recfile.h) from a file or a pipe. The whole block is checked before its first record is
 * handed out: every record is whole and has at least a header, and its size is a multiple of 8. The ledger checks what
 * each kind of record demands. Reading ends at the first damage, and the rest is counted as dropped. No input makes the
 * reader crash or take more than a few MiB.
 */
#ifndef GPUMEMTRACE_SOURCE_READER_H
#define GPUMEMTRACE_SOURCE_READER_H

#include <stddef.h>
#include <stdint.h>

struct reader;
struct gmt_hdr;

/* X(NAME, text): how a recording ended. The rows between COMPLETE and REFUSED gave no record at all. */
#define READER_ENDS(X)                                                            \
	X(COMPLETE, "complete")                                                   \
	X(NOT_RECORDING, "not a gpumemtrace recording")                           \
	X(BYTE_ORDER, "recorded on a machine of the other byte order")            \
	X(NEWER_MAJOR, "recorded by a newer gpumemtrace, in a format that this version does not know") \
	X(REFUSED, "")                                                            \
	X(TRUNCATED, "the file is cut off")                                       \
	X(NO_TRAILER, "the file was not closed")                                  \
	X(CORRUPT, "the file is damaged")                                         \
	X(WRITER_FAILED, "the recorder could not write everything")               \
	X(IO_ERROR, "the file could not be read to the end")
enum reader_end {
#define X(name, text) READER_##name,
	READER_ENDS(X)
#undef X
};

struct reader_status {
	enum reader_end end;
	uint16_t major, minor;
	uint64_t blocks;
	uint64_t records;        /* handed out */
	uint64_t read_bytes;     /* of the file, used */
	uint64_t dropped_bytes;  /* of the file, not used */
	uint64_t lost_records;   /* WRITER_FAILED: records that the recorder could not store */
	uint64_t lost_from_ns;   /* CLOCK_MONOTONIC of the recorder; 0 unknown */
	int error;               /* IO_ERROR, WRITER_FAILED: -errno */
};

/* Opens a file; "-" is standard input. 0 or -errno. The status says what is wrong with the contents. */
int reader_open(struct reader **reader, const char *path);
int reader_open_fd(struct reader **reader, int fd);   /* the descriptor is the reader's from now on */
void reader_close(struct reader *reader);

/* The next record, good until the next call. NULL: the reading has ended, and the status says how. */
const struct gmt_hdr *reader_next(struct reader *reader);

/* The size of the file; 0: it is a pipe. */
uint64_t reader_file_bytes(const struct reader *reader);

const struct reader_status *reader_status(const struct reader *reader);

/* True if the recording gave no records because it is no recording that this version reads. */
int reader_refused(const struct reader_status *status);

/* One sentence about the missing part, with numbers; "" if nothing is missing. At most `size` bytes. */
void reader_describe(const struct reader_status *status, char *text, size_t size);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <gpumemtrace/recfile.h>
#include <gpumemtrace/wire.h>

#include "base/xalloc.h"
#include "base/human.h"

struct reader {
	int fd;
	bool ended;
	struct reader_status status;
	uint32_t sequence;
	uint32_t used, size;       /* bytes of raw[]: handed out, and all */
	ZSTD_DCtx *zstd;
	uint8_t *data;             /* GMT_REC_DATA_MAX, compressed */
	uint8_t *raw;              /* GMT_REC_RAW_MAX, records */
};

/* Reads `size` bytes, or fewer at the end of the input. Returns their number, or -errno. */
static ssize_t read_input(struct reader *r, void *to, size_t size)
{
	size_t got = 0;

	while (got < size) {
		ssize_t n = read(r->fd, (uint8_t *)to + got, size - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		got += n;
	}
	return got;
}

/* The bytes that are left. A file of few blocks on a disk may have terabytes: they are not read. */
static uint64_t unread_bytes(struct reader *r)
{
	off_t at = lseek(r->fd, 0, SEEK_CUR);
	uint64_t bytes = 0;
	struct stat st;
	ssize_t n;

	if (at >= 0 && !fstat(r->fd, &st) && S_ISREG(st.st_mode))
		return st.st_size > at ? (uint64_t)(st.st_size - at) : 0;
	while ((n = read_input(r, r->data, GMT_REC_DATA_MAX)) > 0)
		bytes += (uint64_t)n;
	return bytes;
}

uint64_t reader_file_bytes(const struct reader *r)
{
	struct stat st;

	return !fstat(r->fd, &st) && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

/* Ends the reading, and counts the bytes that are left as dropped, with `pending` bytes that were read but not used. */
static void end_reading(struct reader *r, enum reader_end how, uint64_t pending)
{
	r->ended = true;
	r->status.end = how;
	r->status.dropped_bytes = pending;
	if (how == READER_COMPLETE || how == READER_IO_ERROR || reader_refused(&r->status))
		return;
	r->status.dropped_bytes += unread_bytes(r);
}

static void end_io(struct reader *r, ssize_t err)
{
	r->status.error = (int)err;
	end_reading(r, READER_IO_ERROR, 0);
}

/* True: all bytes came. False: the reading has ended. */
static bool take_all(struct reader *r, void *to, size_t size, uint64_t pending)
{
	ssize_t n = read_input(r, to, size);

	if (n < 0)
		end_io(r, n);
	else if ((size_t)n < size)
		end_reading(r, READER_TRUNCATED, pending + n);
	return n >= 0 && (size_t)n == size;
}

static enum reader_end judge_header(const struct gmt_rec_header *header)
{
	if (memcmp(header->magic, GMT_REC_MAGIC, GMT_REC_MAGIC_BYTES))
		return READER_NOT_RECORDING;
	if (header->byte_order == __builtin_bswap32(GMT_REC_BYTE_ORDER))
		return READER_BYTE_ORDER;
	if (header->byte_order != GMT_REC_BYTE_ORDER || !header->major)
		return READER_NOT_RECORDING;
	if (header->major > GMT_REC_MAJOR)
		return READER_NEWER_MAJOR;
	if (header->header_bytes < sizeof(*header) || header->header_bytes > GMT_REC_RAW_MAX)
		return READER_NOT_RECORDING;
	return READER_COMPLETE;
}

static void read_header(struct reader *r)
{
	struct gmt_rec_header header = { 0 };
	ssize_t n = read_input(r, &header, sizeof(header));
	enum reader_end verdict;

	if (n < 0) {
		end_io(r, n);
		return;
	}
	if ((size_t)n < sizeof(header)) {
		bool ours =
			n >= GMT_REC_MAGIC_BYTES && !memcmp(header.magic, GMT_REC_MAGIC, GMT_REC_MAGIC_BYTES);

		end_reading(r, ours ? READER_TRUNCATED : READER_NOT_RECORDING, n);
		return;
	}
	verdict = judge_header(&header);
	r->status.major = header.major;
	r->status.minor = header.minor;
	if (verdict != READER_COMPLETE) {
		end_reading(r, verdict, n);
		return;
	}
	/* Skips fields that a newer minor version has added. */
	if (take_all(r, r->raw, header.header_bytes - sizeof(header), n))
		r->status.read_bytes = header.header_bytes;
}

int reader_open_fd(struct reader **reader, int fd)
{
	struct reader *r = xcalloc(1, sizeof(*r));

	r->fd = fd;
	r->data = xmalloc(GMT_REC_DATA_MAX);
	r->raw = xmalloc(GMT_REC_RAW_MAX);
	r->zstd = ZSTD_createDCtx();
	if (!r->zstd) {
		reader_close(r);
		return -ENOMEM;
	}
	read_header(r);
	*reader = r;
	return 0;
}

int reader_open(struct reader **reader, const char *path)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC)
				   : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);

	if (fd < 0)
		return -errno;
	return reader_open_fd(reader, fd);
}

void reader_close(struct reader *r)
{
	if (!r)
		return;
	close(r->fd);
	ZSTD_freeDCtx(r->zstd);
	free(r->data);
	free(r->raw);
	free(r);
}

static bool block_header_ok(const struct reader *r, const struct gmt_rec_block *block)
{
	return block->magic == GMT_REC_BLOCK_MAGIC && block->check == gmt_rec_check(block) &&
	       block->sequence == r->sequence && block->data_bytes <= GMT_REC_DATA_MAX &&
	       block->raw_bytes <= GMT_REC_RAW_MAX;
}

/* Decompresses data[] into raw[]. False: the bytes are not exactly as many as the header promised. */
static bool unpack_block(struct reader *r, const struct gmt_rec_block *block)
{
	size_t n = ZSTD_decompressDCtx(r->zstd, r->raw, block->raw_bytes, r->data, block->data_bytes);

	return !ZSTD_isError(n) && n == block->raw_bytes;
}

/* Whether raw[] has only whole records, as many as the header promised. */
static bool records_ok(const struct reader *r, const struct gmt_rec_block *block)
{
	uint32_t at = 0, count = 0;

	while (at < block->raw_bytes) {
		struct gmt_hdr hdr;

		if (block->raw_bytes - at < sizeof(hdr))
			return false;
		memcpy(&hdr, r->raw + at, sizeof(hdr));
		if (hdr.size < sizeof(hdr) || hdr.size % 8 || hdr.size > block->raw_bytes - at)
			return false;
		at += hdr.size;
		count++;
	}
	return count == block->records;
}

static bool take_records(struct reader *r, const struct gmt_rec_block *block)
{
	if (!unpack_block(r, block) || !records_ok(r, block))
		return false;
	r->used = 0;
	r->size = block->raw_bytes;
	r->status.blocks++;
	r->status.records += block->records;
	return true;
}

static bool take_trailer(struct reader *r, const struct gmt_rec_block *block)
{
	struct gmt_rec_trailer trailer = { 0 };
	uint8_t extra;

	if (block->raw_bytes < sizeof(trailer) || !unpack_block(r, block))
		return false;
	memcpy(&trailer, r->raw, sizeof(trailer));
	if (trailer.blocks != r->status.blocks || trailer.records != r->status.records)
		return false;
	r->status.lost_records = trailer.lost_records;
	r->status.lost_from_ns = trailer.lost_from_ns;
	r->status.error = -(int)(trailer.error & 0xfff);
	if (trailer.error || trailer.lost_records)
		end_reading(r, READER_WRITER_FAILED, 0);
	else if (read_input(r, &extra, 1) > 0)
		end_reading(r, READER_CORRUPT, 1);
	else
		end_reading(r, READER_COMPLETE, 0);
	return true;
}

/* Reads blocks until a block has records, or until the end. */
static void next_block(struct reader *r)
{
	r->used = r->size = 0;
	while (!r->ended && !r->size) {
		struct gmt_rec_block block;
		ssize_t n = read_input(r, &block, sizeof(block));
		uint64_t bytes = sizeof(block);
		bool ok = true;

		if (n < 0) {
			end_io(r, n);
			return;
		}
		if ((size_t)n < sizeof(block)) {
			end_reading(r, n ? READER_TRUNCATED : READER_NO_TRAILER, n);
			return;
		}
		if (!block_header_ok(r, &block)) {
			end_reading(r, READER_CORRUPT, bytes);
			return;
		}
		if (!take_all(r, r->data, block.data_bytes, bytes))
			return;
		bytes += block.data_bytes;
		if (block.type == GMT_REC_RECORDS)
			ok = take_records(r, &block);
		else if (block.type == GMT_REC_TRAILER)
			ok = take_trailer(r, &block);
		/* A block of another type is from a newer minor version. */
		if (!ok) {
			end_reading(r, READER_CORRUPT, bytes);
			return;
		}
		r->sequence++;
		r->status.read_bytes += bytes;
	}
}

const struct gmt_hdr *reader_next(struct reader *r)
{
	const struct gmt_hdr *hdr;

	if (r->used == r->size) {
		next_block(r);
		if (r->used == r->size)
			return NULL;
	}
	/* Sizes are multiples of 8 and malloc() aligns to 16: hdr is aligned. */
	hdr = (const struct gmt_hdr *)(r->raw + r->used);
	r->used += hdr->size;
	return hdr;
}

const struct reader_status *reader_status(const struct reader *r)
{
	return &r->status;
}

int reader_refused(const struct reader_status *status)
{
	return status->end > READER_COMPLETE && status->end < READER_REFUSED;
}

void reader_describe(const struct reader_status *status, char *text, size_t size)
{
	static const char *const texts[] = {
#define X(name, text) text,
		READER_ENDS(X)
#undef X
	};
	const char *why = texts[status->end];
	char kept[96];

	snprintf(kept, sizeof(kept), "%s %s read", human_count(status->records).s,
		 human_plural(status->records, "record was", "records were"));
	text[0] = '\0';
	if (status->end == READER_COMPLETE)
		return;
	if (status->end == READER_NEWER_MAJOR)
		snprintf(text, size, "%s (version %u.%u; this gpumemtrace reads up to %u.x)", why, status->major,
			 status->minor, GMT_REC_MAJOR);
	else if (reader_refused(status))
		snprintf(text, size, "%s", why);
	else if (status->end == READER_WRITER_FAILED)
		snprintf(text, size, "the recording is incomplete: %s (%s); %s %s lost", why,
			 strerror(-status->error), human_count(status->lost_records).s,
			 human_plural(status->lost_records, "record was", "records were"));
	else if (status->end == READER_IO_ERROR && !status->records)
		snprintf(text, size, "the file could not be read (%s)", strerror(-status->error));
	else if (status->end == READER_IO_ERROR)
		snprintf(text, size, "the recording is incomplete: %s (%s); %s", why,
			 strerror(-status->error), kept);
	else if (status->dropped_bytes)
		snprintf(text, size,
			 "the recording is incomplete: %s; %s, %s %s at its end could not be used", why,
			 kept, human_count(status->dropped_bytes).s,
			 human_plural(status->dropped_bytes, "byte", "bytes"));
	else
		snprintf(text, size, "the recording is incomplete: %s; %s", why, kept);
}

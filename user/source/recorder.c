/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#include <zstd.h>

#include <gpumemtrace/recfile.h>
#include <gpumemtrace/wire.h>

#include "base/xalloc.h"
#include "base/out.h"
#include "base/out_file.h"

#define BLOCK_RAW_BYTES (256u << 10)  /* small enough to lose little, large enough for zstd */
#define BLOCK_WAIT_NS 1000000000ll
#define ZSTD_LEVEL 1                  /* the fastest: the collector shares cores with the target */

_Static_assert(BLOCK_RAW_BYTES >= UINT16_MAX && BLOCK_RAW_BYTES <= GMT_REC_RAW_MAX,
	       "a block holds any record");

struct recorder {
	int fd;
	bool failed;
	bool has_told;                /* the failure was returned once */
	off_t whole_bytes;            /* end of the last whole block */
	uint32_t sequence;
	uint32_t raw_used, raw_records;
	uint64_t raw_last_ns;         /* time of the newest record in raw[] */
	uint64_t raw_first_ns;        /* time of the first record in raw[] */
	struct gmt_rec_trailer totals;
	ZSTD_CCtx *zstd;
	size_t frame_room;
	uint8_t *frame;               /* block header and data, one write */
	uint8_t raw[BLOCK_RAW_BYTES];
};

static int write_header(struct recorder *r)
{
	struct gmt_rec_header header = {
		.byte_order = GMT_REC_BYTE_ORDER,
		.major = GMT_REC_MAJOR,
		.minor = GMT_REC_MINOR,
		.header_bytes = sizeof(header),
	};
	int err;

	memcpy(header.magic, GMT_REC_MAGIC, GMT_REC_MAGIC_BYTES);
	err = out_write_fd(r->fd, &header, sizeof(header));
	if (!err)
		r->whole_bytes = sizeof(header);
	return err;
}

int recorder_open_fd(struct recorder **recorder, int fd)
{
	struct recorder *r = xcalloc(1, sizeof(*r));
	int err;

	r->fd = fd;
	r->frame_room = sizeof(struct gmt_rec_block) + ZSTD_compressBound(BLOCK_RAW_BYTES);
	r->frame = xmalloc(r->frame_room);
	r->zstd = ZSTD_createCCtx();
	err = r->zstd ? write_header(r) : -ENOMEM;
	if (err) {
		ZSTD_freeCCtx(r->zstd);
		free(r->frame);
		free(r);
		close(fd);
		return err;
	}
	ZSTD_CCtx_setParameter(r->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	ZSTD_CCtx_setParameter(r->zstd, ZSTD_c_checksumFlag, 1);
	*recorder = r;
	return 0;
}

int recorder_open(struct recorder **recorder, const char *path)
{
	int fd;

	if (strcmp(path, "-"))
		fd = out_file_open(path, false);
	else if ((fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)) < 0)
		fd = -errno;
	return fd < 0 ? fd : recorder_open_fd(recorder, fd);
}

/* Compresses and writes one block. 0 or -errno. */
static int write_block(struct recorder *r, enum gmt_rec_type type, const void *raw, uint32_t raw_bytes)
{
	struct gmt_rec_block block = {
		.magic = GMT_REC_BLOCK_MAGIC,
		.type = type,
		.sequence = r->sequence,
		.raw_bytes = raw_bytes,
		.records = type == GMT_REC_RECORDS ? r->raw_records : 0,
		.last_ts_ns = r->raw_last_ns,
	};
	size_t size = ZSTD_compress2(r->zstd, r->frame + sizeof(block), r->frame_room - sizeof(block), raw,
				     raw_bytes);
	int err;

	if (ZSTD_isError(size))
		return -EIO;
	block.data_bytes = (uint32_t)size;
	block.check = gmt_rec_check(&block);
	memcpy(r->frame, &block, sizeof(block));
	err = out_write_fd(r->fd, r->frame, sizeof(block) + size);
	if (err)
		return err;
	r->whole_bytes += sizeof(block) + size;
	r->sequence++;
	return 0;
}

static void forget_raw(struct recorder *r)
{
	r->raw_used = 0;
	r->raw_records = 0;
}

static void fail_recording(struct recorder *r, int err)
{
	r->failed = true;
	r->totals.error = (uint32_t)-err;
	r->totals.lost_records = r->raw_records;
	r->totals.lost_from_ns = r->raw_first_ns;
	forget_raw(r);
	/* Cuts off the part of a block that still fitted on a full disk, so that the trailer may fit. On a pipe,
	 * neither call works, and the reader rightly sees a truncated file. */
	if (!ftruncate(r->fd, r->whole_bytes))
		lseek(r->fd, r->whole_bytes, SEEK_SET);
}

static void flush_raw(struct recorder *r)
{
	int err;

	if (r->failed || !r->raw_used)
		return;
	err = write_block(r, GMT_REC_RECORDS, r->raw, r->raw_used);
	if (err) {
		fail_recording(r, err);
		return;
	}
	r->totals.blocks++;
	r->totals.records += r->raw_records;
	r->totals.raw_bytes += r->raw_used;
	forget_raw(r);
}

static int tell_once(struct recorder *r)
{
	if (!r->failed || r->has_told)
		return 0;
	r->has_told = true;
	return -(int)r->totals.error;
}

static void add_to_block(struct recorder *r, const struct gmt_hdr *hdr)
{
	if (r->raw_used + hdr->size > BLOCK_RAW_BYTES)
		flush_raw(r);
	if (r->failed) {
		r->totals.lost_records++;
		return;
	}
	if (!r->raw_used) {
		r->raw_first_ns = hdr->ts_ns;
		r->raw_last_ns = 0;
	}
	memcpy(r->raw + r->raw_used, hdr, hdr->size);
	r->raw_used += hdr->size;
	r->raw_records++;
	if (hdr->ts_ns > r->raw_last_ns)
		r->raw_last_ns = hdr->ts_ns;
}

int recorder_add(struct recorder *r, const void *records, size_t size)
{
	const uint8_t *p = records;

	while (size) {
		const struct gmt_hdr *hdr = (const struct gmt_hdr *)p;

		if (size < sizeof(*hdr) || hdr->size < sizeof(*hdr) || hdr->size % 8 || hdr->size > size)
			return -EINVAL;
		add_to_block(r, hdr);
		p += hdr->size;
		size -= hdr->size;
	}
	return tell_once(r);
}

int recorder_tick(struct recorder *r, uint64_t now_ns)
{
	if (r->raw_used && (int64_t)(now_ns - r->raw_first_ns) >= BLOCK_WAIT_NS)
		flush_raw(r);
	return tell_once(r);
}

int recorder_close(struct recorder *r, struct recorder_stats *stats)
{
	int err;

	if (!r)
		return 0;
	flush_raw(r);
	err = write_block(r, GMT_REC_TRAILER, &r->totals, sizeof(r->totals));
	/* Network file systems and quotas may report an error as late as here. */
	if (close(r->fd) && !err)
		err = -errno;
	if (!r->totals.error && err)
		r->totals.error = (uint32_t)-err;
	err = -(int)r->totals.error;
	if (stats)
		*stats = (struct recorder_stats){
			.records = r->totals.records,
			.lost_records = r->totals.lost_records,
			.lost_from_ns = r->totals.lost_from_ns,
		};
	ZSTD_freeCCtx(r->zstd);
	free(r->frame);
	free(r);
	return err;
}

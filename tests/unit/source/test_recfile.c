/* SPDX-License-Identifier: BSD-2-Clause */
/* The recording: what goes in comes out, and no damage is fatal or silent. */
#include "golden.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gpumemtrace/recfile.h>
#include <gpumemtrace/wire.h>

#include "base/xalloc.h"
#include "base/out.h"
#include "core/pipeline/pipeline.h"
#include "core/view/view.h"
#include "sink/sink.h"
#include "memory_fd.h"
#include "patience.h"
#include "sinks.h"
#include "source/reader.h"
#include "source/recorder.h"

#define RECORDS 40000

struct image {
	uint8_t *data;
	size_t size;
};

/* Record number i of every test: of several sizes, its words made from i. */
static size_t make_record(uint64_t *words, uint64_t i)
{
	struct gmt_hdr *hdr = (struct gmt_hdr *)words;
	size_t size = sizeof(*hdr) + i % 7 * 8;

	*hdr = (struct gmt_hdr){.size = size, .kind = GMT_KIND_CALL, .tgid = 42, .tid = i, .ts_ns = 1000 + i};
	for (size_t w = sizeof(*hdr) / 8; w < size / 8; w++)
		words[w] = i * 0x9e3779b97f4a7c15ull + w;
	return size;
}

static struct image slurp(int fd)
{
	struct image image = { .size = lseek(fd, 0, SEEK_END) };

	image.data = xmalloc(image.size);
	assert_int_equal(pread(fd, image.data, image.size, 0), image.size);
	return image;
}

static void record_some(struct recorder *rec, uint64_t from, uint64_t to)
{
	uint64_t words[16];

	for (uint64_t i = from; i < to; i++)
		assert_int_equal(recorder_add(rec, words, make_record(words, i)), 0);
}

/* A closed recording of `count` records. */
static struct image make_image(uint64_t count)
{
	int fd = memfd_create("recording", 0), mine = dup(fd);
	struct recorder_stats stats;
	struct recorder *rec;
	struct image image;

	assert_int_equal(recorder_open_fd(&rec, fd), 0);
	record_some(rec, 0, count);
	assert_int_equal(recorder_close(rec, &stats), 0);
	assert_int_equal(stats.records, count);
	image = slurp(mine);
	close(mine);
	return image;
}

/* Reads all of it; each record must be the next one of the sequence. */
static struct reader_status read_all(const void *data, size_t size)
{
	struct reader_status status;
	const struct gmt_hdr *hdr;
	struct reader *reader;
	uint64_t words[16], count = 0;

	assert_int_equal(reader_open_fd(&reader, memory_fd(data, size)), 0);
	while ((hdr = reader_next(reader))) {
		assert_int_equal(hdr->size, make_record(words, count++));
		assert_memory_equal(hdr, words, hdr->size);
	}
	assert_null(reader_next(reader));
	status = *reader_status(reader);
	assert_int_equal(status.records, count);
	reader_close(reader);
	return status;
}

static void assert_says(const struct reader_status *status, const char *part)
{
	char text[512];

	reader_describe(status, text, sizeof(text));
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static void test_round_trip(void **state)
{
	struct image image = make_image(RECORDS);
	struct reader_status status = read_all(image.data, image.size);
	char text[64];

	(void)state;
	assert_int_equal(status.end, READER_COMPLETE);
	assert_int_equal(status.records, RECORDS);
	assert_true(status.blocks > 3);
	assert_int_equal(status.dropped_bytes, 0);
	assert_int_equal(status.read_bytes, image.size);
	reader_describe(&status, text, sizeof(text));
	assert_string_equal(text, "");
	free(image.data);
}

static void test_empty(void **state)
{
	struct image image = make_image(0);
	struct reader_status status = read_all(image.data, image.size);

	(void)state;
	assert_int_equal(status.end, READER_COMPLETE);
	assert_int_equal(status.records, 0);
	free(image.data);
}

/* Each offset near the ends, where the headers are, and some between. */
static size_t next_offset(const struct image *image, size_t at)
{
	size_t tail = image->size - 150;

	if (at < 200 || at >= tail)
		return at + 1;
	return at + 997 < tail ? at + 997 : tail;
}

/* The records of the blocks before the cut, wherever it is, and a word about the rest. */
static void test_truncated_anywhere(void **state)
{
	struct image image = make_image(RECORDS);
	uint64_t before = 0;

	(void)state;
	for (size_t size = 0; size < image.size; size = next_offset(&image, size)) {
		struct reader_status status = read_all(image.data, size);

		if (size < 8)
			assert_int_equal(status.end, READER_NOT_RECORDING);
		else
			assert_true(status.end == READER_TRUNCATED || status.end == READER_NO_TRAILER);
		if (size >= 24)
			assert_int_equal(status.read_bytes + status.dropped_bytes, size);
		assert_true(status.records >= before);
		before = status.records;
	}
	assert_int_equal(before, RECORDS); /* only the trailer missing */
	struct reader_status status = read_all(image.data, image.size - 1);
	assert_says(&status, "the file is cut off; 40,000 records were read, ");
	free(image.data);
}

/* A flipped bit anywhere is found: never a wrong record (read_all compares), never called complete.
 * (Bit 3, because bit 4 of a zstd frame's descriptor means nothing: RFC 8878, 3.1.1.1.1.3.) */
static void test_corrupt_anywhere(void **state)
{
	struct image image = make_image(RECORDS);

	(void)state;
	for (size_t at = 0; at < image.size; at = next_offset(&image, at)) {
		struct reader_status status;

		/* minor version and reserved: free for the future */
		if ((at >= 14 && at < 16) || (at >= 20 && at < 24))
			continue;
		image.data[at] ^= 0x08;
		status = read_all(image.data, image.size);
		assert_int_not_equal(status.end, READER_COMPLETE);
		image.data[at] ^= 0x08;
	}
	free(image.data);
}

static void test_missing_block(void **state)
{
	struct image image = make_image(RECORDS);
	struct gmt_rec_block block;
	struct reader_status status;
	size_t first = sizeof(struct gmt_rec_header), next;

	(void)state;
	memcpy(&block, image.data + first, sizeof(block));
	next = first + sizeof(block) + block.data_bytes;
	memmove(image.data + first, image.data + next, image.size - next);
	status = read_all(image.data, image.size - (next - first));
	assert_int_equal(status.end, READER_CORRUPT);
	assert_int_equal(status.records, 0);
	free(image.data);
}

static void test_bytes_after_the_end(void **state)
{
	struct image image = make_image(100);
	struct reader_status status;

	(void)state;
	image.data = xrealloc(image.data, image.size + 7);
	memset(image.data + image.size, 'x', 7);
	status = read_all(image.data, image.size + 7);
	assert_int_equal(status.end, READER_CORRUPT);
	assert_int_equal(status.records, 100);
	assert_int_equal(status.dropped_bytes, 7);
	assert_says(&status, "7 bytes at its end could not be used");
	free(image.data);
}

/* Somebody's file takes a block on the disk and looks like petabytes. */
static void test_a_long_hole(void **state)
{
	const off_t hole = (off_t)1 << 52;
	struct image image = make_image(100);
	int fd = memory_fd(image.data, image.size);
	struct reader *reader;

	(void)state;
	if (ftruncate(fd, (off_t)image.size + hole))
		skip();
	alarm(PATIENCE);
	assert_int_equal(reader_open_fd(&reader, fd), 0);
	while (reader_next(reader))
		;
	assert_int_equal(reader_status(reader)->records, 100);
	assert_int_equal(reader_status(reader)->end, READER_CORRUPT);
	assert_int_equal(reader_status(reader)->dropped_bytes, hole);
	reader_close(reader);
	alarm(0);
	free(image.data);
}

static void test_versions(void **state)
{
	struct image image = make_image(100);
	struct gmt_rec_header *header = (struct gmt_rec_header *)image.data;
	struct reader_status status;
	uint8_t *longer;

	(void)state;
	header->minor = 9;
	status = read_all(image.data, image.size);
	assert_int_equal(status.end, READER_COMPLETE);
	assert_int_equal(status.minor, 9);
	/* a newer minor's longer header */
	longer = xcalloc(1, image.size + 40);
	header->header_bytes += 40;
	memcpy(longer, image.data, sizeof(*header));
	memcpy(longer + sizeof(*header) + 40, image.data + sizeof(*header), image.size - sizeof(*header));
	status = read_all(longer, image.size + 40);
	assert_int_equal(status.end, READER_COMPLETE);
	assert_int_equal(status.records, 100);
	header->major = GMT_REC_MAJOR + 1;
	status = read_all(image.data, image.size);
	assert_int_equal(status.end, READER_NEWER_MAJOR);
	assert_true(reader_refused(&status));
	assert_says(&status, "newer gpumemtrace");
	header->byte_order = __builtin_bswap32(header->byte_order);
	status = read_all(image.data, image.size);
	assert_int_equal(status.end, READER_BYTE_ORDER);
	assert_says(&status, "other byte order");
	free(longer);
	free(image.data);
}

/* A block of a type that a newer minor invented, between the header and the others. */
static void test_unknown_block_type(void **state)
{
	struct image image = make_image(0);
	struct gmt_rec_block block = { .magic = GMT_REC_BLOCK_MAGIC, .type = 77, .data_bytes = 5 }, trailer;
	size_t head = sizeof(struct gmt_rec_header);
	uint8_t *more = xmalloc(image.size + sizeof(block) + 5);
	struct reader_status status;

	(void)state;
	block.check = gmt_rec_check(&block);
	memcpy(&trailer, image.data + head, sizeof(trailer));
	trailer.sequence = 1;
	trailer.check = gmt_rec_check(&trailer);
	memcpy(image.data + head, &trailer, sizeof(trailer));
	memcpy(more, image.data, head);
	memcpy(more + head, &block, sizeof(block));
	memset(more + head + sizeof(block), 'x', 5);
	memcpy(more + head + sizeof(block) + 5, image.data + head, image.size - head);
	status = read_all(more, image.size + sizeof(block) + 5);
	assert_int_equal(status.end, READER_COMPLETE);
	free(more);
	free(image.data);
}

static void test_not_a_recording(void **state)
{
	static const char text[] = "\x89PNG\r\n\x1a\n and so on for a while, longer than a header";
	struct reader_status status = read_all(text, sizeof(text));

	(void)state;
	assert_int_equal(status.end, READER_NOT_RECORDING);
	assert_true(reader_refused(&status));
	status = read_all("", 0);
	assert_int_equal(status.end, READER_NOT_RECORDING);
}

/* Random bytes with right headers: the decompressor and the record walk see the worst. */
static void test_random_blocks(void **state)
{
	uint64_t rng = 88172645463325252ull;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		struct image image = make_image(round % 50 ? 40 : 9000);
		struct gmt_rec_block *block =
			(struct gmt_rec_block *)(image.data + sizeof(struct gmt_rec_header));
		struct reader *reader;

		for (int flips = 0; flips < 3; flips++) {
			rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
			image.data[sizeof(struct gmt_rec_header) +
				   rng % (image.size - sizeof(struct gmt_rec_header))] ^= rng >> 32;
		}
		if (round % 3 == 0)
			block->raw_bytes = rng % (GMT_REC_RAW_MAX + 9);
		block->magic = GMT_REC_BLOCK_MAGIC;
		block->sequence = 0;
		block->check = gmt_rec_check(block);
		assert_int_equal(reader_open_fd(&reader, memory_fd(image.data, image.size)), 0);
		for (const struct gmt_hdr *hdr; (hdr = reader_next(reader));)
			assert_true(hdr->size >= sizeof(*hdr) && hdr->size % 8 == 0);
		reader_close(reader);
		free(image.data);
	}
}

/* What a crash of the collector leaves: everything but the last second. */
static void test_a_block_every_second(void **state)
{
	int fd = memfd_create("recording", 0), mine = dup(fd);
	struct reader_status status;
	struct recorder *rec;
	struct image image;

	(void)state;
	assert_int_equal(recorder_open_fd(&rec, fd), 0);
	record_some(rec, 0, 10);
	assert_int_equal(recorder_tick(rec, 1000 + 999999999), 0);
	image = slurp(mine);
	assert_int_equal(image.size, sizeof(struct gmt_rec_header));
	free(image.data);
	assert_int_equal(recorder_tick(rec, 1000 + 1000000000), 0);
	image = slurp(mine);
	status = read_all(image.data, image.size);
	assert_int_equal(status.end, READER_NO_TRAILER);
	assert_int_equal(status.records, 10);
	assert_says(&status, "the file was not closed");
	free(image.data);
	recorder_close(rec, NULL);
	close(mine);
}

/* A file that may not grow beyond a limit stands for a full disk. */
static void test_full_disk(void **state)
{
	struct rlimit limit, old;
	struct recorder_stats stats;
	struct reader_status status;
	struct recorder *rec;
	struct image image;
	uint64_t words[16];
	int fd = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600), mine = dup(fd), told = 0;

	(void)state;
	if (fd < 0)
		skip();
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = (struct rlimit){ .rlim_cur = 200000, .rlim_max = old.rlim_max };
	assert_int_equal(recorder_open_fd(&rec, fd), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (uint64_t i = 0; i < RECORDS; i++) {
		int err = recorder_add(rec, words, make_record(words, i));

		assert_true(err == 0 || err == -EFBIG);
		told += err != 0;
	}
	assert_int_equal(told, 1);
	assert_int_equal(recorder_close(rec, &stats), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	image = slurp(mine);
	status = read_all(image.data, image.size);
	assert_int_equal(status.end, READER_WRITER_FAILED);
	assert_int_equal(status.records, stats.records);
	assert_int_equal(stats.records + stats.lost_records, RECORDS);
	assert_int_equal(status.lost_records, stats.lost_records);
	assert_int_equal(stats.lost_from_ns, 1000 + stats.records);
	assert_int_equal(status.lost_from_ns, stats.lost_from_ns);
	assert_says(&status, "File too large");
	free(image.data);
	close(mine);
}

static void test_dev_full(void **state)
{
	struct recorder *rec;

	(void)state;
	if (access("/dev/full", W_OK))
		skip();
	assert_int_equal(recorder_open(&rec, "/dev/full"), -ENOSPC);
	assert_int_equal(recorder_open(&rec, "/nonexistent/x.gmt"), -ENOENT);
}

static void test_bad_records_are_refused(void **state)
{
	uint64_t words[16];
	struct gmt_hdr *hdr = (struct gmt_hdr *)words;
	struct recorder *rec;

	(void)state;
	assert_int_equal(recorder_open(&rec, "/dev/null"), 0);
	make_record(words, 0);
	hdr->size = 25;
	assert_int_equal(recorder_add(rec, words, 32), -EINVAL);
	hdr->size = 40;
	assert_int_equal(recorder_add(rec, words, 32), -EINVAL);
	hdr->size = 0;
	assert_int_equal(recorder_add(rec, words, 32), -EINVAL);
	assert_int_equal(recorder_close(rec, NULL), 0);
}

/* Through a pipe, with a reader at the other end. */
static void test_pipe(void **state)
{
	const struct gmt_hdr *hdr;
	struct recorder *rec;
	struct reader *reader;
	uint64_t count = 0;
	int fds[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(fds[0]);
		if (recorder_open_fd(&rec, fds[1]))
			_exit(1);
		record_some(rec, 0, RECORDS);
		_exit(recorder_close(rec, NULL) ? 1 : 0);
	}
	close(fds[1]);
	assert_int_equal(reader_open_fd(&reader, fds[0]), 0);
	while ((hdr = reader_next(reader)))
		count++;
	assert_int_equal(count, RECORDS);
	assert_int_equal(reader_status(reader)->end, READER_COMPLETE);
	reader_close(reader);
}

static void test_directory(void **state)
{
	struct reader *reader;

	(void)state;
	assert_int_equal(reader_open(&reader, "/nonexistent.gmt"), -ENOENT);
	assert_int_equal(reader_open(&reader, "/tmp"), 0);
	assert_null(reader_next(reader));
	assert_int_equal(reader_status(reader)->end, READER_IO_ERROR);
	assert_says(reader_status(reader), "Is a directory");
	reader_close(reader);
}

/* All that can be known of a ledger, as text. */
static char *everything(const struct pipeline *pipeline)
{
	struct view view;
	struct out out;

	out_init_mem(&out);
	view_build(pipeline, NULL, &view);
	sink_find("json")->report(&out, &view, &(struct sink_opts){ 0 });
	view_free(&view);
	return out_take(&out);
}

/* Live, records go to the ledger and to the recorder: a replay must give the same. */
static void test_replay_gives_the_same_report(void **state)
{
	struct pipeline *live = pipeline_new(NULL), *replayed = pipeline_new(NULL);
	int fd = memfd_create("recording", 0), mine = dup(fd);
	const struct gmt_hdr *hdr;
	struct recorder *rec;
	struct reader *reader;
	char *a, *b;

	(void)state;
	assert_int_equal(reader_open(&reader, "tests/data/h200x2-ioctls-native.gmt"), 0);
	assert_int_equal(recorder_open_fd(&rec, fd), 0);
	while ((hdr = reader_next(reader))) {
		pipeline_apply(live, hdr, hdr->size);
		assert_int_equal(recorder_add(rec, hdr, hdr->size), 0);
	}
	assert_true(reader_status(reader)->records > 100);
	reader_close(reader);
	assert_int_equal(recorder_close(rec, NULL), 0);
	lseek(mine, 0, SEEK_SET);
	assert_int_equal(reader_open_fd(&reader, mine), 0);
	while ((hdr = reader_next(reader)))
		pipeline_apply(replayed, hdr, hdr->size);
	assert_int_equal(reader_status(reader)->end, READER_COMPLETE);
	reader_close(reader);
	a = everything(live);
	b = everything(replayed);
	assert_string_equal(a, b);
	free(a);
	free(b);
	pipeline_free(live);
	pipeline_free(replayed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_truncated_anywhere),
		cmocka_unit_test(test_corrupt_anywhere),
		cmocka_unit_test(test_missing_block),
		cmocka_unit_test(test_bytes_after_the_end),
		cmocka_unit_test(test_a_long_hole),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_unknown_block_type),
		cmocka_unit_test(test_not_a_recording),
		cmocka_unit_test(test_random_blocks),
		cmocka_unit_test(test_a_block_every_second),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_dev_full),
		cmocka_unit_test(test_bad_records_are_refused),
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_directory),
		cmocka_unit_test(test_replay_gives_the_same_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

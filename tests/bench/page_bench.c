// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes a recording of about N events (default 10000000) for tests of large recordings: a training of many iterations,
 * whose tensors come from 2000 stacks, and which keeps a tensor of one of these stacks in each tenth iteration.
 *
 *   page_bench FILE [EVENTS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpumemtrace/api.h>
#include <gpumemtrace/wire.h>

#include "source/recorder.h"
#include "stream.h"

#define PID 4242
#define STACKS 2000
#define SYMBOLS 5000
#define BLOCKS 200               /* of an iteration */
#define EACH_KEPT 10             /* iterations */
#define BLOCK (1ULL << 16)
#define BASE 0x7f0000000000ULL
#define KEPT_BASE 0x7e0000000000ULL
#define RESERVED (1ULL << 30)
#define KEPT_RESERVED (1ULL << 28)
#define OPTIMIZER 77

struct bench {
	struct bench_stream stream;
	uint64_t allocated, events, kept;
	uint32_t iteration;
};

static void put_names(struct bench *b)
{
	uint32_t symbols[STREAM_FRAMES];
	char file[64];

	for (uint32_t i = 1; i <= SYMBOLS; i++) {
		snprintf(file, sizeof(file), i % 3 ? "" : "model_%u.py", i % 50);
		stream_symbol(&b->stream, i, "Model.forward_of_a_usual_length_", "/usr/bin/python3.11", file);
	}
	for (uint32_t i = 1; i <= STACKS; i++) {
		for (unsigned int k = 0; k < STREAM_FRAMES; k++)
			symbols[k] = 1 + (k < STREAM_FRAMES / 2 ? (i * 7 + k * 131) % SYMBOLS : k);
		stream_stack(&b->stream, i, symbols);
	}
}

static void put_block(struct bench *b, uint64_t at, uint32_t stack, int64_t delta)
{
	struct gmt_fw_mem rec = {
		.ptr = at, .delta = delta, .total_allocated = b->allocated += delta, .total_reserved = RESERVED + KEPT_RESERVED,
		.device_type = GMT_FW_GPU, .stack_id = 1 + stack % STACKS,
	};

	b->stream.ts_ns += 4000;
	stream_record(&b->stream, &rec, GMT_KIND_FW_MEM, sizeof(rec));
	b->events++;
}

static void put_range(struct bench *b, enum gmt_range_what what, const char *name)
{
	struct gmt_fw_range rec = { .object = what == GMT_RANGE_BACKWARD ? 0 : OPTIMIZER, .what = what };

	snprintf((char *)rec.name, sizeof(rec.name), "%s", name);
	stream_record(&b->stream, &rec, GMT_KIND_FW_RANGE, sizeof(rec));
	b->events++;
}

static int64_t size_of(uint32_t number)
{
	return (int64_t)(BLOCK * (1 + number % 37));
}

static void put_iteration(struct bench *b)
{
	uint32_t first = b->iteration++ * 7;

	for (uint32_t i = 0; i < BLOCKS; i++)
		put_block(b, BASE + i * 64 * BLOCK, first % 90 + i * 10, size_of(i));
	if (b->iteration % EACH_KEPT == 0)
		put_block(b, KEPT_BASE + b->kept++ * BLOCK, 5, BLOCK);
	put_range(b, GMT_RANGE_BACKWARD, "");
	for (uint32_t i = BLOCKS; i-- > 0;)
		put_block(b, BASE + i * 64 * BLOCK, 0, -size_of(i));
	put_range(b, GMT_RANGE_BEGIN, "Optimizer.step#AdamW.step");
	put_range(b, GMT_RANGE_END, "");
}

static void fail_request(struct bench *b)
{
	struct { struct gmt_call call; uint64_t vals[2]; } rec = {
		.call.api = GMT_API_cuMemAlloc_v2, .call.rc = GMT_CUDA_OUT_OF_MEMORY, .vals = { 0, 1ULL << 40 },
		.call.stack_id = 9,
	};

	stream_record(&b->stream, &rec, GMT_KIND_CALL, sizeof(rec));
}

int main(int argc, char **argv)
{
	uint64_t most = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000000;
	struct gmt_attach attach = { .flags = GMT_ATTACH_FROM_START };
	struct bench b = { .stream = { .ts_ns = 1000000000, .tgid = PID } };
	struct { struct gmt_call call; uint64_t vals[2]; } segments = {
		.call.api = GMT_API_cuMemAlloc_v2, .call.stack_id = 1, .vals = { KEPT_BASE, KEPT_RESERVED },
	};
	int err;

	if (argc < 2 || recorder_open(&b.stream.recorder, argv[1])) {
		fputs("page_bench FILE [EVENTS]\n", stderr);
		return 2;
	}
	put_names(&b);
	stream_record(&b.stream, &attach, GMT_KIND_ATTACH, sizeof(attach));
	stream_record(&b.stream, &segments, GMT_KIND_CALL, sizeof(segments));
	segments.vals[0] = BASE;
	segments.vals[1] = RESERVED;
	stream_record(&b.stream, &segments, GMT_KIND_CALL, sizeof(segments));
	while (b.events < most)
		put_iteration(&b);
	fail_request(&b);
	err = recorder_close(b.stream.recorder, NULL);
	printf("%llu events, %u iterations\n", (unsigned long long)b.events, b.iteration);
	return err ? 1 : 0;
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * Measures how fast the ledger applies records, and how much memory the ledger needs for an allocation. One thread
 * applies synthetic streams of cuMemAlloc and cuMemFree records, prepared in memory.
 *
 * Prints one line a stream: name, records, records per second, allocations that live at the end, bytes
 * of the ledger's memory for each of them, and what a live frame and a report take to compute then. With
 * --json the same as JSON.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gpumemtrace/api.h>
#include <gpumemtrace/wire.h>

#include "../unit/live_allocs.h"
#include "core/ledger/ledger.h"
#include "core/pipeline/pipeline.h"
#include "core/view/view.h"

#define MAX_SIZE (sizeof(struct gmt_call) + 2 * sizeof(uint64_t))

struct records {
	unsigned char *data;
	size_t size, records;
	uint64_t seed;
	uint32_t stacks;         /* ids that allocations have; 0: none */
	uint32_t seq;
};

static uint64_t random_of(struct records *s)   /* xorshift64 */
{
	s->seed ^= s->seed << 13;
	s->seed ^= s->seed >> 7;
	s->seed ^= s->seed << 17;
	return s->seed;
}

static void stream_init(struct records *s, size_t max_records)
{
	*s = (struct records){ .data = malloc(max_records * MAX_SIZE), .seed = 0x9e3779b97f4a7c15 };
	if (!s->data) {
		fputs("ledger_bench: out of memory\n", stderr);
		exit(1);
	}
}

static void append(struct records *s, enum gmt_api api, unsigned int threads, unsigned int count, uint64_t first,
		   uint64_t second)
{
	struct {
		struct gmt_call call;
		uint64_t val[2];
	} rec = { 0 };
	uint32_t tid = 1000 + (threads > 1 ? random_of(s) % threads : 0);

	rec.call.hdr = (struct gmt_hdr){
		.size = sizeof(rec.call) + count * sizeof(uint64_t),
		.kind = GMT_KIND_CALL,
		.tgid = 1000,
		.tid = tid,
		.ts_ns = 1000 + s->records,
	};
	rec.call.api = api;
	rec.call.phase = api == GMT_API_cuMemFree_v2 ? GMT_PHASE_ENTER : GMT_PHASE_DONE;
	rec.call.seq = ++s->seq;
	if (s->stacks)
		rec.call.stack_id = 1 + random_of(s) % s->stacks;
	rec.val[0] = first;
	rec.val[1] = second;
	memcpy(s->data + s->size, &rec, rec.call.hdr.size);
	s->size += rec.call.hdr.size;
	s->records++;
}

static uint64_t address_of(uint64_t number)
{
	return 0x7f0000000000 + number * 512;
}

/*
 * `live` allocations, then `pairs` times one is freed and one made. In order the freed one is the
 * newest (a loop that allocates and frees); else any of them.
 */
static void make(struct records *s, size_t live, size_t pairs, bool in_order, unsigned int threads, uint32_t stacks)
{
	uint64_t *at = malloc((live + 1) * sizeof(*at)), next = 0;

	stream_init(s, live + 2 * pairs);
	s->stacks = stacks;
	for (size_t i = 0; i < live; i++) {
		at[i] = address_of(next++);
		append(s, GMT_API_cuMemAlloc_v2, threads, 2, at[i], 512 * (1 + random_of(s) % 4096));
	}
	for (size_t i = 0; i < pairs; i++) {
		size_t which = in_order || !live ? live : random_of(s) % live;
		uint64_t address = in_order ? address_of(next) : address_of(next++);

		append(s, GMT_API_cuMemAlloc_v2, threads, 2, address, 512 * (1 + random_of(s) % 4096));
		append(s, GMT_API_cuMemFree_v2, threads, 1, in_order ? address : at[which], 0);
		if (!in_order)
			at[which] = address;
	}
	free(at);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Names for all of a stream's stacks, each its own. */
static void name_stacks(struct pipeline *pipeline, uint32_t stacks)
{
	for (uint32_t i = 1; i <= stacks; i++) {
		struct {
			struct gmt_symbol symbol;
			char text[8];
		} symbol = { .symbol = { .hdr = { sizeof(symbol), GMT_KIND_SYMBOL, 0, 0, 0, 1 }, .id = i, .line = i } };
		struct {
			struct gmt_stack_frames frames;
			uint32_t symbols[2];
		} frames = {
			.frames = { .hdr = { sizeof(frames), GMT_KIND_STACK_FRAMES, 1000, 1000, 0, 1 },
				    .stack_id = i, .count = 2 },
			.symbols = { i, 1 },
		};

		if (pipeline_apply(pipeline, &symbol, sizeof(symbol)) || pipeline_apply(pipeline, &frames, sizeof(frames))) {
			fputs("ledger_bench: a name was refused\n", stderr);
			exit(1);
		}
	}
}

static double view_ms(const struct pipeline *pipeline, const struct view_request *request)
{
	double start = now();
	struct view view;

	view_build(pipeline, request, &view);
	view_free(&view);
	return (now() - start) * 1e3;
}

/* Bytes in use of what malloc() and its like gave out. */
static size_t memory_used(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void run(const char *name, struct records *s, bool json, bool last)
{
	size_t before = memory_used();
	struct pipeline *pipeline = pipeline_new(NULL);
	double start = now();

	for (size_t pos = 0; pos < s->size;) {
		const struct gmt_hdr *hdr = (const void *)(s->data + pos);

		if (pipeline_apply(pipeline, hdr, hdr->size)) {
			fputs("ledger_bench: a record was refused\n", stderr);
			exit(1);
		}
		pos += hdr->size;
	}
	double seconds = now() - start, rate = s->records / seconds;
	uint64_t live = live_allocs(pipeline->ledger);
	double each = live ? (double)(memory_used() - before) / live : 0, frame_ms, report_ms;

	name_stacks(pipeline, s->stacks);
	frame_ms = view_ms(pipeline, &(struct view_request){ 0 });
	report_ms = view_ms(pipeline, &(struct view_request){ .top = 10, .ages = true });

	if (json)
		printf("  {\"name\": \"%s\", \"records\": %zu, \"records_per_second\": %.0f, \"live\": %" PRIu64
		       ", \"bytes_per_live\": %.1f, \"frame_ms\": %.2f, \"report_ms\": %.2f}%s\n",
		       name, s->records, rate, live, each, frame_ms, report_ms, last ? "" : ",");
	else
		printf("%-34s %9zu records  %6.2f M/s  %8" PRIu64 " live  %6.1f bytes each  frame %6.2f ms  report %6.2f ms\n",
		       name, s->records, rate / 1e6, live, each, frame_ms, report_ms);
	pipeline_free(pipeline);
	free(s->data);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		size_t live, pairs;
		bool in_order;
		unsigned int threads;
		uint32_t stacks;
	} cases[] = {
		{ "pairs", 0, 2300000, true, 1, 0 },
		{ "pairs, 1,000 live", 1000, 2300000, false, 1, 0 },
		{ "pairs, 100,000 live", 100000, 2300000, false, 1, 0 },
		{ "pairs, 1,000,000 live", 1000000, 2300000, false, 1, 0 },
		{ "pairs, 100,000 live, 16 threads", 100000, 2300000, false, 16, 0 },
		{ "1,000 live, 1,000 stacks", 1000, 2300000, false, 1, 1000 },
		{ "100,000 live, 10,000 stacks", 100000, 2300000, false, 1, 10000 },
		{ "100,000 live, 100,000 stacks", 100000, 2300000, false, 1, 100000 },
	};
	size_t count = sizeof(cases) / sizeof(cases[0]);
	bool json = argc > 1 && strcmp(argv[1], "--json") == 0;

	if (json)
		puts("[");
	for (size_t i = 0; i < count; i++) {
		struct records s;

		make(&s, cases[i].live, cases[i].pairs, cases[i].in_order, cases[i].threads,
		     cases[i].stacks);
		run(cases[i].name, &s, json, i == count - 1);
	}
	if (json)
		puts("]");
	return 0;
}

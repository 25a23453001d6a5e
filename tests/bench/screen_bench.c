// SPDX-License-Identifier: BSD-2-Clause
/*
 * Measures what a second of the screen costs: a view and its picture, for 8 processes that hold memory in N stacks
 * (default 10000), with tensors in all of them. "failing": in each second a request of each process fails.
 *
 *   screen_bench [STACKS [failing]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gpumemtrace/api.h>
#include <gpumemtrace/wire.h>

#include "base/out.h"
#include "core/pipeline/pipeline.h"
#include "core/view/view.h"
#include "screen/curses.h"
#include "screen/screen.h"
#include "stream.h"

#define PROCESSES 8
#define SYMBOLS 5000
#define LINES_SHOWN 100
#define SECONDS 50
#define BLOCK (1ULL << 16)
#define BASE 0x7f0000000000ULL

struct bench {
	struct bench_stream stream;
	uint64_t allocated;
	uint32_t stacks;
	bool is_failing;
};

/* Of this process alone. */
static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void put_names(struct bench *b)
{
	uint32_t symbols[STREAM_FRAMES];
	char file[64];

	for (uint32_t i = 1; i <= SYMBOLS; i++) {
		snprintf(file, sizeof(file), "/home/me/train/model_%u.py", i % 50);
		stream_symbol(&b->stream, i, "Model.forward_of_a_usual_length_", "/usr/bin/python3.11", file);
	}
	for (uint32_t i = 1; i <= b->stacks; i++) {
		for (unsigned int k = 0; k < STREAM_FRAMES; k++)
			symbols[k] = 1 + (i * 7 + k * (131 + i / SYMBOLS)) % SYMBOLS;
		stream_stack(&b->stream, i, symbols);
	}
}

/* A block that comes, or goes. */
static void put_block(struct bench *b, uint32_t stack, int64_t delta)
{
	struct gmt_fw_mem rec = {
		.ptr = BASE + stack * BLOCK, .delta = delta, .total_allocated = b->allocated += delta,
		.total_reserved = 1ULL << 33, .device_type = GMT_FW_GPU, .stack_id = stack,
	};

	stream_record(&b->stream, &rec, GMT_KIND_FW_MEM, sizeof(rec));
}

/* Each process has its own stacks, as the numbers of stacks are. */
static void fill(struct bench *b)
{
	struct gmt_attach attach = { .flags = GMT_ATTACH_FROM_START };
	struct { struct gmt_call call; uint64_t vals[2]; } rec = {
		.call.api = GMT_API_cuMemAlloc_v2, .vals = { BASE, 1ULL << 33 },
	};

	b->stream.tgid = 1;
	put_names(b);
	for (uint32_t p = 0; p < PROCESSES; p++) {
		b->stream.tgid = 1000 + p;
		b->allocated = 0;
		stream_record(&b->stream, &attach, GMT_KIND_ATTACH, sizeof(attach));
		rec.call.stack_id = p + 1;
		stream_record(&b->stream, &rec, GMT_KIND_CALL, sizeof(rec));
		for (uint32_t stack = 1 + p; stack <= b->stacks; stack += PROCESSES)
			put_block(b, stack, BLOCK * (1 + stack % 7));
	}
}

/* Each process asks for more than there is, and goes on. */
static void fail_requests(struct bench *b)
{
	struct { struct gmt_call call; uint64_t vals[2]; } rec = {
		.call.api = GMT_API_cuMemAlloc_v2, .call.rc = GMT_CUDA_OUT_OF_MEMORY, .vals = { 0, 1ULL << 40 },
	};

	struct gmt_fw_oom report = { .size = 1ULL << 40, .device_type = GMT_FW_GPU };

	for (uint32_t p = 0; p < PROCESSES; p++) {
		b->stream.tgid = 1000 + p;
		report.stack_id = rec.call.stack_id = p + 1;
		stream_record(&b->stream, &rec, GMT_KIND_CALL, sizeof(rec));
		stream_record(&b->stream, &report, GMT_KIND_FW_OOM, sizeof(report));
	}
}

/* Something changes in each second. */
static void change(struct bench *b, uint32_t second)
{
	for (uint32_t stack = 1 + second; stack <= b->stacks; stack += 100) {
		b->stream.tgid = 1000 + (stack - 1) % PROCESSES;
		put_block(b, stack, -(int64_t)(BLOCK * (1 + stack % 7)));
		put_block(b, stack, BLOCK * (1 + (stack + second) % 7));
	}
	if (b->is_failing)
		fail_requests(b);
	b->stream.ts_ns += 1000000000;
}

static struct view_verdict decide(void *arg, const struct frames *frames, uint32_t stack)
{
	(void)arg;
	(void)frames;
	(void)stack;
	return (struct view_verdict){ .frame = 1, .line = 2 };
}

static struct view_owner_names owner_names(void *arg, uint32_t owner)
{
	(void)arg;
	(void)owner;
	return (struct view_owner_names){ .name = "PyTorch" };
}

static bool is_skipped(void *arg, const struct frames *frames, uint32_t symbol)
{
	(void)arg;
	(void)frames;
	return symbol % 10 == 0;
}

int main(int argc, char **argv)
{
	struct bench b = { .stacks = argc > 1 ? (uint32_t)atoi(argv[1]) : 10000, .is_failing = argc > 2 };
	struct curses_options options = { .term = "xterm", .is_lent = true, .color = true, .keys_fd = -1 };
	struct view_request request = {
		.decide = decide, .owner_names = owner_names, .is_skipped = is_skipped, .owner_count = 1, .top = LINES_SHOWN,
		.why_age_ns = 60000000000ULL, /* as user/display.c has it */
	};
	double views = 0, pictures = 0, start;
	size_t bytes = 0, rows = 0;
	struct curses *curses;
	struct screen *screen;
	char why[256];

	b.stream.pipeline = pipeline_new(&(struct pipeline_options){ .history_events = 200000, .watches_requests = true });
	fill(&b);
	curses = curses_open(&options, why, sizeof(why));
	if (!curses) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	curses_resize(curses, 200, 50);
	screen = screen_new(curses, true);
	for (uint32_t second = 0; second < SECONDS; second++) {
		struct screen_scene scene = { 0 };
		struct view view;
		struct out out;

		change(&b, second);
		start = cpu_ms();
		view_build(b.stream.pipeline, &request, &view);
		views += cpu_ms() - start;
		start = cpu_ms();
		screen_see(screen, &view);
		scene.view = &view;
		scene.now_ns = b.stream.ts_ns;
		out_init_mem(&out);
		screen_draw(screen, &scene, &out);
		bytes += out.size;
		out_close(&out);
		pictures += cpu_ms() - start;
		rows = view.procs[0].rows[0].torch.stacks.stack_count;
		view_free(&view);
	}
	printf("a screen of 200 x 50, %d %sprocesses, %u stacks (%zu of the first process): view %.2f ms, picture %.2f ms,"
	       " %zu bytes\n", PROCESSES, b.is_failing ? "failing " : "", b.stacks, rows, views / SECONDS, pictures / SECONDS,
	       bytes / SECONDS);
	screen_free(screen);
	curses_close(curses);
	pipeline_free(b.stream.pipeline);
	return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
/*
 * Measures how long a dump takes to write, and how large the dump is, for a window of N events (default 100000). The
 * events are PyTorch's blocks that come and go, with stacks; a fifth of the blocks live at the end. Gathering the
 * records holds up the tracing thread; another thread writes them. Also measures what the history costs for each
 * record, and how long `gpumemtrace oom -o` takes later.
 *
 *   dump_bench [EVENTS [FOLDER]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <gpumemtrace/api.h>
#include <gpumemtrace/wire.h>

#include "base/out.h"
#include "core/history/history.h"
#include "core/history/history_dump.h"
#include "core/ledger/ledger.h"
#include "core/oom/oom_requests.h"
#include "core/oom/oom_dump.h"
#include "core/pipeline/pipeline.h"
#include "core/snapshot/snapshot.h"
#include "sink/sink.h"
#include "source/reader.h"
#include "source/recorder.h"
#include "stream.h"

#define PID 4242
#define STACKS 2000
#define SYMBOLS 5000
#define BLOCK (1ULL << 16)
#define SEGMENT (20ULL << 20)
#define BASE 0x7f0000000000ULL

struct bench {
	struct bench_stream stream;
	uint64_t seed, allocated, reserved;
	unsigned long events;
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static uint32_t below(struct bench *b, uint32_t n)
{
	b->seed = b->seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(b->seed >> 33) % n;
}

static void put_names(struct bench *b)
{
	uint32_t symbols[STREAM_FRAMES];

	for (uint32_t i = 1; i <= SYMBOLS; i++)
		stream_symbol(&b->stream, i, "at::native::some_function_of_a_usual_length_",
			      "/usr/lib/python3/torch/libtorch_cuda.so", "");
	for (uint32_t i = 1; i <= STACKS; i++) {
		for (unsigned int k = 0; k < STREAM_FRAMES; k++)
			symbols[k] = 1 + (k < STREAM_FRAMES / 2 ? below(b, SYMBOLS) : k);
		stream_stack(&b->stream, i, symbols);
	}
}

static void block(struct bench *b, uint64_t at, int64_t delta)
{
	struct gmt_fw_mem rec = {
		.ptr = at, .delta = delta, .total_allocated = b->allocated += delta, .total_reserved = b->reserved,
		.device_type = GMT_FW_GPU, .stack_id = 1 + below(b, STACKS),
	};

	stream_record(&b->stream, &rec, GMT_KIND_FW_MEM, sizeof(rec));
}

/* Nanoseconds a record. */
static double fill(struct bench *b)
{
	unsigned long slots = b->events / 4, freed = 0;
	unsigned char *live = calloc(slots, 1);
	struct gmt_attach attach = { .flags = GMT_ATTACH_FROM_START };
	struct { struct gmt_call call; uint64_t vals[2]; } rec = { .call.api = GMT_API_cuMemAlloc_v2 };
	double start;

	stream_record(&b->stream, &attach, GMT_KIND_ATTACH, sizeof(attach));
	put_names(b);
	for (uint64_t at = 0; at < slots * BLOCK; at += SEGMENT) {
		rec.vals[0] = BASE + at;
		rec.vals[1] = SEGMENT;
		b->reserved += SEGMENT;
		stream_record(&b->stream, &rec, GMT_KIND_CALL, sizeof(rec));
	}
	start = now_ms();
	for (unsigned long i = 0; i < b->events; i++) {
		unsigned long slot = below(b, slots);

		block(b, BASE + slot * BLOCK, live[slot] ? -(int64_t)BLOCK : (int64_t)BLOCK);
		freed += live[slot];
		live[slot] = !live[slot];
	}
	free(live);
	return (now_ms() - start) * 1e6 / b->events;
}

static void gather(void *arg, const void *record, size_t size)
{
	out_bytes(arg, record, size);
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Reads it as the command does. */
static void read_back(const char *path, double *read_ms, double *snapshot_ms, size_t *size)
{
	struct pipeline *pipeline = pipeline_new(&(struct pipeline_options){ .history_events = 10000000 });
	const struct gmt_hdr *record;
	struct reader *reader;
	struct snapshot snapshot;
	struct sink_history history = { .snapshot = &snapshot };
	struct out out;
	double start = now_ms();

	if (reader_open(&reader, path))
		fail(path);
	while ((record = reader_next(reader)))
		pipeline_apply(pipeline, record, record->size);
	reader_close(reader);
	*read_ms = now_ms() - start;
	start = now_ms();
	snapshot_build(pipeline->history, 0, &snapshot);
	history.frames = ledger_frames(pipeline->ledger);
	out_init_mem(&out);
	for (size_t i = 0; sinks[i]; i++)
		if (sinks[i]->write_history)
			sinks[i]->write_history(&out, &history, &(struct sink_opts){ 0 });
	*size = out.size;
	*snapshot_ms = now_ms() - start;
	free(out_take(&out));
	snapshot_free(&snapshot);
	pipeline_free(pipeline);
}

int main(int argc, char **argv)
{
	struct bench alone = { .stream.tgid = PID }, b = { .stream.tgid = PID };
	double ns_alone, ns, start, gathered, written, read_ms, snapshot_ms;
	struct history_subjects subjects;
	struct history_dump *dump;
	struct recorder *recorder;
	struct oom *oom;
	struct out out;
	struct stat st;
	char path[4096];
	size_t pickle;

	alone.events = b.events = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
	snprintf(path, sizeof(path), "%.4000s/dump_bench.%d.gmt", argc > 2 ? argv[2] : "/tmp", (int)getpid());
	alone.stream.pipeline = pipeline_new(NULL);
	b.stream.pipeline = pipeline_new(&(struct pipeline_options){ .history_events = b.events });
	ns_alone = fill(&alone);
	ns = fill(&b);
	oom = ooms_picture(b.stream.pipeline->ooms);

	start = now_ms();
	out_init_mem(&out);
	dump = history_dump_begin(b.stream.pipeline->history, b.stream.pipeline->history->next, &subjects);
	oom_dump(b.stream.pipeline->ledger, oom, &subjects, gather, &out);
	history_dump_put(dump, gather, &out);
	oom_dump_end(oom, gather, &out);
	gathered = now_ms() - start;

	start = now_ms();
	if (recorder_open(&recorder, path) || recorder_add(recorder, out.data, out.size) ||
	    recorder_close(recorder, NULL))
		fail(path);
	written = now_ms() - start;
	if (stat(path, &st))
		fail(path);
	read_back(path, &read_ms, &snapshot_ms, &pickle);
	unlink(path);
	printf("dump of %lu events, %u stacks: %.1f ms of the thread that traces, then %.1f ms of another to write %.1f MiB\n"
	       "  (%.1f bytes an event; %.1f MiB of records)\n", b.events, STACKS, gathered, written, st.st_size / 1048576.0,
	       (double)st.st_size / b.events, out.size / 1048576.0);
	printf("  gpumemtrace oom -o: %.0f ms to read it, %.0f ms for a snapshot of %.1f MiB\n", read_ms, snapshot_ms,
	       pickle / 1048576.0);
	printf("  a record of a block takes %.0f ns with the history, %.0f without\n", ns, ns_alone);
	free(out_take(&out));
	history_subjects_free(&subjects);
	oom_free(oom);
	pipeline_free(b.stream.pipeline);
	pipeline_free(alone.stream.pipeline);
	return written + gathered < 500 ? 0 : 1;
}

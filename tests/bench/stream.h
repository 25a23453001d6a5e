/* SPDX-License-Identifier: BSD-2-Clause */
/* Records that a benchmark makes up, and their names: symbols, and stacks of these. */
#ifndef GPUMEMTRACE_TESTS_BENCH_STREAM_H
#define GPUMEMTRACE_TESTS_BENCH_STREAM_H

#include <stdio.h>
#include <string.h>

#include <gpumemtrace/wire.h>

#include "core/pipeline/pipeline.h"
#include "source/recorder.h"

#define STREAM_FRAMES 40
#define STREAM_STEP_NS 1000      /* between two records */

struct bench_stream {
	struct pipeline *pipeline;
	struct recorder *recorder; /* gets the records in place of the pipeline; NULL: none */
	uint64_t ts_ns;
	uint32_t tgid;           /* of the next record */
};

static inline void stream_record(struct bench_stream *s, void *record, enum gmt_kind kind, size_t size)
{
	struct gmt_hdr *hdr = record;

	*hdr = (struct gmt_hdr){
		.size = size, .kind = kind, .tgid = s->tgid, .tid = s->tgid, .ts_ns = s->ts_ns += STREAM_STEP_NS,
	};
	if (s->recorder)
		recorder_add(s->recorder, record, size);
	else
		pipeline_apply(s->pipeline, record, size);
}

/* A symbol, with its number behind the name of its function; file: "" if none. */
static inline void stream_symbol(struct bench_stream *s, uint32_t id, const char *function, const char *module,
				 const char *file)
{
	union {
		struct gmt_symbol symbol;
		char bytes[512];
	} rec = { .symbol.id = id, .symbol.line = *file ? id : 0 };
	size_t room = sizeof(rec) - sizeof(rec.symbol), size;
	char *text = (char *)rec.symbol.text;

	rec.symbol.function_len = (uint16_t)snprintf(text, room, "%s%u", function, id);
	rec.symbol.module_len = (uint16_t)snprintf(text + rec.symbol.function_len + 1, room / 2, "%s", module);
	size = (size_t)rec.symbol.function_len + rec.symbol.module_len + 2;
	rec.symbol.file_len = (uint16_t)snprintf(text + size, room - size, "%s", file);
	stream_record(s, &rec, GMT_KIND_SYMBOL,
		      (sizeof(rec.symbol) + size + rec.symbol.file_len + 1 + 7) / 8 * 8);
}

static inline void stream_stack(struct bench_stream *s, uint32_t id, const uint32_t symbols[STREAM_FRAMES])
{
	union {
		struct gmt_stack_frames frames;
		char bytes[512];
	} rec = { .frames.stack_id = id, .frames.count = STREAM_FRAMES };

	memcpy(rec.frames.symbols, symbols, STREAM_FRAMES * sizeof(*symbols));
	stream_record(s, &rec, GMT_KIND_STACK_FRAMES, sizeof(rec.frames) + STREAM_FRAMES * sizeof(*symbols));
}

#endif

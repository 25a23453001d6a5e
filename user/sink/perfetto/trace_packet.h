/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the packets of a trace for Perfetto (perfetto.dev): tracks, counters, slices and clocks. A packet is written
 * as soon as it is known, so the trace is never in memory as a whole. The numbers of fields are those of the .proto
 * files in protos/perfetto of Perfetto v59.1, whose paths stand beside the numbers.
 */
#ifndef GPUMEMTRACE_SINK_PERFETTO_TRACE_PACKET_H
#define GPUMEMTRACE_SINK_PERFETTO_TRACE_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/out.h"

/* trace/trace_packet.proto: what a packet holds. */
enum trace_packet_field {
	PACKET_CLOCK_SNAPSHOT = 6, PACKET_TIMESTAMP = 8, PACKET_SEQUENCE_ID = 10, PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12, PACKET_SEQUENCE_FLAGS = 13, PACKET_PROFILE = 37, PACKET_CLOCK_ID = 58,
	PACKET_TRACK_DESCRIPTOR = 60,
};

struct trace_writer {
	struct out *out;
	bool redact;             /* without the folders of files */
	struct out message;      /* scratch: what the packet holds, filled in by the caller */
	struct out part, packet; /* scratch */
	uint64_t newest_track;
	uint32_t newest_sequence;
};

void trace_begin(struct trace_writer *w, struct out *out, bool redact);
void trace_end(struct trace_writer *w);

/* A new sequence of packets: ids of interned data belong to a sequence. */
uint32_t trace_new_sequence(struct trace_writer *w);
/* Writes w->message, which is empty afterwards, as a packet that holds `field`. ts_ns: CLOCK_MONOTONIC; 0: no time. */
void trace_packet(struct trace_writer *w, uint32_t sequence, enum trace_packet_field field, uint64_t ts_ns);
/* Foreign text, as people may see it. */
void trace_text(const struct trace_writer *w, struct out *message, uint32_t field, const char *text);

/* Times of the trace are CLOCK_MONOTONIC, and at `ts_ns` CLOCK_REALTIME was wall_ns; 0: nobody knows. */
void trace_clocks(struct trace_writer *w, uint64_t ts_ns, uint64_t wall_ns);

/* Tracks are shown in the order of their appearance. Each function returns the track's number. */
uint64_t trace_process_track(struct trace_writer *w, uint32_t pid, const char *name, const char *command_line);
enum trace_track_kind { TRACE_SLICES, TRACE_BYTES };
uint64_t trace_track(struct trace_writer *w, uint64_t process_track, enum trace_track_kind kind, const char *name);

void trace_counter(struct trace_writer *w, uint64_t track, uint64_t ts_ns, uint64_t value);
void trace_slice(struct trace_writer *w, uint64_t track, uint64_t from_ns, uint64_t until_ns, const char *name);
void trace_instant(struct trace_writer *w, uint64_t track, uint64_t ts_ns, const char *name);

#endif

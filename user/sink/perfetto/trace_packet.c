// SPDX-License-Identifier: BSD-2-Clause
#include "sink/perfetto/trace_packet.h"

#include <string.h>

#include "sink/export/protobuf.h"
#include "sink/text/redact.h"

enum trace_field { TRACE_PACKET = 1 };                              /* trace/trace.proto */
enum sequence_flag { INCREMENTAL_STATE_CLEARED = 1 };               /* trace/trace_packet.proto: SequenceFlags */
/* trace/clock_snapshot.proto, common/builtin_clock.proto */
enum clock_snapshot_field { SNAPSHOT_CLOCKS = 1, SNAPSHOT_PRIMARY_TRACE_CLOCK = 2 };
enum clock_field { CLOCK_ID = 1, CLOCK_TIMESTAMP = 2 };
enum builtin_clock { BUILTIN_REALTIME = 1, BUILTIN_MONOTONIC = 3, BUILTIN_MONOTONIC_COARSE = 4 };
/* trace/track_event/track_descriptor.proto, process_descriptor.proto, counter_descriptor.proto */
enum track_descriptor_field {
	TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_PARENT_UUID = 5, TRACK_COUNTER = 8,
	TRACK_CHILD_ORDERING = 11, TRACK_SIBLING_ORDER_RANK = 12,
};
enum child_ordering { ORDERING_EXPLICIT = 3 };
enum process_descriptor_field { PROCESS_PID = 1, PROCESS_CMDLINE = 2, PROCESS_NAME = 6 };
enum counter_descriptor_field { COUNTER_UNIT = 3 };
enum counter_unit { UNIT_SIZE_BYTES = 3 };
/* trace/track_event/track_event.proto */
enum track_event_field { EVENT_TYPE = 9, EVENT_TRACK_UUID = 11, EVENT_NAME = 23, EVENT_COUNTER_VALUE = 30 };
enum track_event_type { TYPE_SLICE_BEGIN = 1, TYPE_SLICE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };

#define TRACKS_SEQUENCE 1

/* ---- packets ---- */

uint32_t trace_new_sequence(struct trace_writer *w)
{
	proto_number(&w->packet, PACKET_SEQUENCE_FLAGS, INCREMENTAL_STATE_CLEARED);
	return ++w->newest_sequence;
}

void trace_packet(struct trace_writer *w, uint32_t sequence, enum trace_packet_field field, uint64_t ts_ns)
{
	if (ts_ns) {
		proto_number(&w->packet, PACKET_TIMESTAMP, ts_ns);
		proto_number(&w->packet, PACKET_CLOCK_ID, BUILTIN_MONOTONIC);
	}
	proto_number(&w->packet, PACKET_SEQUENCE_ID, sequence);
	proto_message(&w->packet, field, &w->message);
	proto_message(w->out, TRACE_PACKET, &w->packet);
}

void trace_begin(struct trace_writer *w, struct out *out, bool redact)
{
	*w = (struct trace_writer){ .out = out, .redact = redact };
	out_init_mem(&w->message);
	out_init_mem(&w->part);
	out_init_mem(&w->packet);
	trace_new_sequence(w);
}

void trace_end(struct trace_writer *w)
{
	out_close(&w->message);
	out_close(&w->part);
	out_close(&w->packet);
}

void trace_text(const struct trace_writer *w, struct out *message, uint32_t field, const char *text)
{
	struct out shown;

	out_init_mem(&shown);
	if (w->redact)
		redact_word(&shown, text, strlen(text));
	else
		out_text(&shown, text);
	out_char(&shown, '\0');
	proto_text(message, field, shown.data);
	out_close(&shown);
}

/* ---- clocks ---- */

static void add_clock(struct trace_writer *w, enum builtin_clock id, uint64_t ts_ns)
{
	proto_number(&w->part, CLOCK_ID, id);
	proto_number(&w->part, CLOCK_TIMESTAMP, ts_ns);
	proto_message(&w->message, SNAPSHOT_CLOCKS, &w->part);
}

/* Heap profiles have CLOCK_MONOTONIC_COARSE (trace/profiling/profile_packet.proto), which is the same but for its
 * ticks. */
void trace_clocks(struct trace_writer *w, uint64_t ts_ns, uint64_t wall_ns)
{
	add_clock(w, BUILTIN_MONOTONIC, ts_ns);
	add_clock(w, BUILTIN_MONOTONIC_COARSE, ts_ns);
	if (wall_ns)
		add_clock(w, BUILTIN_REALTIME, wall_ns);
	proto_number(&w->message, SNAPSHOT_PRIMARY_TRACE_CLOCK, BUILTIN_MONOTONIC);
	trace_packet(w, TRACKS_SEQUENCE, PACKET_CLOCK_SNAPSHOT, ts_ns);
}

/* ---- tracks ---- */

uint64_t trace_process_track(struct trace_writer *w, uint32_t pid, const char *name, const char *command_line)
{
	proto_number(&w->part, PROCESS_PID, pid);
	if (command_line[0])
		trace_text(w, &w->part, PROCESS_CMDLINE, command_line);
	trace_text(w, &w->part, PROCESS_NAME, name);
	proto_number(&w->message, TRACK_UUID, ++w->newest_track);
	proto_message(&w->message, TRACK_PROCESS, &w->part);
	proto_number(&w->message, TRACK_CHILD_ORDERING, ORDERING_EXPLICIT);
	trace_packet(w, TRACKS_SEQUENCE, PACKET_TRACK_DESCRIPTOR, 0);
	return w->newest_track;
}

uint64_t trace_track(struct trace_writer *w, uint64_t process_track, enum trace_track_kind kind, const char *name)
{
	proto_number(&w->message, TRACK_UUID, ++w->newest_track);
	proto_number(&w->message, TRACK_PARENT_UUID, process_track);
	trace_text(w, &w->message, TRACK_NAME, name);
	proto_number(&w->message, TRACK_SIBLING_ORDER_RANK, w->newest_track - process_track);
	if (kind == TRACE_BYTES) {
		proto_number(&w->part, COUNTER_UNIT, UNIT_SIZE_BYTES);
		proto_message(&w->message, TRACK_COUNTER, &w->part);
	}
	trace_packet(w, TRACKS_SEQUENCE, PACKET_TRACK_DESCRIPTOR, 0);
	return w->newest_track;
}

/* ---- events ---- */

static void begin_event(struct trace_writer *w, enum track_event_type type, uint64_t track)
{
	proto_number(&w->message, EVENT_TYPE, type);
	proto_number(&w->message, EVENT_TRACK_UUID, track);
}

void trace_counter(struct trace_writer *w, uint64_t track, uint64_t ts_ns, uint64_t value)
{
	begin_event(w, TYPE_COUNTER, track);
	proto_number(&w->message, EVENT_COUNTER_VALUE, value);
	trace_packet(w, TRACKS_SEQUENCE, PACKET_TRACK_EVENT, ts_ns);
}

static void put_named(struct trace_writer *w, enum track_event_type type, uint64_t track, uint64_t ts_ns,
		      const char *name)
{
	begin_event(w, type, track);
	trace_text(w, &w->message, EVENT_NAME, name);
	trace_packet(w, TRACKS_SEQUENCE, PACKET_TRACK_EVENT, ts_ns);
}

void trace_slice(struct trace_writer *w, uint64_t track, uint64_t from_ns, uint64_t until_ns, const char *name)
{
	put_named(w, TYPE_SLICE_BEGIN, track, from_ns, name);
	begin_event(w, TYPE_SLICE_END, track);
	trace_packet(w, TRACKS_SEQUENCE, PACKET_TRACK_EVENT, until_ns);
}

void trace_instant(struct trace_writer *w, uint64_t track, uint64_t ts_ns, const char *name)
{
	put_named(w, TYPE_INSTANT, track, ts_ns, name);
}

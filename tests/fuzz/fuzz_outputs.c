// SPDX-License-Identifier: BSD-2-Clause
/*
 * Any records through every output: the report in each format, the requests that failed, snapshots, folded stacks,
 * profiles, traces and the records themselves. JSON is JSON, text holds no control characters, a snapshot is a whole pickle.
 *
 * The input is a byte of options, and a list of records (make_records.h). One input goes through a part of the outputs, as
 * JSON takes ten times as long as the ledger.
 */
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/out.h"
#include "core/history/history.h"
#include "core/ledger/ledger.h"
#include "core/oom/oom_requests.h"
#include "core/pipeline/pipeline.h"
#include "core/view/oom_view.h"
#include "core/snapshot/snapshot.h"
#include "core/view/view.h"
#include "make_records.h"
#include "screen/curses.h"
#include "screen/screen.h"
#include "sink/sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	ALL_WINDOW = 1, ALL_LARGE = 2, ALL_FULL = 4, ALL_VERBOSE = 8, ALL_SCREEN = 16, ALL_COLOR = 32,
	ALL_PART_SHIFT = 6, PARTS = 4, /* which outputs */
	SOME_EVENTS = 30, MANY_EVENTS = 200000,
};

struct session {
	struct pipeline *pipeline;
	struct sink_opts opts;
	unsigned int part;
	struct screen *screen;   /* NULL: none is drawn */
	struct view previous;
	bool has_previous;
	uint64_t first_ns;
};

static void must(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "does not hold: %s\n", what);
		abort();
	}
}

static void check_json(const char *text)
{
	while (*text) {
		json_error_t error;
		json_t *value = json_loads(text, JSON_DISABLE_EOF_CHECK, &error);

		must(value, "JSON is JSON");
		json_decref(value);
		text += error.position;
		must(*text == '\n', "a line for each object");
		text++;
	}
}

/* Where colours are asked for, escape sequences may be ours. */
static void check_text(const struct sink *sink, const struct sink_opts *opts, const char *text)
{
	bool is_page = sink->suffix && !strcmp(sink->suffix, ".html");
	unsigned int scripts = 0;

	for (; *text; text++) {
		must((unsigned char)*text >= ' ' || *text == '\n' || (opts->color && *text == '\033') ||
		     (is_page && *text == '\t'), "no control character of a record");
		scripts += !strncmp(text, "</script", 8);
	}
	must(!is_page || scripts == 2, "no text of a record ends a script");
}

static uint64_t varint(const unsigned char **at, const unsigned char *end)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; ; shift += 7) {
		must(*at < end && shift < 70, "a number ends in the profile");
		value |= (uint64_t)(**at & 0x7f) << shift;
		if (*(*at)++ < 0x80)
			return value;
	}
}

/* The fields of a message fill its bytes, and its texts hold no control characters. */
static void check_fields(const unsigned char *at, size_t size, unsigned int text_field)
{
	enum { SIZED = 2 };
	const unsigned char *end = at + size;

	while (at < end) {
		uint64_t tag = varint(&at, end), value = varint(&at, end);

		if ((tag & 7) != SIZED)
			continue;
		must(value <= (uint64_t)(end - at), "a field ends in its message");
		for (uint64_t i = 0; tag >> 3 == text_field && i < value; i++)
			must(at[i] >= ' ', "no control character of a record in a text");
		if (!text_field)
			check_fields(at, value, UINT_MAX);
		at += value;
	}
}

static void check_profile(const unsigned char *at, size_t size)
{
	enum { STRING_TABLE = 6 };

	check_fields(at, size, STRING_TABLE);
}

static void check_packed(const struct out *out)
{
	enum { PACKED_MOST = 1032 };  /* deflate makes no more of a byte */
	size_t room = out->size * PACKED_MOST;
	unsigned char *plain = malloc(room);
	z_stream z = { .next_in = (unsigned char *)out->data, .avail_in = (unsigned int)out->size,
		       .next_out = plain, .avail_out = (unsigned int)room };

	must(plain && inflateInit2(&z, MAX_WBITS + 16) == Z_OK, "there is memory");
	must(inflate(&z, Z_FINISH) == Z_STREAM_END && !z.avail_in, "a profile is whole");
	check_profile(plain, z.total_out);
	inflateEnd(&z);
	free(plain);
}

static void check_output(const struct sink *sink, const struct sink_opts *opts, struct out *out)
{
	char *text;

	if (sink->suffix && !strcmp(sink->suffix, ".pb.gz")) {
		check_packed(out);
		out_close(out);
		return;
	}
	if (sink->suffix && !strcmp(sink->suffix, ".perfetto-trace")) {
		check_fields((const unsigned char *)out->data, out->size, 0);
		out_close(out);
		return;
	}
	text = out_take(out);

	if (sink->is_data)
		check_json(text);
	else
		check_text(sink, opts, text);
	free(text);
}

/* ---- what is printed ---- */

static size_t sink_count(void)
{
	size_t count = 0;

	while (sinks[count])
		count++;
	return count;
}

/* ncurses has one screen for all inputs. */
static struct curses *one_curses(void)
{
	static struct curses *curses;
	struct curses_options options = { .term = "xterm", .is_lent = true, .keys_fd = -1 };
	char why[256];

	if (!curses)
		curses = curses_open(&options, why, sizeof(why));
	must(curses, "the screen's own description is there");
	return curses;
}

/* Between the codes of the terminal's description stands text alone. */
static void draw_screen(struct session *s)
{
	struct screen_scene scene = { .view = &s->previous, .now_ns = s->previous.now_ns };
	struct out out;
	char *text;

	out_init_mem(&out);
	screen_see(s->screen, &s->previous);
	screen_draw(s->screen, &scene, &out);
	text = out_take(&out);
	for (const char *c = text; *c; c++)
		must((unsigned char)*c >= ' ' || (*c == '\033' && c[1] == '[') || strchr("\r\n\b", *c),
		     "no control character of a record is drawn");
	free(text);
}

static void print_views(struct session *s)
{
	struct view_request request = { .top = 4, .ages = true };
	struct view now;

	for (size_t i = s->part; i < sink_count(); i += PARTS) {
		struct view_request asked = request;
		struct out out;

		if (!sinks[i]->report && !sinks[i]->write)
			continue;
		if (sinks[i]->ask)
			sinks[i]->ask(&asked, &s->opts);
		view_build(s->pipeline, &asked, &now);
		out_init_mem(&out);
		if (sinks[i]->write)
			sinks[i]->write(&out, &now, &s->opts);
		if (sinks[i]->live)
			sinks[i]->live(&out, &now, s->has_previous ? &s->previous : NULL, &s->opts);
		if (sinks[i]->report)
			sinks[i]->report(&out, &now, &s->opts);
		check_output(sinks[i], &s->opts, &out);
		view_free(&now);
	}
	view_build(s->pipeline, &request, &now);
	if (s->has_previous)
		view_free(&s->previous);
	s->previous = now;
	s->has_previous = true;
	if (s->screen)
		draw_screen(s);
}

static void print_history(const struct session *s, const struct sink *sink, uint32_t process)
{
	struct snapshot snapshot;
	struct sink_history history = {
		.snapshot = &snapshot, .frames = ledger_frames(s->pipeline->ledger),
		.wall_ns = ledger_wall_ns(s->pipeline->ledger),
	};
	struct out out;

	snapshot_build(s->pipeline->history, process, &snapshot);
	out_init_mem(&out);
	sink->write_history(&out, &history, &s->opts);
	must(out.size > 2 && out.data[out.size - 1] == '.', "a pickle ends with STOP");
	out_close(&out);
	snapshot_free(&snapshot);
}

static void print_histories(const struct session *s)
{
	for (size_t i = s->part; i < sink_count(); i += PARTS)
		for (uint32_t p = 0; sinks[i]->write_history && p < s->pipeline->history->process_count; p++)
			print_history(s, sinks[i], p);
}

static void print_ooms(struct session *s)
{
	struct view_request request = { .top = 3, .over_time = true };
	struct oom *oom;

	while ((oom = ooms_take(s->pipeline->ooms))) {
		struct oom_view view;

		oom_view_build(s->pipeline, oom, &request, &view);
		history_changes(s->pipeline->history, oom->rec.hdr.tgid, s->pipeline->history->next, oom->rec.hdr.ts_ns,
				10000000000ULL, &view.changes);
		for (size_t i = s->part; i < sink_count(); i += PARTS) {
			struct out out;

			if (!sinks[i]->oom && !sinks[i]->write_picture)
				continue;
			out_init_mem(&out);
			if (sinks[i]->oom)
				sinks[i]->oom(&out, &view, &s->opts);
			else
				sinks[i]->write_picture(&out, &view, &s->opts);
			check_output(sinks[i], &s->opts, &out);
		}
		s->opts.printed++;
		oom_view_free(&view);
		oom_free(oom);
	}
}

static void print_record(struct session *s, const struct gmt_hdr *record)
{
	for (size_t i = s->part; i < sink_count(); i += PARTS) {
		struct out out;

		if (!sinks[i]->record)
			continue;
		out_init_mem(&out);
		sinks[i]->record(&out, record, (int64_t)(record->ts_ns - s->first_ns));
		check_output(sinks[i], &s->opts, &out);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	uint8_t all = byte(&in);
	struct pipeline_options options = {
		.watches_requests = true, .keeps_ended = true,
		.history_events = all & ALL_LARGE ? MANY_EVENTS : SOME_EVENTS,
		.timeline_points = all & ALL_LARGE ? MANY_EVENTS : SOME_EVENTS,
	};
	struct session s = {
		.pipeline = pipeline_new(&options), .part = all >> ALL_PART_SHIFT,
		.opts = {
			.color = all & ALL_COLOR,
			.full = true, .full_stacks = all & ALL_FULL, .verbose = all & ALL_VERBOSE,
		},
	};
	uint64_t ts_ns = 1000;
	unsigned int mode;
	union record rec;

	if (all & ALL_SCREEN)
		s.screen = screen_new(one_curses(), true);
	while ((size = make_record(&in, all & ALL_WINDOW, &rec, &ts_ns, &mode))) {
		/* The reader gives out whole records. */
		if (rec.hdr.size >= sizeof(rec.hdr) && rec.hdr.size <= size && mode & MODE_VIEW)
			print_record(&s, &rec.hdr);
		pipeline_apply(s.pipeline, &rec, size);
	}
	print_ooms(&s);
	print_views(&s);
	ooms_finish(s.pipeline->ooms);
	print_ooms(&s);
	print_histories(&s);
	view_free(&s.previous);
	screen_free(s.screen);
	pipeline_free(s.pipeline);
	return 0;
}

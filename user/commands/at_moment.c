// SPDX-License-Identifier: BSD-2-Clause
#include "commands/at_moment.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attribution.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "cli/cli.h"
#include "core/oom/oom_requests.h"
#include "core/pipeline/pipeline.h"
#include "outputs.h"
#include "say.h"

/* ---- names ---- */

static char *text_of(const char *path, size_t size, const char *moment)
{
	struct out out;

	out_init_mem(&out);
	out_bytes(&out, path, size);
	if (moment)
		out_printf(&out, "@%s", moment);
	return out_take(&out);
}

int at_moment_read(const char *text, const struct at_moment *before, struct at_moment *out)
{
	const char *sign = strrchr(text, '@');

	*out = (struct at_moment){ 0 };
	if (!sign || !access(text, F_OK)) {
		out->path = xstrdup(text);
		out->moment.kind = strcmp(text, "-") ? MOMENT_PEAK : MOMENT_END;
		out->name = text_of(text, strlen(text), strcmp(text, "-") ? "peak" : "end");
		return GMT_EXIT_OK;
	}
	if (!moment_read(sign + 1, &out->moment)) {
		say("'%s' is no moment of a recording: give " MOMENT_WORDS, sign + 1);
		return GMT_EXIT_USAGE;
	}
	if (sign == text && !before) {
		say("'%s' names no recording: give FILE.gmt%s", text, text);
		return GMT_EXIT_USAGE;
	}
	out->path = sign == text ? xstrdup(before->path) : text_of(text, (size_t)(sign - text), NULL);
	out->name = text_of(out->path, strlen(out->path), sign + 1);
	out->is_given = true;
	return GMT_EXIT_OK;
}

void at_moment_free(struct at_moment *at)
{
	if (at->is_picture)
		oom_view_free(&at->oom);
	else
		view_free(&at->view);
	if (at->is_open)
		playback_close(&at->playback);
	free(at->path);
	free(at->name);
}

/* ---- replays ---- */

static struct pipeline *new_pipeline(void)
{
	return pipeline_new(&(struct pipeline_options){ .watches_requests = true });
}

static struct view_request request_of(const struct options *options, struct attribution *attribution)
{
	struct view_request request = outputs_request(options, attribution);

	request.top = SIZE_MAX;
	request.ages = false;
	return request;
}

static bool open_replay(struct at_moment *at, const struct options *options, struct pipeline *pipeline)
{
	at->is_open = true;
	return playback_open(&at->playback, options, pipeline);
}

static void close_replay(struct at_moment *at)
{
	playback_close(&at->playback);
	at->is_open = false;
}

/* Takes the picture of a dump: the newest one, if the file has several. */
static int take_picture(struct at_moment *at, const struct options *options, struct attribution *attribution)
{
	struct view_request request = request_of(options, attribution);
	struct ooms *ooms = at->playback.pipeline->ooms;
	struct oom *newest = NULL;

	ooms_finish(ooms);
	ooms_take_newest(ooms, &newest);
	if (!newest || at->is_given) {
		say(newest ? "%s is a dump of one moment: leave out the '@' and what follows" :
		    "%s: the dump has no picture", at->path);
		oom_free(newest);
		return newest ? GMT_EXIT_USAGE : GMT_EXIT_FAILURE;
	}
	oom_view_build(at->playback.pipeline, newest, &request, &at->oom);
	oom_free(newest);
	at->is_picture = true;
	free(at->name);
	at->name = xstrdup(at->path);
	return GMT_EXIT_OK;
}

static void take_view(struct at_moment *at, const struct options *options, struct attribution *attribution)
{
	struct view_request request = request_of(options, attribution);

	view_build(at->playback.pipeline, &request, &at->view);
}

static int say_never(const struct at_moment *at, const struct moment_search *search)
{
	static const char *const things[MOMENT_KIND_COUNT] = {
		[MOMENT_ITERATION] = "iteration", [MOMENT_MARK] = "mark", [MOMENT_OOM] = "request that failed",
	};
	const char *thing = things[at->moment.kind] ?: "moment";

	if (at->moment.name)
		say("%s: no range has the name '%s'", at->path, at->moment.name);
	else
		say("%s: there is no %s %u: there are %llu", at->path, thing, at->moment.number,
		    (unsigned long long)search->newest);
	return GMT_EXIT_TARGET;
}

/* The second reading must give what the first one gave; a recording that is being written may have grown. */
static int compare_readings(const struct at_moment *at, uint64_t records, const struct moment_search *search,
			    const char *first_note)
{
	const char *note = at->playback.note;

	if (records < search->records) {
		say("%s: the second reading gave only %llu of %llu records%s%s", at->path, (unsigned long long)records,
		    (unsigned long long)search->records, *note ? ": " : "", note);
		return GMT_EXIT_FAILURE;
	}
	if (*note && strcmp(note, first_note))
		say("%s: %s", at->path, note);
	return GMT_EXIT_OK;
}

/* The view at a record of the file. The names come from the whole file. */
static int build_at(struct at_moment *at, const struct options *options, struct attribution *attribution,
		    const struct moment_search *search, const char *first_note)
{
	struct options quiet = *options;
	struct pipeline *pl = new_pipeline();
	const struct gmt_hdr *record;
	uint64_t count = 0;

	quiet.quiet++;
	if (!open_replay(at, &quiet, NULL)) {
		pipeline_free(pl);
		return GMT_EXIT_FAILURE;
	}
	while ((record = playback_next(&at->playback))) {
		if (count++ < search->found || moment_is_name(record))
			pipeline_apply(pl, record, record->size);
	}
	at->playback.pipeline = pl;
	if (compare_readings(at, count, search, first_note))
		return GMT_EXIT_FAILURE;
	attribution_renew(attribution);
	take_view(at, options, attribution);
	at->view.now_ns = search->found_ns;
	return GMT_EXIT_OK;
}

static bool can_read_twice(const char *path)
{
	struct stat st;

	return strcmp(path, "-") && (stat(path, &st) || S_ISREG(st.st_mode));
}

int at_moment_build(struct at_moment *at, const struct options *options, struct attribution *attribution)
{
	struct options one = *options;
	struct moment_search search;
	char note[sizeof(at->playback.note)];
	const struct gmt_hdr *record;
	int code = GMT_EXIT_FAILURE;

	one.input = at->path;
	attribution_renew(attribution);
	if (at->moment.kind != MOMENT_END && !can_read_twice(at->path)) {
		say("%s can be read only once: give its end, as in FILE@end, or a file", at->path);
		return GMT_EXIT_USAGE;
	}
	if (!open_replay(at, &one, new_pipeline()))
		return GMT_EXIT_FAILURE;
	moment_search_init(&search, &at->moment);
	while ((record = playback_next(&at->playback)))
		moment_search_see(&search, at->playback.pipeline, record);
	moment_search_end(&search, at->playback.pipeline);
	at->lost = search.lost;
	if (at->playback.is_unread) {
		code = GMT_EXIT_FAILURE;
	} else if (at->playback.is_dump) {
		code = take_picture(at, &one, attribution);
	} else if (at->moment.kind == MOMENT_END || (at->moment.kind == MOMENT_PEAK && !search.found)) {
		take_view(at, &one, attribution);
		code = GMT_EXIT_OK;
	} else if (!search.found) {
		code = say_never(at, &search);
	} else {
		memcpy(note, at->playback.note, sizeof(note));
		close_replay(at);
		code = build_at(at, &one, attribution, &search, note);
	}
	moment_search_fini(&search);
	at->playback.options = options;
	return code;
}

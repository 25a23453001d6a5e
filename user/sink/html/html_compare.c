// SPDX-License-Identifier: BSD-2-Clause
#include "sink/html/html_compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/out.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "sink/compare/diff_names.h"
#include "sink/compare/ranks_sinks.h"
#include "sink/html/html_page.h"
#include "sink/html/html_text.h"
#include "sink/sink.h"
#include "sink/text/redact.h"

extern const char html_compare[], html_compare_end[];

static struct sink_opts text_opts(const struct sink_opts *opts)
{
	struct sink_opts plain = *opts;

	plain.color = false;
	plain.columns = HTML_COLUMNS;
	return plain;
}

/* The page of an object of JSON, and of its text for people. Both are taken. */
static void put_compare_page(struct out *out, const char *member, json_t *value, struct out *text, bool redact)
{
	const struct html_script script = { html_compare, html_compare_end };

	html_page_begin(out);
	html_page_text(out, "Text", text, redact);
	html_page_data_begin(out);
	html_put_json(out, member, value, redact);
	html_page_data_end(out);
	html_page_end(out, &script);
}

/* ---- differences ---- */

static void put_diff(struct out *out, const struct diff *diff, const struct sink_opts *opts)
{
	struct sink_opts plain = text_opts(opts);
	struct out text;

	out_init_mem(&text);
	diff_print(&text, diff, &plain);
	put_compare_page(out, "diff", diff_to_json(diff, opts), &text, opts->redact);
}

/* The name of a moment without the folder of the recording: "/data/run.gmt@mark=a/b" is "run.gmt@mark=a/b". */
static const char *shown_name(const char *name, const char *path)
{
	return name + (path_base(path) - path);
}

void html_write_diff(struct out *out, const struct diff *diff, const struct sink_opts *opts)
{
	struct view views[DIFF_SIDES];
	struct diff copy = *diff;

	if (!opts->redact) {
		put_diff(out, diff, opts);
		return;
	}
	for (int side = 0; side < DIFF_SIDES; side++) {
		redact_view(diff->sides[side].view, &views[side]);
		copy.sides[side].view = &views[side];
		copy.sides[side].name = shown_name(diff->sides[side].name, diff->sides[side].path);
	}
	put_diff(out, &copy, opts);
	for (int side = 0; side < DIFF_SIDES; side++)
		redact_free(&views[side]);
}

/* ---- ranks ---- */

static void put_ranks(struct out *out, const struct ranks *ranks, const struct sink_opts *opts)
{
	struct sink_opts plain = text_opts(opts);
	struct out text;

	out_init_mem(&text);
	ranks_print(&text, ranks, &plain);
	put_compare_page(out, "ranks", ranks_to_json(ranks, opts), &text, opts->redact);
}

static void put_redacted_ranks(struct out *out, const struct ranks *ranks, const struct sink_opts *opts)
{
	struct ranks_source *sources = xreallocarray(NULL, ranks->source_count + 1, sizeof(*sources));
	struct view *views = xreallocarray(NULL, ranks->source_count + 1, sizeof(*views));
	struct rank *list = xreallocarray(NULL, ranks->count + 1, sizeof(*list));
	struct ranks copy = *ranks;

	for (size_t i = 0; i < ranks->source_count; i++) {
		redact_view(ranks->sources[i].view, &views[i]);
		sources[i] = ranks->sources[i];
		sources[i].view = &views[i];
		sources[i].name = shown_name(sources[i].name, sources[i].path);
	}
	for (size_t i = 0; i < ranks->count; i++) {
		const struct rank *rank = &ranks->list[i];

		list[i] = *rank;
		list[i].proc = views[rank->source].procs + (rank->proc - ranks->sources[rank->source].view->procs);
	}
	copy.sources = sources;
	copy.list = list;
	put_ranks(out, &copy, opts);
	for (size_t i = 0; i < ranks->source_count; i++)
		redact_free(&views[i]);
	free(sources);
	free(views);
	free(list);
}

void html_write_ranks(struct out *out, const struct ranks *ranks, const struct sink_opts *opts)
{
	if (opts->redact)
		put_redacted_ranks(out, ranks, opts);
	else
		put_ranks(out, ranks, opts);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* gpumemtrace report of several recordings: the ranks of one job beside each other. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/out.h"
#include "base/xalloc.h"
#include "cli/cli.h"
#include "commands/at_moment.h"
#include "commands/commands.h"
#include "core/compare/ranks.h"
#include "output_files.h"
#include "outputs.h"
#include "pager.h"
#include "say.h"

struct recordings {
	struct at_moment *list;      /* in the order of the ranks */
	size_t count;
};

/* rank2.gmt comes before rank10.gmt, in whatever order the shell gives the names. */
static int compare_versions(const void *left, const void *right)
{
	const struct at_moment *a = left, *b = right;

	return strverscmp(a->name, b->name);
}

/* Returns an exit code. */
static int read_recordings(struct recordings *r, const struct options *options, struct attribution *attribution)
{
	int code = GMT_EXIT_OK;

	r->list = xcalloc(options->more.count + 1, sizeof(*r->list));
	for (size_t i = 0; !code && i <= options->more.count; i++)
		code = at_moment_read(i ? options->more.texts[i - 1] : options->input, NULL, &r->list[r->count++]);
	if (!code)
		qsort(r->list, r->count, sizeof(*r->list), compare_versions);
	for (size_t i = 0; !code && i < r->count; i++)
		code = at_moment_build(&r->list[i], options, attribution);
	return code;
}

static struct ranks_source *sources_of(const struct recordings *r, bool *is_lost)
{
	struct ranks_source *sources = xcalloc(r->count, sizeof(*sources));

	for (size_t i = 0; i < r->count; i++) {
		const struct at_moment *at = &r->list[i];

		sources[i] = (struct ranks_source){
			.name = at->name, .path = at->path, .view = at_moment_view(at), .lost = at->lost,
			.has_ended = at->moment.kind == MOMENT_END || at->is_picture,
			.is_incomplete = at->playback.note[0],
		};
		*is_lost |= sources[i].lost || sources[i].is_incomplete;
	}
	return sources;
}

/* Writes the files, and prints the report. Returns an exit code. */
static int print_ranks(const struct recordings *r, const struct options *options)
{
	int fd = outputs_fd(options), err, files_err;
	struct sink_opts opts = outputs_opts(options, fd);
	bool is_lost = false;
	struct ranks_source *sources = sources_of(r, &is_lost);
	struct ranks ranks;
	struct pager pager;
	struct out out;

	ranks_build(sources, r->count, &ranks);
	files_err = output_files_ranks(options, &ranks, &opts);
	pager_start(&pager, options);
	out_init_fd(&out, fd);
	outputs_format(options)->ranks(&out, &ranks, &opts);
	err = pager_end(&pager, out_close(&out));
	if (err && err != -ENOENT)
		say("cannot write the report: %s", strerror(-err));
	ranks_free(&ranks);
	free(sources);
	return err || files_err ? GMT_EXIT_FAILURE : options->strict && is_lost ? GMT_EXIT_LOST : GMT_EXIT_OK;
}

int ranks_run(const struct options *options, struct attribution *attribution)
{
	struct recordings r = { 0 };
	int code = read_recordings(&r, options, attribution);

	if (!code)
		code = print_ranks(&r, options);
	for (size_t i = 0; i < r.count; i++)
		at_moment_free(&r.list[i]);
	free(r.list);
	return code;
}

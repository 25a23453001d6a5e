/* SPDX-License-Identifier: BSD-2-Clause */
/* gpumemtrace diff: two recordings or dumps, or two moments of one, beside each other. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/out.h"
#include "cli/cli.h"
#include "commands/at_moment.h"
#include "commands/commands.h"
#include "core/compare/diff.h"
#include "core/ledger/ledger.h"
#include "core/pipeline/pipeline.h"
#include "output_files.h"
#include "outputs.h"
#include "pager.h"
#include "say.h"

static bool is_one_file(const char *a, const char *b)
{
	struct stat left, right;

	return !strcmp(a, b) || (!stat(a, &left) && !stat(b, &right) && left.st_dev == right.st_dev &&
				 left.st_ino == right.st_ino);
}

static struct diff_side side_of(const struct at_moment *at)
{
	return (struct diff_side){
		.name = at->name, .path = at->path,
		.view = at_moment_view(at), .frames = ledger_frames(at->playback.pipeline->ledger),
		.has_ended = at->moment.kind == MOMENT_END || at->is_picture, .is_picture = at->is_picture,
		.is_incomplete = at->playback.note[0], .lost = at->lost,
	};
}

/* Writes the files, and prints the difference. Returns an exit code. */
static int print_diff(const struct diff *diff, const struct options *options)
{
	int fd = outputs_fd(options), err, files_err;
	struct sink_opts opts = outputs_opts(options, fd);
	struct pager pager;
	struct out out;

	files_err = output_files_diff(options, diff, &opts);
	pager_start(&pager, options);
	out_init_fd(&out, fd);
	outputs_format(options)->diff(&out, diff, &opts);
	err = pager_end(&pager, out_close(&out));
	if (err && err != -ENOENT)
		say("cannot write the output: %s", strerror(-err));
	return err || files_err ? GMT_EXIT_FAILURE : GMT_EXIT_OK;
}

static int compare_sides(const struct at_moment sides[DIFF_SIDES], const struct options *options)
{
	const struct diff_side of[DIFF_SIDES] = { side_of(&sides[DIFF_A]), side_of(&sides[DIFF_B]) };
	bool is_lost = false;
	struct diff diff;
	int code;

	diff_build(of, is_one_file(sides[DIFF_A].path, sides[DIFF_B].path), &diff);
	code = print_diff(&diff, options);
	for (int side = 0; side < DIFF_SIDES; side++)
		is_lost |= diff.limits[DIFF_LIMIT_LOSSES][side] || diff.limits[DIFF_LIMIT_INCOMPLETE][side];
	diff_free(&diff);
	return code ? code : options->strict && is_lost ? GMT_EXIT_LOST : GMT_EXIT_OK;
}

int diff_run(const struct options *options, struct attribution *attribution)
{
	const char *const texts[DIFF_SIDES] = { options->input, options->more.texts[0] };
	struct at_moment sides[DIFF_SIDES] = { 0 };
	int code = GMT_EXIT_OK;

	for (int side = 0; !code && side < DIFF_SIDES; side++)
		code = at_moment_read(texts[side], side ? &sides[DIFF_A] : NULL, &sides[side]);
	for (int side = 0; !code && side < DIFF_SIDES; side++)
		code = at_moment_build(&sides[side], options, attribution);
	if (!code)
		code = compare_sides(sides, options);
	for (int side = 0; side < DIFF_SIDES; side++)
		at_moment_free(&sides[side]);
	return code;
}

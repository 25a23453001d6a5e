/* SPDX-License-Identifier: BSD-2-Clause */
#include "command_replay.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "display.h"
#include "playback.h"

/* Prints the report and writes files; whether anything is missing from it goes to *incomplete. An exit code. */
static int print_replay(const struct playback *pb, bool *incomplete)
{
	struct display *display = display_new(pb->options);
	const char *notes[2];
	size_t note_count = 0;
	uint64_t lost = 0;
	int err;

	if (pb->note[0])
		notes[note_count++] = pb->note;
	if (pb->is_dump)
		notes[note_count++] = "this is a dump of one moment; 'gpumemtrace oom' shows all of it";
	err = display_report(display, pb->pipeline, notes, note_count, &lost);
	if (pb->note[0] && !pb->options->quiet)
		fprintf(stderr, "gpumemtrace: %s: %s\n", pb->options->input, pb->note);
	*incomplete = lost || pb->note[0];
	if (err)
		fprintf(stderr, "gpumemtrace: cannot write the report: %s\n", strerror(-err));
	err = display_files(display, pb->pipeline) ?: err;
	display_free(display);
	return err ? GMT_EXIT_FAILURE : GMT_EXIT_OK;
}

static int report_playback(struct playback *pb)
{
	bool incomplete = false;
	int code;

	while (playback_next(pb))
		;
	if (playback_failed(pb))
		return GMT_EXIT_FAILURE;
	code = print_replay(pb, &incomplete);
	if (code == GMT_EXIT_OK && pb->options->strict && incomplete)
		code = GMT_EXIT_LOST;
	return code;
}

int replay_run(const struct options *options)
{
	struct playback pb;
	int code = playback_open(&pb, options) ? report_playback(&pb) : GMT_EXIT_FAILURE;

	playback_close(&pb);
	return code;
}

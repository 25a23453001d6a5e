/* SPDX-License-Identifier: BSD-2-Clause */
/* gpumemtrace replay. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "cli/cli.h"
#include "commands/commands.h"
#include "core/oom/oom_requests.h"
#include "core/pipeline/pipeline.h"
#include "core/view/view.h"
#include "display.h"
#include "outputs.h"
#include "pager.h"
#include "playback.h"
#include "say.h"
#include "streamed_file.h"

/* Whether the recording has the processes and the GPU that --pid and --gpu name. */
static bool has_chosen(const struct playback *pb, struct attribution *attribution)
{
	struct view_request request = outputs_request(pb->options, attribution);

	return (!request.pid_count && !request.gpu) || view_has_chosen(pb->pipeline, &request);
}

/* Prints the report and writes files. picture: of a dump; NULL: none. Returns an exit code. */
static int report_playback(const struct playback *pb, struct attribution *attribution, struct streamed_file *streamed,
			   const struct oom *picture)
{
	struct display *display = display_new(pb->options, attribution, NULL);
	struct pager pager;
	const char *notes[3];
	size_t note_count = 0;
	uint64_t lost = 0;
	int err, files_err;

	if (pb->note[0])
		notes[note_count++] = pb->note;
	display_set_picture_notes(display, note_count);
	if (pb->is_dump)
		notes[note_count++] = "the file is a dump of one moment, which has no numbers for a report:"
				      " gpumemtrace oom says who held the memory";
	if (pb->options->pids.count || pb->options->gpu)
		notes[note_count++] = "only the processes of --pid and the GPU of --gpu are shown; the numbers of"
				      " records, losses and limits are those of the whole session";
	display_set_notes(display, notes, note_count, pb->is_dump ? pb->options->input : NULL);
	files_err = streamed_file_end(streamed, pb->options, attribution, pb->pipeline);
	files_err = display_files(display, pb->pipeline, picture) ?: files_err;
	pager_start(&pager, pb->options);
	err = pager_end(&pager, display_report(display, pb->pipeline, &lost));
	if (err && err != -ENOENT)
		say("cannot write the report: %s", strerror(-err));
	display_free(display);
	if (err || files_err)
		return GMT_EXIT_FAILURE;
	return pb->options->strict && (lost || pb->note[0]) ? GMT_EXIT_LOST : GMT_EXIT_OK;
}

int replay_run(const struct options *options, struct attribution *attribution)
{
	struct streamed_file streamed = { 0 };
	struct oom *picture = NULL;
	int code = GMT_EXIT_FAILURE;
	struct playback pb;

	if (playback_open(&pb, options, outputs_pipeline(options))) {
		playback_show(&pb);
		streamed_file_begin(&streamed, options, pb.pipeline);
		while (playback_next(&pb)) {
			streamed_file_check(&streamed);
			if (pb.is_dump)
				ooms_take_newest(pb.pipeline->ooms, &picture);
		}
		if (pb.is_dump) {
			ooms_finish(pb.pipeline->ooms);
			ooms_take_newest(pb.pipeline->ooms, &picture);
		}
		if (!pb.is_unread && !has_chosen(&pb, attribution)) {
			say("the recording has no such process or GPU: without --pid and --gpu the report shows all");
			code = GMT_EXIT_TARGET;
		} else if (!pb.is_unread) {
			code = report_playback(&pb, attribution, &streamed, picture);
		}
	}
	oom_free(picture);
	playback_close(&pb);
	streamed_file_drop(&streamed);
	return code;
}

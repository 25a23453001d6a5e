// SPDX-License-Identifier: BSD-2-Clause
#include "playback.h"

#include <string.h>

#include <gpumemtrace/wire.h>

#include "cli/cli.h"
#include "core/pipeline/pipeline.h"
#include "say.h"
#include "source/reader.h"

static bool begin_playback(struct playback *pb, const struct options *options, struct pipeline *pipeline, int err)
{
	pb->options = options;
	pb->pipeline = pipeline;
	if (err)
		say("%s: %s", options->input, strerror(-err));
	return !err;
}

bool playback_open(struct playback *pb, const struct options *options, struct pipeline *pipeline)
{
	*pb = (struct playback){ 0 };
	return begin_playback(pb, options, pipeline, reader_open(&pb->reader, options->input));
}

bool playback_open_fd(struct playback *pb, const struct options *options, struct pipeline *pipeline, int fd)
{
	*pb = (struct playback){ 0 };
	return begin_playback(pb, options, pipeline, reader_open_fd(&pb->reader, fd));
}

void playback_close(struct playback *pb)
{
	reader_close(pb->reader);
	pipeline_free(pb->pipeline);
}

void playback_show(struct playback *pb)
{
	if (!pb->options->quiet)
		progress_begin(&pb->progress, pb->options->input, reader_file_bytes(pb->reader));
}

static void end_playback(struct playback *pb)
{
	const struct reader_status *status = reader_status(pb->reader);

	progress_end(&pb->progress);
	reader_describe(status, pb->note, sizeof(pb->note));
	pb->is_unread = reader_refused(status) || (status->end == READER_IO_ERROR && !status->records);
	if (pb->note[0] && (pb->is_unread || !pb->options->quiet))
		say("%s: %s", pb->options->input, pb->note);
}

const struct gmt_hdr *playback_next(struct playback *pb)
{
	const struct gmt_hdr *record = reader_next(pb->reader);

	if (!record) {
		end_playback(pb);
		return NULL;
	}
	progress_see(&pb->progress, reader_status(pb->reader)->read_bytes);
	pb->is_dump |= record->kind == GMT_KIND_OOM;
	if (pb->pipeline)
		pipeline_apply(pb->pipeline, record, record->size);
	return record;
}

// SPDX-License-Identifier: BSD-2-Clause
#include "playback.h"

#include <stdio.h>
#include <string.h>

#include <gpumemtrace/wire.h>

#include "cli.h"
#include "core/pipeline/pipeline.h"
#include "pipeline_for.h"
#include "source/reader.h"

bool playback_open(struct playback *pb, const struct options *options)
{
	int err;

	*pb = (struct playback){ .options = options, .pipeline = pipeline_for(options) };
	err = reader_open(&pb->reader, options->input);
	if (err)
		fprintf(stderr, "gpumemtrace: %s: %s\n", options->input, strerror(-err));
	return !err;
}

void playback_close(struct playback *pb)
{
	reader_close(pb->reader);
	pipeline_free(pb->pipeline);
}

bool playback_next(struct playback *pb)
{
	const struct gmt_hdr *record = reader_next(pb->reader);

	if (!record) {
		reader_describe(reader_status(pb->reader), pb->note, sizeof(pb->note));
		return false;
	}
	pb->is_dump |= record->kind == GMT_KIND_OOM;
	pipeline_apply(pb->pipeline, record, record->size);
	return true;
}

bool playback_failed(const struct playback *pb)
{
	const struct reader_status *status = reader_status(pb->reader);

	if (!reader_refused(status) && (status->end != READER_IO_ERROR || status->records))
		return false;
	fprintf(stderr, "gpumemtrace: %s: %s\n", pb->options->input, pb->note);
	return true;
}

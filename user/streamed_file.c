// SPDX-License-Identifier: BSD-2-Clause
#include "streamed_file.h"

#include <errno.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/ledger/ledger.h"
#include "core/lives/lives.h"
#include "core/pipeline/pipeline.h"
#include "core/view/view.h"
#include "outputs.h"
#include "say.h"
#include "sink/sink.h"

int streamed_file_begin(struct streamed_file *s, const struct options *options, struct pipeline *pipeline)
{
	int err;

	*s = (struct streamed_file){ 0 };
	for (size_t i = 0; sinks[i] && !s->sink; i++)
		if (sinks[i]->stream && options->files[i])
			*s = (struct streamed_file){ .name = options->files[i], .sink = sinks[i] };
	if (!s->sink)
		return 0;
	err = out_file_may_be_new(s->name);
	if (!err)
		err = out_file_begin(&s->file, s->name, false);
	if (!err && !out_file_is_new(&s->file))
		err = out_file_end(&s->file, OUT_FILE_SPECIAL);
	if (err) {
		say("cannot write %s: %s%s", s->name, out_file_why(err), out_file_remedy(err));
		s->has_failed = true;
		return err;
	}
	s->taker = s->sink->stream->begin(s->file.fd);
	pipeline_tell(pipeline, s->taker);
	return 0;
}

static void tell_failure(struct streamed_file *s, int err)
{
	if (!s->has_failed)
		say("%s: %s: the file is not written", s->name, out_file_why(err));
	s->has_failed = true;
}

/* Others need the room on the disk. */
void streamed_file_check(struct streamed_file *s)
{
	int err = s->taker && !s->has_failed ? s->sink->stream->error(s->taker) : 0;

	if (!err)
		return;
	tell_failure(s, err);
	if (ftruncate(s->file.fd, 0))
		return;   /* it is removed at the end */
}

static int end_taker(struct streamed_file *s, const struct sink_end *end)
{
	int err = s->sink->stream->end(s->taker, end);

	s->taker = NULL;
	return out_file_end(&s->file, err ? err : end ? 0 : -ECANCELED);
}

int streamed_file_end(struct streamed_file *s, const struct options *options, struct attribution *attribution,
		      const struct pipeline *pipeline)
{
	struct view_request request;
	struct view view;
	int err;

	if (!s->taker)
		return s->has_failed ? -EIO : 0;
	lives_finish(pipeline->lives);
	request = outputs_request(options, attribution);
	request.pid_count = 0;
	request.pids = NULL;
	request.gpu = NULL;
	request.ages = false;
	request.top = 0;
	view_build(pipeline, &request, &view);
	err = end_taker(s, &(struct sink_end){
		.view = &view, .frames = ledger_frames(pipeline->ledger), .gpus = ledger_gpus(pipeline->ledger),
		.request = &request,
	});
	view_free(&view);
	if (err)
		tell_failure(s, err);
	return err;
}

void streamed_file_drop(struct streamed_file *s)
{
	if (s->taker)
		end_taker(s, NULL);
}

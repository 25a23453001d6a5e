// SPDX-License-Identifier: BSD-2-Clause
/*
 * gpumemtrace oom. A dump holds the outcome of a request; in a recording the outcome follows from the records. Names
 * may come long after the stacks that they name, so everything is printed at the end.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "base/out.h"
#include "cli/cli.h"
#include "commands.h"
#include "core/history/history.h"
#include "core/history/history_dump.h"
#include "core/oom/oom_requests.h"
#include "core/view/oom_view.h"
#include "core/ledger/process.h"
#include "core/pipeline/pipeline.h"
#include "output_files.h"
#include "outputs.h"
#include "playback.h"
#include "say.h"

#define PICTURES_MAX 64   /* if a recording has more, the first half of these and the newest stay */

/* One request, and the changes before the request. The changes are taken when the request is met, because the
 * history goes on. */
struct request {
	struct oom *oom;
	struct history_changes changes;
};

struct found {
	struct playback pb;
	struct attribution *attribution;
	struct request *list;    /* in order of appearance */
	size_t count, pictures;
};

/* ---- gathering ---- */

static void free_oldest_picture(struct found *f)
{
	for (size_t i = PICTURES_MAX / 2; i < f->count; i++) {
		if (!f->list[i].oom->row_count)
			continue;
		oom_forget_picture(f->list[i].oom);
		f->pictures--;
		return;
	}
}

static void look_back(const struct found *f, struct request *request)
{
	const struct history *history = f->pb.pipeline->history;
	const struct gmt_oom *rec = &request->oom->rec;

	if (history)
		history_changes(history, rec->number ? rec->hdr.tgid : 0, history_moment(history, rec), rec->hdr.ts_ns,
				PROCESS_RECENT_NS, &request->changes);
}

/* Updates a request of the list with new facts. False: the request is new. */
static bool update_request(struct found *f, struct oom *oom)
{
	for (size_t i = f->count; i-- > 0;) {
		struct oom *old = f->list[i].oom;

		if (!oom->rec.number || old->rec.number != oom->rec.number)
			continue;
		if (oom->row_count) {
			f->pictures -= old->row_count != 0;
			oom_forget_picture(old);
			*old = *oom;
			free(oom);
			look_back(f, &f->list[i]);
		} else {
			uint8_t unseen = old->rec.flags & GMT_OOM_UNSEEN;

			old->rec = oom->rec;
			old->rec.flags |= unseen;
			oom_free(oom);
		}
		return true;
	}
	return false;
}

static void gather_ooms(struct found *f)
{
	struct oom *oom;

	while ((oom = ooms_take(f->pb.pipeline->ooms))) {
		f->pictures += oom->row_count != 0;
		if (f->pictures > PICTURES_MAX)
			free_oldest_picture(f);
		if (update_request(f, oom))
			continue;
		f->list = xreallocarray(f->list, f->count + 1, sizeof(*f->list));
		f->list[f->count] = (struct request){ .oom = oom };
		look_back(f, &f->list[f->count++]);
	}
}

/* ---- printing ---- */

/* Sorts requests by the time when they began. */
static int compare_requests(const void *left, const void *right)
{
	const struct oom *a = ((const struct request *)left)->oom, *b = ((const struct request *)right)->oom;

	if (a->rec.number != b->rec.number)
		return a->rec.number < b->rec.number ? -1 : 1;
	return (a->rec.hdr.ts_ns > b->rec.hdr.ts_ns) - (a->rec.hdr.ts_ns < b->rec.hdr.ts_ns);
}

static int print_all(const struct found *f)
{
	const char *note = f->pb.note;
	int fd = outputs_fd(f->pb.options), err;
	const struct sink *format = outputs_format(f->pb.options, isatty(fd));
	struct sink_opts opts = outputs_opts(f->pb.options, fd);
	struct view_request request = outputs_request(f->pb.options, f->attribution);
	struct out out;

	opts.notes = &note;
	opts.note_count = *note != '\0';
	out_init_fd(&out, fd);
	if (f->count)
		qsort(f->list, f->count, sizeof(*f->list), compare_requests);
	for (size_t i = 0; i < f->count; i++, opts.printed++) {
		struct oom_view view;

		oom_view_build(f->pb.pipeline, f->list[i].oom, &request, &view);
		view.changes = f->list[i].changes;
		format->oom(&out, &view, &opts);
		oom_view_free(&view);
	}
	if (!f->count && format->no_oom)
		format->no_oom(&out, &opts);
	err = out_close(&out);
	if (err)
		say("cannot write the output: %s", strerror(-err));
	return output_files_write(f->pb.options, f->attribution, f->pb.pipeline, &opts) ?: err;
}

static int report_requests(struct found *f)
{
	while (playback_next(&f->pb))
		gather_ooms(f);
	ooms_finish(f->pb.pipeline->ooms);
	gather_ooms(f);
	if (f->pb.is_unread || print_all(f))
		return GMT_EXIT_FAILURE;
	return f->pb.options->strict && f->pb.note[0] ? GMT_EXIT_LOST : GMT_EXIT_OK;
}

int oom_run(const struct options *options, struct attribution *attribution)
{
	struct found found = { .attribution = attribution };
	int code = GMT_EXIT_FAILURE;

	if (playback_open(&found.pb, options, outputs_pipeline(options)))
		code = report_requests(&found);
	for (size_t i = 0; i < found.count; i++)
		oom_free(found.list[i].oom);
	free(found.list);
	playback_close(&found.pb);
	return code;
}

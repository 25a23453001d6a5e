// SPDX-License-Identifier: BSD-2-Clause
/*
 * gpumemtrace oom. A recording is replayed, and what its requests came to is told from its records; a dump
 * has that in it. Names may come long after what they name: all is printed at the end.
 */
#include "command_oom.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attribution.h"
#include "base/xalloc.h"
#include "base/out.h"
#include "cli.h"
#include "core/history/history.h"
#include "core/history/history_recent.h"
#include "core/history/history_dump.h"
#include "core/oom/oom_requests.h"
#include "core/view/oom_view.h"
#include "core/ledger/process.h"
#include "core/pipeline/pipeline.h"
#include "output_files.h"
#include "outputs.h"
#include "playback.h"

#define PICTURES_MAX 64   /* of a recording with more the first half and the newest are kept */

/* One request, and what came and went before it: known when it is met, as the history goes on. */
struct told {
	struct oom *oom;
	struct history_changes changes;
};

struct found {
	struct playback pb;
	struct told *list;       /* by number, in order of appearance */
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

static void look_back(const struct found *f, struct told *told)
{
	const struct history *history = f->pb.pipeline->history;
	const struct gmt_oom *rec = &told->oom->rec;

	if (history)
		history_changes(history, rec->number ? rec->hdr.tgid : 0, history_moment(history, rec), rec->hdr.ts_ns,
				PROCESS_RECENT_NS, &told->changes);
}

/* More is known about one that was there already. */
static bool update_told(struct found *f, struct oom *oom)
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
		if (update_told(f, oom))
			continue;
		f->list = xreallocarray(f->list, f->count + 1, sizeof(*f->list));
		f->list[f->count] = (struct told){ .oom = oom };
		look_back(f, &f->list[f->count++]);
	}
}

/* ---- printing ---- */

struct printer {
	const struct sink *format;
	struct out out;
	struct sink_opts opts;
	struct view_request request;
};

static void print_oom(struct printer *p, const struct found *f, const struct told *told)
{
	struct oom_view view;

	oom_view_build(f->pb.pipeline, told->oom, &p->request, &view);
	view.changes = told->changes;
	p->format->oom(&p->out, &view, &p->opts);
	p->opts.printed++;
	oom_view_free(&view);
}

/* In the order in which they began. */
static int compare_told(const void *left, const void *right)
{
	const struct oom *a = ((const struct told *)left)->oom, *b = ((const struct told *)right)->oom;

	if (a->rec.number != b->rec.number)
		return a->rec.number < b->rec.number ? -1 : 1;
	return (a->rec.hdr.ts_ns > b->rec.hdr.ts_ns) - (a->rec.hdr.ts_ns < b->rec.hdr.ts_ns);
}

static int print_all(const struct found *f)
{
	const char *note = f->pb.note;
	char why[PLAYBACK_SENTENCE];
	struct attribution *attribution = attribution_new(f->pb.options, why, sizeof(why));
	int fd = outputs_fd(f->pb.options), err;
	struct printer p = {
		.format = outputs_format(f->pb.options, isatty(fd)),
		.opts = outputs_opts(f->pb.options, fd),
		.request = outputs_request(f->pb.options, attribution),
	};

	p.opts.notes = &note;
	p.opts.note_count = *note != '\0';
	out_init_fd(&p.out, fd);
	if (f->count)
		qsort(f->list, f->count, sizeof(*f->list), compare_told);
	for (size_t i = 0; i < f->count; i++)
		print_oom(&p, f, &f->list[i]);
	if (!f->count && p.format->no_oom)
		p.format->no_oom(&p.out, &p.opts);
	err = out_close(&p.out);
	if (err)
		fprintf(stderr, "gpumemtrace: cannot write the output: %s\n", strerror(-err));
	err = output_files_write(f->pb.options, attribution, f->pb.pipeline, &p.opts) ?: err;
	attribution_free(attribution);
	return err;
}

static int report_requests(struct found *f)
{
	const struct options *options = f->pb.options;
	int err;

	while (playback_next(&f->pb))
		gather_ooms(f);
	ooms_finish(f->pb.pipeline->ooms);
	gather_ooms(f);
	if (playback_failed(&f->pb))
		return GMT_EXIT_FAILURE;
	if (f->pb.note[0] && !options->quiet)
		fprintf(stderr, "gpumemtrace: %s: %s\n", options->input, f->pb.note);
	err = print_all(f);
	return err ? GMT_EXIT_FAILURE : options->strict && f->pb.note[0] ? GMT_EXIT_LOST : GMT_EXIT_OK;
}

int oom_run(const struct options *options)
{
	struct found found = { 0 };
	int code = playback_open(&found.pb, options) ? report_requests(&found) : GMT_EXIT_FAILURE;

	for (size_t i = 0; i < found.count; i++)
		oom_free(found.list[i].oom);
	free(found.list);
	playback_close(&found.pb);
	return code;
}

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

#include <gpumemtrace/wire.h>

#include "attribution.h"
#include "base/xalloc.h"
#include "base/out.h"
#include "cli.h"
#include "core/history/history.h"
#include "core/history/history_recent.h"
#include "core/history/history_dump.h"
#include "core/ledger/ledger.h"
#include "core/oom/oom_requests.h"
#include "core/view/oom_view.h"
#include "core/ledger/process.h"
#include "sink/oom/oom_sinks.h"
#include "sink/sink.h"
#include "snapshot_file.h"
#include "source/reader.h"

#define SENTENCE_MAX 512
#define PICTURES_MAX 64   /* of a recording with more the first half and the newest are kept */

/* One request, and what came and went before it: known when it is met, as the history goes on. */
struct told {
	struct oom *oom;
	struct history_changes changes;
};

struct found {
	const struct options *options;
	struct ledger *ledger;
	struct history *history;
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
	const struct gmt_oom *rec = &told->oom->rec;

	if (f->history)
		history_changes(f->history, rec->number ? rec->hdr.tgid : 0, history_moment(f->history, rec),
				rec->hdr.ts_ns, PROCESS_RECENT_NS, &told->changes);
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

	while ((oom = ooms_take(f->ledger))) {
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
	struct out out;
	struct sink_opts opts;
	struct view_request request;
	size_t printed;
};

static void print_oom(struct printer *p, const struct found *f, const struct told *told)
{
	bool is_short = told->oom->rec.outcome == GMT_OOM_RETRY && !f->options->verbose;
	struct oom_view view;

	oom_view_build(f->ledger, told->oom, &p->request, &view);
	view.changes = told->changes;
	if (f->options->json) {
		oom_print_json(&p->out, &view, &p->opts);
	} else {
		if (p->printed)
			out_char(&p->out, '\n');
		if (is_short) {
			oom_text_head(&p->out, &view);
			out_char(&p->out, '\n');
			oom_text(&p->out, &view, "  ");
		} else {
			oom_print(&p->out, &view, &p->opts);
		}
	}
	p->printed++;
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

static int print_all(const struct found *f, const char *note)
{
	char why[SENTENCE_MAX];
	struct attribution *attribution = attribution_new(f->options, why, sizeof(why));
	struct printer p = {
		.opts = { .full_stacks = f->options->full_stacks, .notes = &note, .note_count = *note != '\0',
			  .color = cli_use_color(f->options, isatty(STDOUT_FILENO)) },
		.request = { .top = f->options->top },
	};

	attribution_ask(attribution, &p.request);
	/* That is the snapshot's, if it goes there. */
	out_init_fd(&p.out, f->options->snapshot && !strcmp(f->options->snapshot, "-") ? STDERR_FILENO : STDOUT_FILENO);
	if (f->count)
		qsort(f->list, f->count, sizeof(*f->list), compare_told);
	for (size_t i = 0; i < f->count; i++)
		print_oom(&p, f, &f->list[i]);
	if (!p.printed && !f->options->json)
		out_text(&p.out, "no request for memory failed for want of it\n");
	attribution_free(attribution);
	return out_close(&p.out);
}

int oom_run(const struct options *options)
{
	struct found found = { .options = options, .ledger = ledger_new() };
	struct reader *reader = NULL;
	const struct reader_status *status;
	const struct gmt_hdr *record;
	char sentence[SENTENCE_MAX];
	int err, code = GMT_EXIT_FAILURE;

	err = reader_open(&reader, options->input);
	if (err) {
		fprintf(stderr, "gpumemtrace: %s: %s\n", options->input, strerror(-err));
		goto out;
	}
	ooms_want(found.ledger);
	found.history = snapshot_file_history(options, found.ledger);
	while ((record = reader_next(reader))) {
		if (!ledger_apply(found.ledger, record, record->size) && found.history)
			history_see(found.history, found.ledger, record);
		gather_ooms(&found);
	}
	ooms_finish(found.ledger);
	gather_ooms(&found);
	status = reader_status(reader);
	reader_describe(status, sentence, sizeof(sentence));
	if (sentence[0] && !options->quiet)
		fprintf(stderr, "gpumemtrace: %s: %s\n", options->input, sentence);
	if (reader_refused(status) || (status->end == READER_IO_ERROR && !status->records))
		goto out;
	err = print_all(&found, sentence);
	if (err)
		fprintf(stderr, "gpumemtrace: writing: %s\n", strerror(-err));
	err = snapshot_file_write(options, found.history, found.ledger) ?: err;
	code = err ? GMT_EXIT_FAILURE : options->strict && sentence[0] ? GMT_EXIT_LOST : GMT_EXIT_OK;
out:
	for (size_t i = 0; i < found.count; i++)
		oom_free(found.list[i].oom);
	free(found.list);
	reader_close(reader);
	history_free(found.history);
	ledger_free(found.ledger);
	return code;
}

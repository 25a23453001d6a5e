// SPDX-License-Identifier: BSD-2-Clause
/*
 * gpumemtrace oom: explains the requests of files, and lists those of directories. A dump holds the outcome of a
 * request; in a recording the outcome follows from the records. Names may come long after the stacks that they name, so
 * everything is printed at the end of a file.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attribution.h"
#include "base/hash.h"
#include "base/human.h"
#include "base/xalloc.h"
#include "base/out.h"
#include "cli/cli.h"
#include "commands/commands.h"
#include "core/history/history.h"
#include "core/history/history_dump.h"
#include "core/oom/oom_requests.h"
#include "core/view/oom_view.h"
#include "core/view/view_filter.h"
#include "core/ledger/process.h"
#include "core/pipeline/pipeline.h"
#include "output_files.h"
#include "outputs.h"
#include "pager.h"
#include "playback.h"
#include "say.h"
#include "source/dump_folder.h"

#define REQUESTS_MAX 100000
#define NAMED_MAX 8       /* processes in a sentence */
#define GPU_COLUMNS 64
#define ROWS_LEAST 3      /* requests of a file from which on a list of them comes first */
#define ROWS_MOST 20
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
	struct hash by_number;   /* size_t: 1 + index in the list. A file may have any number of requests */
	size_t oldest;           /* no request before this one has a picture that may go */
	uint64_t left_out;       /* requests beyond REQUESTS_MAX */
};

/* ---- gathering ---- */

static void free_oldest_picture(struct found *f)
{
	for (; f->oldest < f->count; f->oldest++) {
		if (f->oldest < PICTURES_MAX / 2 || !f->list[f->oldest].oom->row_count)
			continue;
		oom_forget_picture(f->list[f->oldest].oom);
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

/* Updates the request at `at` with new facts. */
static void update_request(struct found *f, size_t at, struct oom *oom)
{
	struct oom *old = f->list[at].oom;
	uint8_t unseen = old->rec.flags & GMT_OOM_UNSEEN;

	if (oom->row_count) {
		f->pictures -= old->row_count != 0;
		f->oldest = at < f->oldest ? at : f->oldest;
		oom_forget_picture(old);
		*old = *oom;
		free(oom);
		look_back(f, &f->list[at]);
		return;
	}
	old->rec = oom->rec;
	old->rec.flags |= unseen;
	oom_free(oom);
}

static void add_request(struct found *f, struct oom *oom)
{
	size_t *known = oom->rec.number ? hash_put(&f->by_number, oom->rec.number, NULL) : NULL;

	f->pictures += oom->row_count != 0;
	if (known && *known) {
		update_request(f, *known - 1, oom);
	} else if (f->count >= REQUESTS_MAX) {
		f->pictures -= oom->row_count != 0;
		f->left_out++;
		oom_free(oom);
	} else {
		f->list = xgrow(f->list, f->count, sizeof(*f->list));
		f->list[f->count] = (struct request){ .oom = oom };
		look_back(f, &f->list[f->count++]);
		if (known)
			*known = f->count;
	}
	if (f->pictures > PICTURES_MAX)
		free_oldest_picture(f);
}

static void gather_ooms(struct found *f)
{
	struct oom *oom;

	while ((oom = ooms_take(f->pb.pipeline->ooms)))
		add_request(f, oom);
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

/* A request without a process is a picture that somebody asked for: of all processes. */
static bool is_wanted_request(const struct view_request *wanted, const struct oom_view *view)
{
	const struct gmt_oom *rec = &view->rec;

	return (!rec->number || view_wants_process(wanted, rec->hdr.tgid)) &&
	       view_wants_gpu(wanted, &view->view, view->gpu);
}

static bool has_failed(const struct found *f)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->list[i].oom->rec.number)
			return true;
	return false;
}

/* Requests failed, but none of the processes and the GPU that were asked for. */
static void say_others_failed(const struct found *f, const struct view_request *wanted)
{
	size_t told = 0, more = 0;
	struct hash named;
	struct out line;
	char *text;

	out_init_mem(&line);
	out_text(&line, "no request");
	for (size_t i = 0; i < wanted->pid_count && i < NAMED_MAX; i++)
		out_printf(&line, "%s%d", i ? ", " : wanted->pid_count > 1 ? " of processes " : " of process ",
			   (int)wanted->pids[i]);
	if (wanted->pid_count > NAMED_MAX)
		out_text(&line, " and others");
	if (wanted->gpu) {
		out_text(&line, " on GPU ");
		human_print(&line, GPU_COLUMNS, wanted->gpu, strlen(wanted->gpu));
	}
	out_text(&line, " failed; those that failed are of ");
	hash_init(&named, sizeof(char));
	for (size_t i = 0; i < f->count; i++) {
		const struct gmt_oom *rec = &f->list[i].oom->rec;
		bool is_new = false;

		if (rec->number)
			hash_put(&named, rec->hdr.tgid, &is_new);
		if (is_new && told < NAMED_MAX)
			out_printf(&line, "%s%u", told++ ? ", " : "process ", rec->hdr.tgid);
		else
			more += is_new;
	}
	if (more)
		out_printf(&line, " and %zu more", more);
	hash_fini(&named);
	text = out_take(&line);
	say("%s", text);
	free(text);
}

typedef void oom_printer(struct out *out, const struct oom_view *view, const struct sink_opts *opts);

/* Where the requests of all files go. */
struct printing {
	struct out out;
	const struct sink *format;
	struct sink_opts opts;
	bool is_list;            /* a line for each request */
};

/* Prints those of the requests that are wanted, `most` at most. Returns the number of the others. */
static size_t print_each(const struct found *f, const struct view_request *request, struct printing *p,
			 oom_printer *print, size_t most)
{
	struct view_request all = *request;   /* who else holds memory belongs to the answer */
	size_t shown = 0, others = 0;

	all.pid_count = 0;
	all.gpu = NULL;
	for (size_t i = 0; i < f->count; i++) {
		struct oom_view view;

		if (shown == most) {
			others += f->count - i;
			break;
		}
		oom_view_build(f->pb.pipeline, f->list[i].oom, &all, &view);
		view.changes = f->list[i].changes;
		if (is_wanted_request(request, &view)) {
			print(&p->out, &view, &p->opts);
			p->opts.printed++;
			shown++;
		}
		oom_view_free(&view);
	}
	return others;
}

/* Where the texts of a file's requests fill more than a screen, a line for each comes first. */
static void print_contents(const struct found *f, const struct view_request *request, struct printing *p)
{
	const struct sink_opts opts = p->opts;
	size_t others;

	if (opts.printed)
		out_char(&p->out, '\n');
	p->opts.printed = 0;
	p->opts.file = NULL;
	others = print_each(f, request, p, p->format->oom_row, ROWS_MOST);
	p->opts = opts;
	if (others)
		out_printf(&p->out, "and %zu more\n", others);
	if (!p->opts.printed)
		out_char(&p->out, '\n');
}

static void print_requests(struct found *f, struct printing *p)
{
	struct view_request request = outputs_request(f->pb.options, f->attribution);
	bool is_rows = p->is_list && p->format->oom_row;
	size_t before = p->opts.printed;

	if (f->count)
		qsort(f->list, f->count, sizeof(*f->list), compare_requests);
	if (!p->is_list && p->format->oom_row && f->count >= ROWS_LEAST)
		print_contents(f, &request, p);
	print_each(f, &request, p, is_rows ? p->format->oom_row : p->format->oom, SIZE_MAX);
	if (p->opts.printed == before && !p->is_list && has_failed(f))
		say_others_failed(f, &request);
	else if (p->opts.printed == before && !p->is_list && p->format->no_oom)
		p->format->no_oom(&p->out, &p->opts);
}

/* ---- files and directories ---- */

/* The newest request of a dump that has a picture; NULL: the file is no dump. Of a recording, files show all of it. */
static const struct oom *newest_picture(const struct found *f)
{
	for (size_t i = f->count; f->pb.is_dump && i-- > 0;)
		if (f->list[i].oom->row_count)
			return f->list[i].oom;
	return NULL;
}

static int report_requests(struct found *f, struct printing *p)
{
	const struct options *options = f->pb.options;
	const char *note = f->pb.note;
	int err = 0;

	while (playback_next(&f->pb))
		gather_ooms(f);
	ooms_finish(f->pb.pipeline->ooms);
	gather_ooms(f);
	if (f->pb.is_unread)
		return GMT_EXIT_FAILURE;
	if (f->left_out)
		say("%s: %llu more requests are left out", options->input, (unsigned long long)f->left_out);
	p->opts.notes = &note;
	p->opts.note_count = p->opts.picture_notes = *note != '\0';
	/* The text may wait in the pager. */
	if (!p->is_list)
		err = output_files_write(options, f->attribution, f->pb.pipeline, newest_picture(f), &p->opts);
	print_requests(f, p);
	p->opts.notes = NULL;
	p->opts.note_count = p->opts.picture_notes = 0;
	if (err)
		return GMT_EXIT_FAILURE;
	return options->strict && f->pb.note[0] ? GMT_EXIT_LOST : GMT_EXIT_OK;
}

/* fd: the open file; -1: options->input names the file. */
static int explain_file(const struct options *options, struct attribution *attribution, struct printing *p, int fd)
{
	struct pipeline *pipeline = outputs_pipeline(options);
	struct found found = { .attribution = attribution };
	int code = GMT_EXIT_FAILURE;

	attribution_renew(attribution);
	hash_init(&found.by_number, sizeof(size_t));
	if (fd < 0 ? playback_open(&found.pb, options, pipeline) : playback_open_fd(&found.pb, options, pipeline, fd))
		code = report_requests(&found, p);
	for (size_t i = 0; i < found.count; i++)
		oom_free(found.list[i].oom);
	free(found.list);
	hash_fini(&found.by_number);
	playback_close(&found.pb);
	return code;
}

static bool asks_files(const struct options *options)
{
	for (size_t i = 0; sinks[i]; i++)
		if (options->files[i])
			return true;
	return false;
}

static int list_folder(const struct options *options, struct attribution *attribution, struct printing *p)
{
	struct dump_folder *folder = dump_folder_open(options->input);
	struct options one = *options;
	size_t before = p->opts.printed;
	int fd, code = GMT_EXIT_OK;

	if (folder && asks_files(options)) {
		say("%s is a directory, and a file is made of one recording or dump: name it", options->input);
		dump_folder_close(folder);
		return GMT_EXIT_USAGE;
	}
	if (!folder) {
		say("%s: %s", options->input, strerror(errno));
		return GMT_EXIT_FAILURE;
	}
	p->is_list = true;
	while ((fd = dump_folder_next(folder, &one.input)) >= 0) {
		p->opts.file = one.input;
		code = explain_file(&one, attribution, p, fd) ?: code;
	}
	p->is_list = false;
	p->opts.file = NULL;
	if (p->opts.printed == before)
		say("%s: no file there (*.gmt) has a request that failed", options->input);
	if (dump_folder_left_out(folder))
		say("%s: %zu more files were not read: gpumemtrace oom FILE", options->input,
		    dump_folder_left_out(folder));
	if (dump_folder_is_cut(folder))
		say("%s: the folder has too many files to look at all of them: gpumemtrace oom FILE", options->input);
	dump_folder_close(folder);
	return code;
}

static int explain_path(const struct options *options, struct attribution *attribution, struct printing *p,
			const char *path)
{
	struct options one = *options;
	bool is_folder = dump_folder_is(path);

	one.input = path;
	p->opts.file = options->more.count && !is_folder ? path : NULL;
	return is_folder ? list_folder(&one, attribution, p) : explain_file(&one, attribution, p, -1);
}

int oom_run(const struct options *options, struct attribution *attribution)
{
	int fd = outputs_fd(options), code, err;
	struct printing p = { .format = outputs_format(options), .opts = outputs_opts(options, fd) };
	struct pager pager;

	pager_start(&pager, options);
	out_init_fd(&p.out, fd);
	code = explain_path(options, attribution, &p, options->input);
	for (size_t i = 0; i < options->more.count; i++)
		code = explain_path(options, attribution, &p, options->more.texts[i]) ?: code;
	err = pager_end(&pager, out_close(&p.out));
	if (err && err != -ENOENT)
		say("cannot write the output: %s", strerror(-err));
	return err ? GMT_EXIT_FAILURE : code;
}

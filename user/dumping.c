// SPDX-License-Identifier: BSD-2-Clause
#include "dumping.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/xalloc.h"
#include "base/human.h"
#include "base/out.h"
#include "base/out_file.h"
#include "cli/cli.h"
#include "core/history/history_dump.h"
#include "core/ledger/ledger.h"
#include "core/oom/oom_requests.h"
#include "core/oom/oom_dump.h"
#include "core/pipeline/pipeline.h"
#include "dump_writer.h"
#include "say.h"

#define NAMES_NS 10000000000ULL   /* names that take longer will not come */
#define LOOK_NS 100000000ULL      /* between two looks for names: a window has thousands of stacks */
#define OOM_NAME "gpumemtrace-oom-"
#define KEPT_MAX 64               /* dumps that may be written again */
#define BURST_NS 100000000ULL     /* between two failures of a burst, at most */

/* A dump that was written, and may be written again. */
struct kept {
	struct oom *oom;
	struct dump_file *file;
	struct history_subjects window; /* the processes and stacks that its window names */
	uint64_t until_ns, look_ns;     /* the last and the next look for names */
	size_t unnamed;          /* stacks without a name in the last version */
	bool is_later;           /* the request is not the first one of a burst */
};

struct dumping {
	const struct options *options;
	const struct ledger *ledger;
	struct ooms *ooms;
	const struct history *history;
	struct dump_writer *writer;
	struct kept kept[KEPT_MAX];
	size_t kept_count;
	uint32_t written;        /* dumps, each counted once */
	uint32_t asked;
	bool has_said_enough, has_said_error;
	struct gmt_oom announced; /* the newest request that was told */
	struct dump_file *newest; /* that was written; NULL: none */
	struct oom *last_oom;      /* the newest failed request that no dump is kept of any more; NULL: there is none */
};

/* ---- writing ---- */

static void gather_record(void *arg, const void *record, size_t size)
{
	out_bytes(arg, record, size);
}

/* is_new: the picture and the window are new; else the window that was written stays. */
static void write_dump(struct dumping *d, struct kept *k, bool is_new, bool is_first)
{
	struct dump_job *job = xcalloc(1, sizeof(*job));
	struct history_dump *window = NULL;
	struct out out;

	if (is_new && d->history) {
		history_subjects_free(&k->window);
		window = history_dump_begin(d->history, history_moment(d->history, &k->oom->rec), &k->window);
	}
	out_init_mem(&out);
	oom_dump(d->ledger, k->oom, &k->window, gather_record, &out);
	if (!is_new)
		job->window_at = out.size;
	else if (window)
		history_dump_put(window, gather_record, &out);
	oom_dump_end(k->oom, gather_record, &out);
	job->file = dump_file_get(k->file);
	job->size = out.size;
	job->records = out_take(&out);
	job->is_first = is_first;
	k->unnamed = oom_unnamed(d->ledger, k->oom, &k->window);
	dump_writer_put(d->writer, job);
}

/* The newest failed request with a picture stays. A picture that was asked for is of no request. */
static void retire_oom(struct dumping *d, struct oom *oom)
{
	bool is_newer = !d->last_oom || oom->rec.number >= d->last_oom->rec.number;

	if (!oom->rec.number || !oom->row_count || oom->rec.outcome == GMT_OOM_RETRY || !is_newer) {
		oom_free(oom);
		return;
	}
	if (d->last_oom)
		oom_free(d->last_oom);
	d->last_oom = oom;
}

const struct oom *dumping_newest_oom(const struct dumping *d)
{
	const struct oom *newest = d->last_oom;

	for (size_t i = 0; i < d->kept_count; i++)
		if (d->kept[i].oom->rec.number && (!newest || d->kept[i].oom->rec.number >= newest->rec.number))
			newest = d->kept[i].oom;
	return newest;
}

static void release_kept(struct dumping *d, size_t index)
{
	retire_oom(d, d->kept[index].oom);
	dump_file_put(d->kept[index].file);
	history_subjects_free(&d->kept[index].window);
	d->kept[index] = d->kept[--d->kept_count];
}

static const char *dump_folder(const struct dumping *d)
{
	return d->options->oom_dir.path ? d->options->oom_dir.path : ".";
}

/* "DIR/gpumemtrace-oom-20260203-101612-4242-1-0f4d23a9.gmt": the time, the process, the number in the session, and a
 * number that nobody can guess. */
static char *make_dump_path(const struct dumping *d, const struct oom *oom)
{
	const char *dir = dump_folder(d);
	char name[128], day[32];
	unsigned int number = 0;
	size_t size;
	time_t now = time(NULL);
	struct tm tm;
	char *path;

	out_file_random(&number);    /* after an error the name can be guessed; a foreign file there is replaced */
	gmtime_r(&now, &tm);
	strftime(day, sizeof(day), "%Y%m%d-%H%M%S", &tm);
	if (oom->rec.number)
		snprintf(name, sizeof(name), OOM_NAME "%s-%u-%u-%08x.gmt", day, oom->rec.hdr.tgid,
			 oom->rec.number, number);
	else
		snprintf(name, sizeof(name), "gpumemtrace-dump-%s-%u-%08x.gmt", day, d->asked, number);
	size = strlen(dir) + strlen(name) + 2;
	path = xmalloc(size);
	snprintf(path, size, "%s/%s", dir, name);
	return path;
}

/* The dump takes `oom` over. */
static void keep_and_write(struct dumping *d, struct oom *oom, bool is_later, uint64_t now_ns)
{
	struct kept *k;

	if (d->kept_count == KEPT_MAX)
		release_kept(d, 0);
	k = &d->kept[d->kept_count++];
	*k = (struct kept){
		.oom = oom, .file = dump_file_new(make_dump_path(d, oom)), .until_ns = now_ns + NAMES_NS + OOM_FATAL_NS,
		.is_later = is_later,
	};
	d->written++;
	write_dump(d, k, true, true);
}

/* ---- bursts ----
 *
 * A library that tries one way after another, such as cuDNN, has a thread raise dozens of errors in a moment, and the
 * program may die of the last one. The first error has a dump, and the newest error has another one. */

static bool is_next(const struct gmt_oom *before, const struct gmt_oom *rec)
{
	return before->number && rec->number > before->number && before->hdr.tgid == rec->hdr.tgid &&
	       before->hdr.tid == rec->hdr.tid && before->outcome == GMT_OOM_RAISED &&
	       rec->first_ns - before->last_ns < BURST_NS;
}

static struct kept *newer_of(struct kept *a, struct kept *b)
{
	return a && a->oom->rec.number > b->oom->rec.number ? a : b;
}

/* The dump of the request before, in the same burst; NULL: the request is the first one. */
static struct kept *find_before(struct dumping *d, const struct gmt_oom *rec)
{
	struct kept *found = NULL;

	for (size_t i = 0; i < d->kept_count; i++)
		if (is_next(&d->kept[i].oom->rec, rec))
			found = newer_of(found, &d->kept[i]);
	return found;
}

/* The process's newest dump; NULL: there is none, or no more. */
static struct kept *find_newest(struct dumping *d, uint32_t tgid)
{
	struct kept *found = NULL;

	for (size_t i = 0; i < d->kept_count; i++)
		if (d->kept[i].oom->rec.number && d->kept[i].oom->rec.hdr.tgid == tgid)
			found = newer_of(found, &d->kept[i]);
	return found;
}

/* The dump is of this request from now on. is_told: like a new dump. */
static void pass_on(struct dumping *d, struct kept *k, struct oom *oom, bool is_told, uint64_t now_ns)
{
	oom_free(k->oom);
	k->oom = oom;
	k->until_ns = now_ns + NAMES_NS + OOM_FATAL_NS;
	write_dump(d, k, true, is_told);
}

/* More is known about a request that has a picture, and `news` has none. */
static void take_news(struct oom *oom, struct oom *news)
{
	struct gmt_hdr hdr = oom->rec.hdr;   /* the picture's */

	oom->rec = news->rec;
	oom->rec.hdr = hdr;
	oom_free(news);
}

/* The process died of a request that has no dump: the request with the picture that was retired; else `oom`. */
static struct oom *with_picture(struct dumping *d, struct oom *oom)
{
	struct oom *last = d->last_oom;

	if (oom->row_count || !last || !oom->rec.number || last->rec.number != oom->rec.number)
		return oom;
	take_news(last, oom);
	d->last_oom = NULL;
	return last;
}

/* ---- verdicts ---- */

static void announce_oom(struct dumping *d, const struct oom *oom)
{
	static const char *const words[GMT_OOM_OUTCOME_COUNT] = {
		[GMT_OOM_OPEN] = "ran out of memory",
		[GMT_OOM_RETRY] = "ran out of memory, and a retry succeeded",
		[GMT_OOM_RAISED] = "ran out of memory",
		[GMT_OOM_FATAL] = "ended because it ran out of memory",
	};
	uint64_t asked = oom->rec.framework_bytes ? oom->rec.framework_bytes : oom->rec.asked_bytes;
	bool is_later = is_next(&d->announced, &oom->rec);

	d->announced = oom->rec;
	if (d->options->quiet)
		return;
	if (!d->options->verbose &&
	    (oom->rec.outcome == GMT_OOM_RETRY || (is_later && oom->rec.outcome == GMT_OOM_RAISED)))
		return;
	if (asked)
		say("process %u %s; it asked for %s", oom->rec.hdr.tgid, words[oom->rec.outcome],
		    human_bytes(asked).s);
	else
		say("process %u %s", oom->rec.hdr.tgid, words[oom->rec.outcome]);
}

/* Brings the dump of a failure up to date. False: there is no such dump. */
static bool update_kept(struct dumping *d, struct oom *oom)
{
	for (size_t i = 0; i < d->kept_count; i++) {
		struct kept *k = &d->kept[i];
		bool is_new = oom->row_count;

		if (k->oom->rec.number != oom->rec.number || !oom->rec.number)
			continue;
		if (is_new) {
			oom_free(k->oom);
			k->oom = oom;
		} else {
			take_news(k->oom, oom);
		}
		write_dump(d, k, is_new, false);
		return true;
	}
	return false;
}

static bool can_be_dumped(const struct dumping *d, const struct oom *oom)
{
	return oom->rec.outcome != GMT_OOM_RETRY && !d->options->oom_dir.is_off && oom->row_count;
}

static bool is_dump_wanted(struct dumping *d, const struct oom *oom)
{
	if (!can_be_dumped(d, oom))
		return false;
	if (d->written < d->options->oom_max)
		return true;
	if (!d->has_said_enough && !d->options->quiet)
		say("%u %s written: no more dumps will follow (--oom-max)", d->written,
		    human_plural(d->written, "dump was", "dumps were"));
	d->has_said_enough = true;
	return false;
}

static void dump_request(struct dumping *d, struct oom *oom, uint64_t now_ns)
{
	struct kept *before = find_before(d, &oom->rec), *newest = find_newest(d, oom->rec.hdr.tgid);
	bool has_died = oom->rec.outcome == GMT_OOM_FATAL;

	if (has_died)
		oom = with_picture(d, oom);
	if (before && before->is_later && can_be_dumped(d, oom))
		pass_on(d, before, oom, false, now_ns);
	else if (is_dump_wanted(d, oom))
		keep_and_write(d, oom, before != NULL, now_ns);
	else if (has_died && newest && can_be_dumped(d, oom))
		pass_on(d, newest, oom, true, now_ns);
	else
		retire_oom(d, oom);
}

static void take_ooms(struct dumping *d, uint64_t now_ns)
{
	struct oom *oom;

	while ((oom = ooms_take(d->ooms))) {
		announce_oom(d, oom);
		if (!update_kept(d, oom))
			dump_request(d, oom, now_ns);
	}
}

/* ---- names, and dumps that are done ---- */

static void look_for_names(struct dumping *d, uint64_t now_ns, bool is_last)
{
	for (size_t i = 0; i < d->kept_count;) {
		struct kept *k = &d->kept[i];
		bool is_over = is_last || now_ns >= k->until_ns;
		size_t unnamed = k->unnamed;

		if (unnamed && (is_over || now_ns >= k->look_ns)) {
			unnamed = oom_unnamed(d->ledger, k->oom, &k->window);
			k->look_ns = now_ns + LOOK_NS;
		}
		if (k->unnamed && (!unnamed || (is_over && unnamed < k->unnamed)))
			write_dump(d, k, false, false);
		if (is_over)
			release_kept(d, i);
		else
			i++;
	}
}

static void set_newest(struct dumping *d, struct dump_file *file)
{
	if (d->newest)
		dump_file_put(d->newest);
	d->newest = dump_file_get(file);
}

/* The command to type comes first: 80 columns hold it. */
static void announce_dump(const struct dumping *d, const char *path)
{
	const char *folder = dump_folder(d), *name = basename(path);
	const char *what = strncmp(name, OOM_NAME, strlen(OOM_NAME)) ? "who held memory" : "why";

	if (strcmp(folder, "."))
		say("gpumemtrace oom %s says %s; the file is in %s", name, what, folder);
	else
		say("gpumemtrace oom %s says %s", name, what);
}

static void report_done(struct dumping *d)
{
	struct dump_job *job;

	while ((job = dump_writer_done(d->writer))) {
		if (!job->error && job->is_first)
			set_newest(d, job->file);
		if (!job->error && job->is_first && !d->options->quiet)
			announce_dump(d, job->file->path);
		if (job->error && !d->has_said_error)
			say("cannot write %s: %s", job->file->path, out_file_why(job->error));
		d->has_said_error |= job->error != 0;
		dump_job_free(job);
	}
}

void dumping_look(struct dumping *d, uint64_t now_ns)
{
	take_ooms(d, now_ns);
	look_for_names(d, now_ns, false);
	report_done(d);
}

void dumping_ask(struct dumping *d, uint64_t now_ns)
{
	d->asked++;
	d->has_said_error = false;   /* each request gets an answer */
	keep_and_write(d, ooms_picture(d->ooms), false, now_ns);
	d->written--;                /* --oom-max does not count this dump */
}

void dumping_finish(struct dumping *d, uint64_t now_ns, uint64_t wait_ns)
{
	ooms_finish(d->ooms);
	take_ooms(d, now_ns);
	look_for_names(d, now_ns, true);
	dump_writer_finish(d->writer, wait_ns);
	report_done(d);
}

void dumping_wait(struct dumping *d, uint64_t wait_ns)
{
	if (!dump_writer_finish(d->writer, wait_ns))
		say("a dump is missing: writing to %s takes too long", dump_folder(d));
	report_done(d);
}

const char *dumping_newest(const struct dumping *d)
{
	return d->newest ? d->newest->path : NULL;
}

struct dumping *dumping_new(const struct options *options, struct pipeline *pipeline)
{
	struct dumping *d = xcalloc(1, sizeof(*d));

	d->options = options;
	d->ledger = pipeline->ledger;
	d->ooms = pipeline->ooms;
	d->history = pipeline->history;
	d->writer = dump_writer_new();
	return d;
}

bool dumping_free(struct dumping *d)
{
	if (!d)
		return true;
	if (!dump_writer_free(d->writer))
		return false;
	while (d->kept_count)
		release_kept(d, 0);
	if (d->newest)
		dump_file_put(d->newest);
	if (d->last_oom)
		oom_free(d->last_oom);
	free(d);
	return true;
}

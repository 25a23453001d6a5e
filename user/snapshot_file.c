// SPDX-License-Identifier: BSD-2-Clause
/* See snapshot_file.h. */
#include "snapshot_file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "base/human.h"
#include "base/out.h"
#include "base/out_file.h"
#include "cli.h"
#include "core/history/history.h"
#include "core/ledger/ledger.h"
#include "core/ledger/process.h"
#include "core/history/snapshot.h"
#include "core/history/window.h"
#include "core/pipeline/pipeline.h"
#include "sink/export/torch_snapshot.h"
#include "whole_file.h"

static int write_snapshot(const char *path, const struct snapshot *snapshot, const struct ledger *ledger)
{
	struct whole_file file;
	struct out out;
	int err = whole_file_begin(&file, path);

	if (err)
		return err;
	out_init_fd(&out, file.fd);
	torch_snapshot_print(&out, snapshot, ledger_frames(ledger), ledger_wall_ns(ledger));
	return whole_file_end(&file, out_close(&out));
}

/* "run.pickle" of process 4242 is "run.4242.pickle"; of another life of that pid "run.4242-2.pickle". */
static void make_snapshot_path(char *to, size_t size, const char *path, uint32_t pid, unsigned int life)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
	int stem = dot && dot > (slash ? slash + 1 : path) ? (int)(dot - path) : (int)strlen(path);
	char number[16] = "";

	if (life > 1)
		snprintf(number, sizeof(number), "-%u", life);
	snprintf(to, size, "%.*s.%" PRIu32 "%s%s", stem, path, pid, number, path + stem);
}

static unsigned int life_of(const struct history *h, uint32_t process)
{
	unsigned int life = 1;

	for (uint32_t i = 0; i < process; i++)
		life += h->processes[i].of->tgid == h->processes[process].of->tgid;
	return life;
}

/* Which processes there is something to say of: their number; any[i] for process i. */
static unsigned int find_processes(const struct history *h, bool *any)
{
	unsigned int count = 0;

	for (uint32_t i = 0; i < h->process_count; i++) {
		struct window w;

		history_window(h, i, &w);
		any[i] = w.segments.count;
		window_free(&w);
	}
	for (uint64_t n = h->first; n < h->next; n++) {
		const struct history_event *e = history_event(h, n);

		any[e->process] |= n >= h->processes[e->process].since;
	}
	for (uint32_t i = 0; i < h->process_count; i++)
		count += any[i];
	return count;
}

static int write_one(const struct options *options, const struct history *h, const struct ledger *ledger,
		     uint32_t process, const char *path)
{
	struct snapshot snapshot;
	int err;

	snapshot_build(h, process, &snapshot);
	err = write_snapshot(path, &snapshot, ledger);
	if (err)
		fprintf(stderr, "gpumemtrace: %s: %s\n", path, out_file_why(err));
	else if (snapshot.dropped && !options->quiet)
		fprintf(stderr, "gpumemtrace: %s lacks %" PRIu64 " older %s: give a larger --window to keep more\n",
			path, snapshot.dropped, human_plural(snapshot.dropped, "event", "events"));
	snapshot_free(&snapshot);
	return err;
}

static int write_all(const struct options *options, const struct history *h, const struct ledger *ledger,
		     const bool *any)
{
	int err = 0;

	for (uint32_t i = 0; i < h->process_count; i++) {
		char path[PATH_MAX];

		if (!any[i])
			continue;
		make_snapshot_path(path, sizeof(path), options->snapshot, h->processes[i].of->tgid, life_of(h, i));
		if (!options->quiet)
			fprintf(stderr, "gpumemtrace: the snapshot of process %" PRIu32 " is %s\n",
				h->processes[i].of->tgid, path);
		err = write_one(options, h, ledger, i, path) ?: err;
	}
	return err;
}

int snapshot_file_write(const struct options *options, const struct pipeline *pl)
{
	const struct history *h = pl->history;
	unsigned int count;
	uint32_t only = 0;
	bool *any;
	int err = 0;

	if (!h || !options->snapshot)
		return 0;
	any = xcalloc(h->process_count + 1, sizeof(*any));
	count = find_processes(h, any);
	while (count && !any[only])
		only++;
	if (!count) {
		fprintf(stderr, "gpumemtrace: %s was not written: no process allocated device memory, or --window"
			" kept no events\n", options->snapshot);
	} else if (count == 1) {
		err = write_one(options, h, pl->ledger, only, options->snapshot);
	} else if (!strcmp(options->snapshot, "-")) {
		fprintf(stderr, "gpumemtrace: --snapshot - can write only one process, and %u processes have device"
			" memory: name a file instead\n", count);
		err = -EINVAL;
	} else {
		err = write_all(options, h, pl->ledger, any);
	}
	free(any);
	return err;
}

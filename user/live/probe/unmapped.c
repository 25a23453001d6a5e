// SPDX-License-Identifier: BSD-2-Clause
#include "live/probe/unmapped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/xalloc.h"
#include "live/probe/attach.h"
#include "live/probe/quota.h"
#include "live/probe/target.h"
#include "live/process/procfs.h"
#include "live/stream.h"

struct look {
	struct probed_file *files;
	size_t count;
	uint64_t now_ns;
	pid_t pid;
};

static void note_seen(const struct look *look, struct probed_file *file)
{
	file->is_seen = true;
	file->seen_ns = look->now_ns;
}

/* maps may have the inode of a file below an overlay: a library's own name leads to a second look. */
static void see_kind(struct look *look, const struct maps_line *map, const struct library_kind *kind)
{
	char path[96];
	struct stat st;
	bool is_known;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)look->pid, (unsigned long long)map->start,
		 (unsigned long long)map->end);
	is_known = !stat(path, &st);
	for (size_t i = 0; i < look->count; i++)
		if (look->files[i].library.kind == kind && (!is_known || look->files[i].library.ino == st.st_ino))
			note_seen(look, &look->files[i]);
}

/* A file of another file system may have the same inode. It keeps the probed file alive, which does no harm. */
static int see_map(const struct maps_line *map, void *arg)
{
	struct look *look = arg;
	const struct library_kind *kind;
	bool is_found = false;

	if (!map->executable || !map->ino)
		return 0;
	for (size_t i = 0; i < look->count; i++) {
		if (look->files[i].library.ino != map->ino)
			continue;
		note_seen(look, &look->files[i]);
		is_found = true;
	}
	kind = is_found ? NULL : library_kind_of(map->path, map->path_len);
	if (kind)
		see_kind(look, map, kind);
	return 0;
}

static int see_process(pid_t pid, void *arg)
{
	struct look *look = arg;

	look->pid = pid;
	procfs_maps(pid, see_map, look);
	return 0;
}

/* Notes which files processes map now. False: not all processes are in /proc. A process that may not be
 * inspected is passed over: no file is found through such a process, either. */
static bool look_at_all(struct probed_file *files, size_t count, uint64_t now_ns)
{
	struct look look = { .files = files, .count = count, .now_ns = now_ns };

	for (size_t i = 0; i < count; i++)
		files[i].is_seen = false;
	return target_pids_are_initial() && !target_each_process(see_process, &look);
}

int unmapped_choose(const struct probed_file *files, size_t count, uint64_t now_ns, uint64_t age_ns,
		    uint64_t descriptors)
{
	size_t unmapped = 0, taken = 0;
	int oldest = -1;

	for (size_t i = 0; i < count; i++) {
		if (files[i].stays || files[i].is_seen)
			continue;
		unmapped++;
		taken += files[i].descriptors;
		if (now_ns - files[i].seen_ns >= age_ns && (oldest < 0 || files[i].seen_ns < files[oldest].seen_ns))
			oldest = (int)i;
	}
	return unmapped > UNMAPPED_KEPT || taken > descriptors ? oldest : -1;
}

/* The order stays: the newest file is the last. */
static void forget_file(struct probed_file *files, size_t *count, size_t i)
{
	memmove(&files[i], &files[i + 1], (--*count - i) * sizeof(*files));
}

static void announce_drop(const struct unmapped *unmapped, const struct library *library)
{
	struct gmt_library_gone rec = { .dev = library->dev, .ino = library->ino };

	STREAM_PUT(unmapped->stream, &rec, LIBRARY_GONE, 0);
}

static void drop_all(struct unmapped *unmapped, struct probed_file *files, size_t *count, uint64_t now_ns,
		     struct attach *attach, struct quota *quota)
{
	uint32_t *numbers = xcalloc(*count, sizeof(*numbers));
	size_t dropped = 0;
	int i;

	while ((i = unmapped_choose(files, *count, now_ns, unmapped->age_ns, unmapped->descriptors)) >= 0) {
		numbers[dropped++] = files[i].number;
		quota_give_back(quota, files[i].uid, files[i].descriptors);
		announce_drop(unmapped, &files[i].library);
		forget_file(files, count, (size_t)i);
	}
	if (dropped)
		attach_drop(attach, numbers, dropped);
	unmapped->dropped += dropped;
	free(numbers);
}

void unmapped_drop(struct unmapped *unmapped, struct probed_file *files, size_t *count, struct attach *attach,
		   struct quota *quota)
{
	uint64_t now_ns = stream_now_ns(), period_ns = unmapped->age_ns / UNMAPPED_LOOKS, rest_ns;

	if (now_ns < unmapped->next_ns ||
	    (*count <= UNMAPPED_KEPT && attach_descriptors(attach) <= unmapped->descriptors))
		return;
	if (look_at_all(files, *count, now_ns))
		drop_all(unmapped, files, count, now_ns, attach, quota);
	rest_ns = (stream_now_ns() - now_ns) * UNMAPPED_REST;
	unmapped->next_ns = stream_now_ns() + (rest_ns > period_ns ? rest_ns : period_ns);
}

// SPDX-License-Identifier: BSD-2-Clause
#include "live/nvidia/neighbours_told.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "live/process/procfs.h"
#include "live/stream.h"

/* pid 0: all that have no record of their own. */
struct neighbour_told {
	const struct gmt_gpu *gpu;
	uint32_t pid;
	uint32_t count;
	uint64_t bytes;
};

/* A process that is not to be seen in /proc has no name. */
static void put_neighbour(struct stream *stream, const struct neighbour_told *now)
{
	struct gmt_gpu_neighbour rec = { .used_bytes = now->bytes, .count = now->count };
	struct procfs_stat stat;

	memcpy(rec.uuid, now->gpu->uuid, sizeof(rec.uuid));
	if (now->pid && now->bytes && !procfs_stat((pid_t)now->pid, &stat))
		memcpy(rec.comm, stat.comm, sizeof(rec.comm));
	STREAM_PUT(stream, &rec, GPU_NEIGHBOUR, now->pid);
}

/* The number of processes that get a record of their own: they come first, the largest first. */
static size_t count_named(const struct neighbour_usage *list, size_t count)
{
	size_t named = 0;

	while (named < count && named < GMT_NEIGHBOURS_MAX && list[named].pid && list[named].bytes)
		named++;
	return named;
}

/* Processes without a pid or without memory come last. */
static int compare_usages(const void *left, const void *right)
{
	const struct neighbour_usage *a = left, *b = right;
	bool has_a = a->pid && a->bytes, has_b = b->pid && b->bytes;

	if (has_a != has_b)
		return has_a ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return (a->pid > b->pid) - (a->pid < b->pid);
}

static bool has_record(const struct neighbour_usage *list, size_t named, uint32_t pid)
{
	for (size_t i = 0; i < named; i++)
		if (list[i].pid == pid)
			return true;
	return false;
}

/* First those that are gone: the reader's list has room for no more than are named. */
static void tell_gone(struct neighbours_told *told, struct stream *stream, const struct gmt_gpu *gpu,
		      const struct neighbour_usage *list, size_t named)
{
	for (size_t i = 0; i < told->count;) {
		struct neighbour_told *t = &told->list[i];

		if (t->gpu != gpu || !t->pid || has_record(list, named, t->pid)) {
			i++;
			continue;
		}
		t->bytes = 0;
		put_neighbour(stream, t);
		*t = told->list[--told->count];
	}
}

static void tell_now(struct neighbours_told *told, struct stream *stream, const struct neighbour_told *now)
{
	size_t i = 0;

	while (i < told->count && (told->list[i].gpu != now->gpu || told->list[i].pid != now->pid))
		i++;
	if (i == told->count) {
		if (!now->bytes)
			return;
		told->list = xgrow(told->list, told->count++, sizeof(*told->list));
	} else if (told->list[i].bytes == now->bytes && told->list[i].count == now->count) {
		return;
	}
	told->list[i] = *now;
	put_neighbour(stream, now);
}

void neighbours_tell(struct neighbours_told *told, struct stream *stream, const struct gmt_gpu *gpu,
		     struct neighbour_usage *list, size_t count)
{
	struct neighbour_told others = { .gpu = gpu };
	size_t named;

	if (count)
		qsort(list, count, sizeof(*list), compare_usages);
	named = count_named(list, count);
	tell_gone(told, stream, gpu, list, named);
	for (size_t i = 0; i < named; i++)
		tell_now(told, stream, &(struct neighbour_told){ gpu, list[i].pid, 1, list[i].bytes });
	for (size_t i = named; i < count; i++) {
		others.count += list[i].bytes != 0;
		others.bytes += list[i].bytes;
	}
	tell_now(told, stream, &others);
}

void neighbours_told_free(struct neighbours_told *told)
{
	free(told->list);
	*told = (struct neighbours_told){ 0 };
}

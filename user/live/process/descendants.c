// SPDX-License-Identifier: BSD-2-Clause
#include "live/process/descendants.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "live/process/procfs.h"

struct kin {
	pid_t pid, parent;
};

struct kins {
	struct kin *list;
	size_t count, beyond;
};

static void note_process(struct kins *all, pid_t pid)
{
	struct procfs_stat stat;

	if (pid <= 0 || pid == getpid() || procfs_stat(pid, &stat) || stat.ended)
		return;
	if (all->count == DESCENDANTS_MOST) {
		all->beyond++;
		return;
	}
	all->list = xgrow(all->list, all->count, sizeof(*all->list));
	all->list[all->count++] = (struct kin){ .pid = pid, .parent = stat.parent };
}

static int read_kins(struct kins *all)
{
	struct dirent *entry;
	DIR *proc = opendir("/proc");

	if (!proc)
		return -errno;
	while ((entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			note_process(all, (pid_t)strtol(entry->d_name, NULL, 10));
	closedir(proc);
	return all->beyond ? -E2BIG : 0;
}

static int compare_kins(const void *left, const void *right)
{
	const struct kin *a = left, *b = right;

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	return (a->pid > b->pid) - (a->pid < b->pid);
}

/* The index of the first child of `parent`, or of the place where it would be. */
static size_t first_child(const struct kins *all, pid_t parent)
{
	size_t low = 0, high = all->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all->list[middle].parent < parent)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int descendants_each(pid_t pid, void (*fn)(pid_t pid, pid_t parent, void *arg), void *arg)
{
	struct kins all = { 0 };
	size_t queued = 0;
	pid_t *queue;
	int err = read_kins(&all);

	if (all.count)
		qsort(all.list, all.count, sizeof(*all.list), compare_kins);
	queue = xcalloc(all.count + 1, sizeof(*queue));
	queue[queued++] = pid;
	/* A process has one parent, so each is queued once; a circle of pids that were reused ends with the queue. */
	for (size_t i = 0; i < queued; i++) {
		for (size_t k = first_child(&all, queue[i]); k < all.count && all.list[k].parent == queue[i]; k++) {
			if (queued > all.count || all.list[k].pid == pid)
				continue;
			queue[queued++] = all.list[k].pid;
			fn(all.list[k].pid, queue[i], arg);
		}
	}
	free(queue);
	free(all.list);
	return err;
}

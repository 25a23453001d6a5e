// SPDX-License-Identifier: BSD-2-Clause
#include "live/process/descendants.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "live/process/procfs.h"

struct kin {
	pid_t pid, parent;
	bool descends;
};

struct kins {
	struct kin *list;
	size_t count;
};

static void note_process(struct kins *all, pid_t pid)
{
	struct procfs_stat stat;

	if (pid <= 0 || pid == getpid() || all->count == DESCENDANTS_MOST || procfs_stat(pid, &stat) || stat.ended)
		return;
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
	return 0;
}

/* Calls back for the children of a process that are not among the descendants yet. */
static void visit_children(struct kins *all, pid_t parent, pid_t *queue, size_t *queued,
			   void (*fn)(pid_t pid, pid_t parent, void *arg), void *arg)
{
	for (size_t i = 0; i < all->count; i++) {
		struct kin *kin = &all->list[i];

		if (kin->parent != parent || kin->descends)
			continue;
		kin->descends = true;
		queue[(*queued)++] = kin->pid;
		fn(kin->pid, parent, arg);
	}
}

int descendants_each(pid_t pid, void (*fn)(pid_t pid, pid_t parent, void *arg), void *arg)
{
	struct kins all = { 0 };
	size_t queued = 0;
	pid_t *queue;
	int err = read_kins(&all);

	queue = xcalloc(all.count, sizeof(*queue));
	visit_children(&all, pid, queue, &queued, fn, arg);
	for (size_t i = 0; i < queued; i++)
		visit_children(&all, queue[i], queue, &queued, fn, arg);
	free(queue);
	free(all.list);
	return err;
}

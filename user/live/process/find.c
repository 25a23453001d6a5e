// SPDX-License-Identifier: BSD-2-Clause
#include "live/process/find.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "live/process/find_match.h"
#include "live/process/find_names.h"

static int by_pid(const void *a, const void *b)
{
	pid_t left = ((const struct find_process *)a)->pid, right = ((const struct find_process *)b)->pid;

	return (left > right) - (left < right);
}

static void resolve_names(const char *root, struct find_selector *selectors, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (selectors[i].is_settled)
			continue;
		selectors[i].id_count = 0;
		selectors[i].is_ambiguous = selectors[i].has_more_ids = selectors[i].is_cut = false;
		selectors[i].container[0] = '\0';
		if (selectors[i].kind == FIND_CONTAINER)
			find_container_ids(root, &selectors[i]);
		else if (selectors[i].kind == FIND_POD)
			find_pod_ids(root, &selectors[i]);
	}
}

bool find_selects(const char *root, struct find_selector *selectors, size_t count, pid_t pid)
{
	bool is_selected = false;

	for (size_t i = 0; i < count; i++)
		is_selected |= find_matches(root, &selectors[i], pid);
	return is_selected;
}

int find_each(const char *root, struct find_selector *selectors, size_t count, void (*fn)(pid_t pid, void *arg),
	      void *arg)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *proc;

	snprintf(path, sizeof(path), "%s/proc", root);
	proc = opendir(path);
	if (!proc)
		return -errno;
	resolve_names(root, selectors, count);
	while ((entry = readdir(proc))) {
		pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? (pid_t)strtol(entry->d_name, NULL, 10) : 0;

		if (pid > 0 && pid != getpid() && find_selects(root, selectors, count, pid) &&
		    find_is_running(root, pid))
			fn(pid, arg);
	}
	closedir(proc);
	return 0;
}

struct gathering {
	const char *root;
	struct find_list *found;
};

static void add_selected(pid_t pid, void *arg)
{
	const struct gathering *gathering = arg;
	struct find_list *found = gathering->found;
	struct find_process process;

	if (!find_facts(gathering->root, pid, &process))
		return;
	if (found->count == FIND_MOST) {
		found->beyond++;
		return;
	}
	if (!(found->count & (found->count - 1)))
		found->list = xreallocarray(found->list, found->count ? 2 * found->count : 1, sizeof(*found->list));
	found->list[found->count++] = process;
}

int find_processes(const char *root, struct find_selector *selectors, size_t count, struct find_list *found)
{
	struct gathering gathering = { root, found };
	int err;

	*found = (struct find_list){ 0 };
	err = find_each(root, selectors, count, add_selected, &gathering);
	if (found->count)
		qsort(found->list, found->count, sizeof(*found->list), by_pid);
	return err;
}

// SPDX-License-Identifier: BSD-2-Clause
#include "live/probe/hazard.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/human.h"
#include "live/probe/library.h"
#include "live/process/procfs.h"
#include "live/probe/target.h"
#include "live/probe/trial.h"

#define THREADS_MAX 4096 /* of a process; a process with more counts as hidden */

bool hazard_is_needed(const struct trial *trial)
{
	return trial_harms(trial->seccomp) || trial_harms(trial->shadow_stack);
}

enum hazard_verdict hazard_judge(const struct trial *trial, const struct procfs_status *thread)
{
	if (thread->seccomp && trial_harms(trial->seccomp))
		return HAZARD_SECCOMP;
	if (thread->shadow_stack && trial_harms(trial->shadow_stack))
		return HAZARD_SHADOW_STACK;
	return HAZARD_FREE;
}

/* Threads may differ: a filter belongs to the thread that asked for it and to the threads that it starts later. */
static enum hazard_verdict judge_threads(const struct trial *trial, pid_t pid)
{
	enum hazard_verdict verdict = HAZARD_FREE;
	struct procfs_status status;
	struct dirent *entry;
	unsigned int seen = 0;
	char path[64];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	if (!tasks)
		return errno == ENOENT ? HAZARD_FREE : HAZARD_HIDDEN;
	while (verdict == HAZARD_FREE && (entry = readdir(tasks))) {
		int err;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		err = procfs_status((pid_t)strtol(entry->d_name, NULL, 10), &status);
		if (!err)
			verdict = hazard_judge(trial, &status);
		if ((err && err != -ESRCH) || ++seen > THREADS_MAX)
			verdict = HAZARD_HIDDEN;
	}
	closedir(tasks);
	return verdict;
}

/* ---- does a process map the file? ---- */

struct search {
	const struct library *library;
	pid_t pid;
	char path[PATH_MAX]; /* as the process names the file */
};

/*
 * The inode in maps may be that of the file below an overlay, and the device differs from st_dev on overlayfs and btrfs
 * (library_same()). stat() of the link in map_files gives the right numbers. Without permission for this stat(), the
 * inode has to suffice.
 */
static bool is_library_mapping(const struct search *search, const struct maps_line *map)
{
	const struct library *library = search->library;
	char path[96];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)search->pid, (unsigned long long)map->start,
		 (unsigned long long)map->end);
	if (stat(path, &st))
		return map->ino == library->ino;
	if (st.st_ino == library->ino && st.st_dev == library->dev)
		return true;
	return st.st_ino == library->ino && (uint64_t)st.st_size == library->size &&
	       (uint64_t)st.st_mtim.tv_sec * 1000000000ull + (uint64_t)st.st_mtim.tv_nsec == library->mtime_ns;
}

static int find_mapping(const struct maps_line *map, void *arg)
{
	struct search *search = arg;

	if (!map->executable || !map->ino ||
	    (map->ino != search->library->ino && library_kind_of(map->path, map->path_len) != search->library->kind) ||
	    !is_library_mapping(search, map))
		return 0;
	snprintf(search->path, sizeof(search->path), "%.*s", (int)map->path_len, map->path);
	return 1;
}

/* ---- the sentence ---- */

#define FILE_COLUMNS 120

static const struct {
	const char *state, *remedy;
} words[] = {
	[HAZARD_SECCOMP] = { "runs under a seccomp filter", "use Linux 6.12.14, 6.13.3 or newer, or start the "
			    "process without a filter (docker run --security-opt seccomp=unconfined)" },
	[HAZARD_SHADOW_STACK] = { "has a shadow stack", "use Linux 6.12.14, 6.13.3 or newer, or start the process "
				 "without a shadow stack" },
};

static void say_verdict(const struct trial *trial, enum hazard_verdict verdict, pid_t pid, const char *name,
			const char *file, char *cause, size_t size)
{
	enum trial_result result = verdict == HAZARD_SHADOW_STACK ? trial->shadow_stack : trial->seccomp;

	if (verdict == HAZARD_HIDDEN)
		snprintf(cause, size, "process %d (%s) cannot be inspected, and on this kernel a return probe may "
			 "kill the process if the process maps %s; run gpumemtrace as root, or add CAP_SYS_PTRACE",
			 (int)pid, name, file);
	else if (result == TRIAL_UNKNOWN)
		snprintf(cause, size, "%s is mapped by process %d (%s), which %s; the effect of a return probe on "
			 "such a process could not be tried (%s); %s", file, (int)pid, name, words[verdict].state,
			 trial->why, words[verdict].remedy);
	else
		snprintf(cause, size, "%s is mapped by process %d (%s), which %s: on this kernel a return probe would "
			 "kill the process; %s", file, (int)pid, name, words[verdict].state, words[verdict].remedy);
}

static int refuse_target(const struct trial *trial, enum hazard_verdict verdict, const struct search *search,
			 char *cause, size_t size)
{
	char file[4 * FILE_COLUMNS + 1], name[4 * GMT_COMM_BYTES + 1];
	struct procfs_stat stat = { .comm = "?" };

	procfs_stat(search->pid, &stat);
	human_text(name, GMT_COMM_BYTES, stat.comm, sizeof(stat.comm));
	human_text(file, FILE_COLUMNS, search->path[0] ? search->path : "libcuda", sizeof(search->path));
	say_verdict(trial, verdict, search->pid, name, file, cause, size);
	return -ECANCELED;
}

/* ---- processes ---- */

int hazard_process(const struct trial *trial, const struct library *library, pid_t pid, char *cause,
		  size_t cause_size)
{
	struct search search = { .library = library, .pid = pid };
	enum hazard_verdict verdict;
	int found;

	if (!hazard_is_needed(trial))
		return 0;
	found = procfs_maps(pid, find_mapping, &search);
	if (!found || found == -ESRCH)
		return 0;
	verdict = judge_threads(trial, pid);
	if (verdict == HAZARD_FREE)
		return 0;
	return refuse_target(trial, found < 0 ? HAZARD_HIDDEN : verdict, &search, cause, cause_size);
}

struct hazard_scan {
	const struct trial *trial;
	const struct library *library;
	char *cause;
	size_t cause_size;
};

static int scan_for_hazard(pid_t pid, void *arg)
{
	const struct hazard_scan *scan = arg;

	return hazard_process(scan->trial, scan->library, pid, scan->cause, scan->cause_size);
}

int hazard_library(const struct trial *trial, const struct library *library, char *cause, size_t cause_size)
{
	struct hazard_scan scan = { trial, library, cause, cause_size };
	int err;

	if (!hazard_is_needed(trial))
		return 0;
	if (!target_pids_are_initial()) {
		snprintf(cause, cause_size, "on this kernel a return probe may kill processes under a seccomp filter, "
			 "and a container sees only its own processes: run gpumemtrace on the host, or in a container "
			 "started with --pid=host");
		return -ECANCELED;
	}
	err = target_each_process(scan_for_hazard, &scan);
	if (err && err != -ECANCELED)
		snprintf(cause, cause_size, "/proc cannot be read (%s), and on this kernel a return probe may kill "
			 "processes: mount /proc", strerror(-err));
	return err ? -ECANCELED : 0;
}

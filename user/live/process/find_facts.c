// SPDX-License-Identifier: BSD-2-Clause
#include "live/process/find_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "live/framework/library_kinds.h"
#include "live/process/procfs.h"

static bool read_stat(const char *root, pid_t pid, struct procfs_stat *stat)
{
	return !procfs_stat_below(root, pid, stat) && !stat->kernel_thread && !stat->ended;
}

static int is_libcuda(const struct maps_line *map, void *arg)
{
	(void)arg;
	return map->executable && map->ino && library_kind_of(map->path, map->path_len) == &library_cuda;
}

bool find_is_running(const char *root, pid_t pid)
{
	struct procfs_stat stat;

	return read_stat(root, pid, &stat);
}

bool find_is_same(const char *root, pid_t pid, uint64_t start_ticks)
{
	struct procfs_stat stat;

	return read_stat(root, pid, &stat) && stat.start_ticks == start_ticks;
}

/* A file system that does not answer must not stop the caller: the kernel's copy of these two facts is enough. */
static bool read_identity(const char *path, struct statx *file)
{
	return !statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, file);
}

bool find_is_tracer(const char *root, pid_t pid)
{
	char path[PATH_MAX];
	struct statx own, its;

	snprintf(path, sizeof(path), "%s/proc/%d/exe", root, (int)pid);
	return read_identity(path, &its) && read_identity("/proc/self/exe", &own) && its.stx_ino == own.stx_ino &&
	       its.stx_dev_major == own.stx_dev_major && its.stx_dev_minor == own.stx_dev_minor;
}

/* The facts are of one process: its start is read before and after the other facts. */
bool find_facts(const char *root, pid_t pid, struct find_process *process)
{
	char text[16384], path[PATH_MAX];
	struct procfs_status status;
	struct procfs_stat stat;
	ssize_t size;
	int err;

	*process = (struct find_process){ .pid = pid };
	if (!read_stat(root, pid, &stat))
		return false;
	process->start_ticks = stat.start_ticks;
	process->start_ns = stat.start_ns;
	snprintf(process->comm, sizeof(process->comm), "%.*s", GMT_COMM_BYTES, stat.comm);
	size = procfs_read_below(root, pid, "status", text, sizeof(text));
	if (size <= 0 || procfs_parse_status(text, (size_t)size, &status) || status.tgid != (uint32_t)pid)
		return false;
	process->uid = status.uid;
	procfs_command(root, pid, process->cmdline, sizeof(process->cmdline));
	size = procfs_read_below(root, pid, "cgroup", text, sizeof(text));
	if (size > 0)
		procfs_parse_cgroup(text, (size_t)size, process->cgroup, sizeof(process->cgroup));
	snprintf(path, sizeof(path), "%s/proc/%d/maps", root, (int)pid);
	err = procfs_maps_of(path, is_libcuda, NULL);
	process->has_libcuda = err > 0;
	process->is_hidden = err == -EACCES || err == -EPERM;
	process->is_tracer = find_is_tracer(root, pid);
	return find_is_same(root, pid, stat.start_ticks);
}

uint64_t find_age_ns(const struct find_process *process)
{
	struct timespec now;
	uint64_t now_ns;

	clock_gettime(CLOCK_BOOTTIME, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
	return now_ns > process->start_ns ? now_ns - process->start_ns : 0;
}

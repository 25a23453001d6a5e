// SPDX-License-Identifier: BSD-2-Clause
#include "live/probe/tracepoint.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Mounts a tracefs on no directory. */
static int mount_detached(void)
{
	int fs, mnt = -1;

	fs = syscall(__NR_fsopen, "tracefs", FSOPEN_CLOEXEC);
	if (fs < 0)
		return -errno;
	if (!syscall(__NR_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		mnt = syscall(__NR_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	if (mnt < 0)
		mnt = -errno;
	close(fs);
	return mnt;
}

static int read_id(int tracefs, const char *category, const char *name)
{
	char path[128], text[32] = "";
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "events/%s/%s/id", category, name);
	fd = openat(tracefs, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	return n > 0 ? (int)strtol(text, NULL, 10) : -EIO;
}

int tracepoint_find(const char *category, const char *name)
{
	int tracefs = mount_detached(), id;

	if (tracefs < 0)
		return tracefs;
	id = read_id(tracefs, category, name);
	close(tracefs);
	return id;
}

int tracepoint_open(int id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .config = (uint64_t)id, .sample_period = 1,
	};
	int fd = syscall(__NR_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

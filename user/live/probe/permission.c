// SPDX-License-Identifier: BSD-2-Clause
#include "live/probe/permission.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/count.h"
#include "live/probe/uprobe.h"
#include "live/process/procfs.h"

static int load_program(void)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", code, COUNT(code), NULL);
}

/* As mmap_watch.c does, for one CPU. */
static int open_machine_event(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .mmap = 1, .mmap2 = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int first_mapping(const struct maps_line *map, void *arg)
{
	if (!map->ino)
		return 0;
	snprintf(arg, 96, "/proc/self/map_files/%llx-%llx", (unsigned long long)map->start,
		 (unsigned long long)map->end);
	return 1;
}

static int open_own_mapping(void)
{
	char path[96];
	int fd;

	if (procfs_maps(getpid(), first_mapping, path) != 1)
		return -ENOENT;
	fd = open(path, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

bool permission_has_uprobes(bool multi)
{
	/* a directory is no file to probe: that is the error once permission is given */
	const struct uprobe_places root = {
		.path = "/", .offsets = &(uint64_t){ 0 }, .cookies = &(uint64_t){ 0 }, .count = 1,
	};
	struct uprobe_set *set;
	int err = multi ? 0 : uprobe_attach(&set, -1, &root, false);

	return err != -EACCES && err != -EPERM;
}

bool permission_is_refused(bool multi)
{
	static int (*const tries[])(void) = { load_program, open_machine_event, open_own_mapping };
	bool refused = !permission_has_uprobes(multi);

	for (size_t i = 0; i < COUNT(tries); i++) {
		int fd = tries[i]();

		refused |= fd == -EPERM || fd == -EACCES;
		if (fd >= 0)
			close(fd);
	}
	return refused;
}

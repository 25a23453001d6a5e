// SPDX-License-Identifier: BSD-2-Clause
/* Makes uprobe links with bpf(2) itself, because libbpf 1.1, which Debian 12 has, knows no uprobe_multi. */
#include "live/probe/uprobe.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/xalloc.h"

struct uprobe_set {
	size_t count;
	bool is_events;    /* an event and a link for each probe, not one link for all */
	int *fds;
};

/* struct bpf_attr's link_create for uprobe_multi, include/uapi/linux/bpf.h of Linux 6.6. Older headers
 * lack the member. */
struct link_create_uprobe_multi {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, uprobe_flags, pid, reserved;
};
#define UPROBE_MULTI_RETURN 1 /* BPF_F_UPROBE_MULTI_RETURN */

static int link_multi(int prog_fd, const struct uprobe_places *places)
{
	struct link_create_uprobe_multi attr = {
		.prog_fd = prog_fd,
		.attach_type = UPROBE_MULTI_ATTACH_TYPE,
		.path = (uintptr_t)places->path,
		.offsets = (uintptr_t)places->offsets,
		.ref_ctr_offsets = (uintptr_t)places->counters,
		.cookies = (uintptr_t)places->cookies,
		.count = places->count,
		.uprobe_flags = places->at_return ? UPROBE_MULTI_RETURN : 0,
		.pid = places->pid,
	};
	int fd = syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

bool uprobe_has_multi(void)
{
	struct bpf_insn program[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = UPROBE_MULTI_ATTACH_TYPE);
	/* A kernel that knows the type complains about the path: a directory is no file to probe. */
	struct uprobe_places root = { .path = "/", .offsets = &(uint64_t){ 0 }, .count = 1 };
	int fd, err;

	fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", program, 2, &opts);
	if (fd < 0)
		return false;
	err = link_multi(fd, &root);
	if (err >= 0)
		close(err);
	close(fd);
	return err == -EBADF;
}

static int read_number(const char *path, const char *format)
{
	FILE *file = fopen(path, "re");
	int value = -ENOENT;

	if (!file)
		return -errno;
	if (fscanf(file, format, &value) != 1)
		value = -EPROTO;
	fclose(file);
	return value;
}

static int open_event(const struct uprobe_places *places, size_t i)
{
	uint64_t counter = places->counters ? places->counters[i] : 0;
	int type = read_number("/sys/bus/event_source/devices/uprobe/type", "%d");
	int bit = read_number("/sys/bus/event_source/devices/uprobe/format/retprobe", "config:%d");
	int counter_bit = counter ? read_number("/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset",
						"config:%d-") : 0;
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.uprobe_path = (uintptr_t)places->path,
		.probe_offset = places->offsets[i],
	};
	int fd;

	if (type < 0 || bit < 0 || counter_bit < 0)
		return -ENOTSUP;
	attr.type = type;
	attr.config = (places->at_return ? 1ULL << bit : 0) | counter << counter_bit;
	/* With pid -1 (all processes) a CPU must be named, but the BPF program runs on any CPU that hits the probe. */
	fd = syscall(__NR_perf_event_open, &attr, places->pid ?: -1, places->pid ? -1 : 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int link_events(struct uprobe_set *set, int prog_fd, const struct uprobe_places *places)
{
	for (size_t i = 0; i < places->count; i++) {
		LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = places->cookies[i]);
		int event, link;

		event = open_event(places, i);
		if (event < 0)
			return event;
		set->fds[set->count++] = event;
		link = bpf_link_create(prog_fd, event, BPF_PERF_EVENT, &opts);
		if (link < 0)
			return link;
		set->fds[set->count++] = link;
	}
	return 0;
}

int uprobe_attach(struct uprobe_set **out, int prog_fd, const struct uprobe_places *places, bool multi)
{
	struct uprobe_set *set = xcalloc(1, sizeof(*set));
	int err;

	set->fds = xcalloc(2 * places->count, sizeof(*set->fds));
	set->is_events = !multi;
	err = multi ? link_multi(prog_fd, places) : link_events(set, prog_fd, places);
	if (multi && err >= 0)
		set->fds[set->count++] = err;
	if (err < 0) {
		uprobe_detach(set);
		return err;
	}
	*out = set;
	return 0;
}

size_t uprobe_left(const struct uprobe_set *set)
{
	return set ? (set->count + set->is_events) / (1 + set->is_events) : 0;
}

size_t uprobe_descriptors(const struct uprobe_set *set)
{
	return set ? set->count : 0;
}

size_t uprobe_detach_next(struct uprobe_set *set)
{
	for (size_t i = 0; set && set->count && i < 1u + set->is_events; i++)
		close(set->fds[--set->count]);
	return uprobe_left(set);
}

void uprobe_detach(struct uprobe_set *set)
{
	if (!set)
		return;
	while (uprobe_detach_next(set))
		;
	free(set->fds);
	free(set);
}

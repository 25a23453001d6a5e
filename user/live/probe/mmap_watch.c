// SPDX-License-Identifier: BSD-2-Clause
/* See mmap_watch.h. Record layouts: perf_event_open(2), include/uapi/linux/perf_event.h. */
#include "live/probe/mmap_watch.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"

#define TRIES 3
#define RING_BYTES 65536    /* a power of two of pages of any size; hold about 500 mappings, some 60 execs */

struct watch {
	int map_fd;                 /* libbpf wants a map for its rings. No program writes by way of it. */
	struct perf_buffer *rings;  /* of the CPUs that are online now; others are not watched */
	watch_cb cb;                /* watch_read()'s arguments */
	void *arg;
	uint64_t *lost;
};

/* PERF_RECORD_MMAP2, as sent without sample_id_all. */
struct mmap2 {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
	char filename[];
};

struct lost {
	struct perf_event_header header;
	uint64_t id, lost;
};

void watch_decode(const void *record, size_t size, watch_cb cb, void *arg, uint64_t *lost)
{
	const struct perf_event_header *header = record;
	const struct mmap2 *map = record;
	size_t len;

	if (header->type == PERF_RECORD_LOST && size >= sizeof(struct lost)) {
		*lost += ((const struct lost *)record)->lost;
		return;
	}
	if (header->type != PERF_RECORD_MMAP2 || size <= sizeof(*map) ||
	    header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
		return;
	len = strnlen(map->filename, size - sizeof(*map));
	if (len < size - sizeof(*map) && map->filename[0] == '/' && map->filename[1] != '/') { /* "//anon" */
		struct watch_mapping mapping = { .pid = map->pid, .ino = map->ino, .path = map->filename };

		cb(&mapping, arg);
	}
}

static enum bpf_perf_event_ret take_perf_record(void *arg, int cpu, struct perf_event_header *record)
{
	struct watch *watch = arg;

	(void)cpu;
	watch_decode(record, record->size, watch->cb, watch->arg, watch->lost);
	return LIBBPF_PERF_EVENT_CONT;
}

int watch_open(struct watch **out)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,      /* executable mappings ... */
		.mmap2 = 1,     /* ... with device and inode */
		.watermark = 1,
		.wakeup_watermark = 1, /* at the first record: a process may allocate soon after dlopen() */
	};
	struct watch *watch = xcalloc(1, sizeof(*watch));
	int err = 0;

	watch->map_fd = bpf_map_create(BPF_MAP_TYPE_PERF_EVENT_ARRAY, NULL, sizeof(int), sizeof(int),
				       libbpf_num_possible_cpus(), NULL);
	/* A CPU may go offline before its ring is opened. */
	for (int i = 0; i < TRIES && watch->map_fd >= 0 && !watch->rings && (!i || errno == ENODEV); i++)
		watch->rings = perf_buffer__new_raw(watch->map_fd, RING_BYTES / (size_t)sysconf(_SC_PAGESIZE), &attr,
						    take_perf_record, watch, NULL);
	if (!watch->rings) {
		err = -errno;
		watch_close(watch);
		watch = NULL;
	}
	*out = watch;
	return err;
}

void watch_close(struct watch *watch)
{
	if (!watch)
		return;
	perf_buffer__free(watch->rings);
	if (watch->map_fd >= 0)
		close(watch->map_fd);
	free(watch);
}

int watch_fd(const struct watch *watch)
{
	return perf_buffer__epoll_fd(watch->rings);
}

int watch_read(struct watch *watch, watch_cb cb, void *arg, uint64_t *lost)
{
	watch->cb = cb;
	watch->arg = arg;
	watch->lost = lost;
	/* The first one clears the readiness that perf sets with each wakeup. */
	perf_buffer__poll(watch->rings, 0);
	return perf_buffer__consume(watch->rings);
}

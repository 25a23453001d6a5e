// SPDX-License-Identifier: BSD-2-Clause
/* See mmap_watch.h. Record layouts: perf_event_open(2), include/uapi/linux/perf_event.h. */
#include "live/probe/mmap_watch.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "live/process/procfs.h"

#define RING_BYTES 65536    /* a power of two of pages of any size; hold about 500 mappings, some 60 execs */
#define RECORD_MAX 65536    /* perf_event_header.size is 16 bits */

struct ring {
	int fd;
	struct perf_event_mmap_page *page;
};

struct watch {
	int epoll_fd;
	size_t page_size;
	size_t ring_count;
	struct ring *rings;
	char record[RECORD_MAX]; /* one that wraps around the ring's end, in one piece */
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
		struct watch_mapping mapping = {
			.pid = map->pid,
			.tid = map->tid,
			.dev_major = map->maj,
			.dev_minor = map->min,
			.ino = map->ino,
			.start = map->addr,
			.length = map->len,
			.path = map->filename,
		};
		cb(&mapping, arg);
	}
}

static int open_ring(struct ring *ring, int cpu, size_t page_size)
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
	int err;

	ring->page = MAP_FAILED;
	ring->fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0)
		return -errno;
	ring->page = mmap(NULL, page_size + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (ring->page != MAP_FAILED)
		return 0;
	err = -errno;
	close(ring->fd);
	ring->fd = -1;
	return err;
}

static void close_ring(struct ring *ring, size_t page_size)
{
	if (ring->page != MAP_FAILED)
		munmap(ring->page, page_size + RING_BYTES);
	if (ring->fd >= 0)
		close(ring->fd);
}

static int add_cpu(struct watch *watch, int cpu)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct ring ring;
	int err = open_ring(&ring, cpu, watch->page_size);

	if (err == -ENODEV)
		return 0; /* went offline since its name was read */
	if (err)
		return err;
	if (epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, ring.fd, &event)) {
		err = -errno;
		close_ring(&ring, watch->page_size);
		return err;
	}
	watch->rings = xreallocarray(watch->rings, watch->ring_count + 1, sizeof(ring));
	watch->rings[watch->ring_count++] = ring;
	return 0;
}

/* "0-3,8,10-11": the list format of include/linux/bitmap.h. A cpu that comes online later is not
 * watched. */
static int add_cpus(struct watch *watch, const char *list)
{
	while (*list >= '0' && *list <= '9') {
		char *at;
		long first = strtol(list, &at, 10), last = first;
		int err = 0;

		if (*at == '-')
			last = strtol(at + 1, &at, 10);
		for (long cpu = first; !err && cpu <= last; cpu++)
			err = add_cpu(watch, (int)cpu);
		if (err)
			return err;
		list = *at == ',' ? at + 1 : at;
	}
	return watch->ring_count ? 0 : -ENODEV;
}

int watch_open(struct watch **out)
{
	struct watch *watch = xcalloc(1, sizeof(*watch));
	char list[4096];
	ssize_t got;
	int err;

	watch->page_size = (size_t)sysconf(_SC_PAGESIZE);
	watch->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	err = watch->epoll_fd < 0 ? -errno : 0;
	if (!err) {
		got = procfs_read("/sys/devices/system/cpu/online", list, sizeof(list));
		err = add_cpus(watch, got > 0 ? list : "0");
	}
	if (err) {
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
	for (size_t i = 0; i < watch->ring_count; i++)
		close_ring(&watch->rings[i], watch->page_size);
	if (watch->epoll_fd >= 0)
		close(watch->epoll_fd);
	free(watch->rings);
	free(watch);
}

int watch_fd(const struct watch *watch)
{
	return watch->epoll_fd;
}

/* Copies out what wraps around the end; the rest is read in place. */
static const void *record_at(struct watch *watch, const char *data, uint64_t at, size_t size)
{
	uint64_t mask = RING_BYTES - 1;
	size_t start = (size_t)(at & mask), first = (size_t)(mask + 1) - start;

	if (size <= first)
		return data + start;
	memcpy(watch->record, data + start, first);
	memcpy(watch->record + first, data, size - first);
	return watch->record;
}

static int ring_read(struct watch *watch, struct ring *ring, watch_cb cb, void *arg, uint64_t *lost)
{
	const char *data = (const char *)ring->page + watch->page_size;
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	int err = 0;

	while (tail < head) {
		/* records are multiples of 8 bytes: a header never wraps */
		const struct perf_event_header *header = record_at(watch, data, tail, sizeof(*header));
		size_t size = header->size;

		if (size < sizeof(*header) || size > head - tail) {
			err = -EBADMSG;
			tail = head;
			break;
		}
		watch_decode(record_at(watch, data, tail, size), size, cb, arg, lost);
		tail += size;
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
	return err;
}

int watch_read(struct watch *watch, watch_cb cb, void *arg, uint64_t *lost)
{
	struct epoll_event events[64];
	int err = 0;

	/* clears the readiness that perf sets with each wakeup; which ring it was does not matter */
	for (size_t i = 0; i < watch->ring_count && epoll_wait(watch->epoll_fd, events, 64, 0) == 64; i += 64)
		;
	for (size_t i = 0; i < watch->ring_count; i++) {
		int ring_err = ring_read(watch, &watch->rings[i], cb, arg, lost);

		if (ring_err)
			err = ring_err;
	}
	return err;
}

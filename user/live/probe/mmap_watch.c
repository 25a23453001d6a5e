// SPDX-License-Identifier: BSD-2-Clause
/*
 * See mmap_watch.h. Record layouts: perf_event_open(2), include/uapi/linux/perf_event.h.
 *
 * The kernel writes how many records a full ring lost when the next record comes, which may be never. Since 6.0 it also
 * counts them for who reads the event (PERF_FORMAT_LOST). A read interrupts the ring's CPU, so only a ring that may
 * have been full is asked.
 */
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
#define RECORD_BYTES 8192   /* no record is as long: a path has up to 4096 bytes */
#define FORMAT_LOST (1u << 4) /* PERF_FORMAT_LOST, which older headers lack */

/* The ring of a CPU. */
struct ring {
	const struct perf_event_mmap_page *page;
	int fd;                     /* of its event; -1: the event does not count what the ring lost */
	uint64_t start;             /* bytes that had been read before this time */
	uint64_t lost;              /* records, as last read */
};

struct watch {
	int map_fd;                 /* libbpf wants a map for its rings. No program writes by way of it. */
	struct perf_buffer *rings;  /* of the CPUs that are online now; others are not watched */
	struct ring *list;          /* of `rings` */
	size_t count;
	bool has_counters;          /* ... of lost records: the rings' own records of them do not count */
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

/* Of the data of a ring, which has one page more. */
static size_t ring_pages(uint64_t page_bytes)
{
	return page_bytes < RING_BYTES ? RING_BYTES / page_bytes : 1;
}

uint64_t watch_bytes(uint64_t page_bytes, uint32_t cpus)
{
	return cpus * (ring_pages(page_bytes) + 1) * page_bytes;
}

static int open_rings(struct watch *watch, uint64_t read_format)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.read_format = read_format,
		.mmap = 1,      /* executable mappings ... */
		.mmap2 = 1,     /* ... with device and inode */
		.watermark = 1,
		.wakeup_watermark = 1, /* at the first record: a process may allocate soon after dlopen() */
	};

	/* A CPU may go offline before its ring is opened. */
	for (int i = 0; i < TRIES && !watch->rings && (!i || errno == ENODEV); i++)
		watch->rings = perf_buffer__new_raw(watch->map_fd, ring_pages((uint64_t)sysconf(_SC_PAGESIZE)), &attr,
						    take_perf_record, watch, NULL);
	watch->has_counters = watch->rings && read_format;
	return watch->rings ? 0 : -errno;
}

static void list_rings(struct watch *watch)
{
	size_t count = perf_buffer__buffer_cnt(watch->rings), size;
	void *page;

	watch->list = xcalloc(count + 1, sizeof(*watch->list));
	for (size_t i = 0; i < count && watch->has_counters; i++)
		if (!perf_buffer__buffer(watch->rings, (int)i, &page, &size))
			watch->list[watch->count++] = (struct ring){
				.page = page, .fd = perf_buffer__buffer_fd(watch->rings, i),
			};
}

int watch_open(struct watch **out)
{
	struct watch *watch = xcalloc(1, sizeof(*watch));
	int err;

	watch->map_fd = bpf_map_create(BPF_MAP_TYPE_PERF_EVENT_ARRAY, NULL, sizeof(int), sizeof(int),
				       libbpf_num_possible_cpus(), NULL);
	err = watch->map_fd < 0 ? -errno : open_rings(watch, FORMAT_LOST);
	if (err == -EINVAL) /* before Linux 6.0 */
		err = open_rings(watch, 0);
	if (err) {
		watch_close(watch);
		watch = NULL;
	} else {
		list_rings(watch);
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
	free(watch->list);
	free(watch);
}

int watch_fd(const struct watch *watch)
{
	return perf_buffer__epoll_fd(watch->rings);
}

/* A record is lost if it does not fit behind those that are not read yet. */
static bool may_have_lost(const struct ring *ring)
{
	uint64_t end = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);

	return end - ring->start > RING_BYTES - RECORD_BYTES;
}

static uint64_t newly_lost(struct ring *ring)
{
	struct { uint64_t value, lost; } now;
	uint64_t before = ring->lost;

	if (!may_have_lost(ring) || read(ring->fd, &now, sizeof(now)) != sizeof(now))
		return 0;
	ring->lost = now.lost;
	return now.lost - before;
}

int watch_read(struct watch *watch, watch_cb cb, void *arg, uint64_t *lost)
{
	uint64_t told = 0;
	int ret;

	watch->cb = cb;
	watch->arg = arg;
	watch->lost = watch->has_counters ? &told : lost;
	for (size_t i = 0; i < watch->count; i++)
		watch->list[i].start = watch->list[i].page->data_tail;
	/* The first one clears the readiness that perf sets with each wakeup. */
	perf_buffer__poll(watch->rings, 0);
	ret = perf_buffer__consume(watch->rings);
	for (size_t i = 0; i < watch->count; i++)
		*lost += newly_lost(&watch->list[i]);
	return ret;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into a real PyTorch on the CPU, makes a block on a simulated GPU of each tensor's memory. Each
 * posix_memalign and free of libc10 is reported as the CUDA caching allocator would report it: by the real
 * c10::reportMemoryUsageToProfiler, at that moment, with totals. So are failures. Addresses, sizes and segments look
 * like a GPU's; the bytes are the host's. On the CPU backward runs on the thread that called it: while that thread says
 * so, a thread with the name of autograd's GPU threads makes its reports.
 *
 * It writes all of that down, with the marks of the program (blocks_mark), which is what tests compare with.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES 2
#define CUDA 1
#define UNIT 512                        /* PyTorch's rounding */
#define SEGMENT_BYTES (64u << 20)
#define UNITS (SEGMENT_BYTES / UNIT)
#define ALIGNMENT 64                    /* what libc10 asks for; fewer of free()'s pointers are looked up */
#define SLOTS (1u << 16)
#define ENTRIES (1u << 19)

enum what { BLOCK, MARK, TAG };

struct entry {
	uint64_t ptr;           /* of the block */
	int64_t size;           /* BLOCK: negative: freed */
	uint64_t allocated;     /* afterwards, on the device */
	uint32_t device;
	uint16_t what;          /* enum what */
	uint16_t number;        /* BLOCK: 1: by a thread of autograd; MARK, TAG: the program's */
};

struct block {
	void *memory;           /* NULL: the slot is free */
	uint64_t ptr;
	uint64_t size;
	uint32_t device;
};

typedef void report_fn(uint64_t ptr, int64_t size, uint64_t allocated, uint64_t reserved, uint64_t device);
typedef void report_oom_fn(int64_t size, uint64_t allocated, uint64_t reserved, uint64_t device);
typedef void task_fn(void *arg);

/* A thread that does what others hand it, one at a time. */
struct helper {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	task_fn *task;          /* NULL: nothing to do */
	void *arg;
};

struct device {
	uint64_t base;          /* of its segment; 0: not used */
	uint64_t allocated;
	uint64_t limit;         /* more than this is out of memory */
	uint8_t used[UNITS];
	struct helper helper;
};

struct mine {
	int device;             /* the thread's; -1: its memory is not looked at */
	bool backward;          /* autograd's thread reports for it */
	bool autograd;          /* this is autograd's thread */
	bool inside;            /* a report is being made */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  /* of all that follows */
static struct device devices[DEVICES];
static struct block blocks[SLOTS];
static struct entry entries[ENTRIES];
static size_t entry_count;
static report_fn *report;
static report_oom_fn *report_oom;
static __thread struct mine mine = { .device = -1 };

int blocks_start(int device);
void blocks_device(int device);
void blocks_backward(int on);
void blocks_limit(uint64_t bytes);
void blocks_room(uint64_t bytes);
void blocks_mark(unsigned int number);
void blocks_tag(const void *memory, unsigned int number);
void blocks_on_autograd_thread(void (*function)(void));
const struct entry *blocks_log(size_t *count);

extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

/* ---- threads ---- */

static void *help(void *arg)
{
	struct device *device = arg;
	struct helper *h = &device->helper;
	char name[16];

	mine = (struct mine){ .device = (int)(device - devices), .autograd = true };
	snprintf(name, sizeof(name), "pt_autograd_%d", mine.device);
	pthread_setname_np(pthread_self(), name);
	pthread_mutex_lock(&h->lock);
	for (;;) {
		while (!h->task)
			pthread_cond_wait(&h->changed, &h->lock);
		pthread_mutex_unlock(&h->lock);
		h->task(h->arg);
		pthread_mutex_lock(&h->lock);
		h->task = NULL;
		pthread_cond_broadcast(&h->changed);
	}
	return NULL;
}

static void hand_over(struct helper *h, task_fn *task, void *arg)
{
	pthread_mutex_lock(&h->lock);
	h->task = task;
	h->arg = arg;
	pthread_cond_broadcast(&h->changed);
	while (h->task)
		pthread_cond_wait(&h->changed, &h->lock);
	pthread_mutex_unlock(&h->lock);
}

/* ---- reports ---- */

static uint64_t as_argument(uint32_t device)
{
	return 0xdeadbeef5aa50000u | device << 8 | CUDA;  /* two bytes; what is above them is whatever was there */
}

static void say(void *arg)
{
	const struct entry *e = arg;
	bool was = mine.inside;

	mine.inside = true;
	report(e->ptr, e->size, e->allocated, SEGMENT_BYTES, as_argument(e->device));
	mine.inside = was;
}

static void say_oom(void *arg)
{
	const struct entry *e = arg;

	report_oom(e->size, e->allocated, SEGMENT_BYTES, as_argument(e->device));
}

static struct entry *note(uint32_t device, enum what what, unsigned int number)
{
	struct entry *e = &entries[entry_count];

	if (entry_count == ENTRIES - 1) {
		fputs("libblocks: the log is full\n", stderr);
		abort();
	}
	entry_count++;
	*e = (struct entry){ .allocated = devices[device].allocated, .device = device, .what = (uint16_t)what,
			     .number = (uint16_t)number };
	return e;
}

static void tell(task_fn *task, struct entry *e)
{
	if (mine.backward)
		hand_over(&devices[e->device].helper, task, e);
	else
		task(e);
}

/* ---- addresses and blocks ---- */

/* The first free piece of the segment; 0: none. */
static uint64_t place(struct device *d, size_t units)
{
	size_t run = 0;

	for (size_t i = 0; i < UNITS; i++) {
		run = d->used[i] ? 0 : run + 1;
		if (run == units) {
			memset(&d->used[i + 1 - units], 1, units);
			return d->base + (i + 1 - units) * UNIT;
		}
	}
	return 0;
}

static size_t hash(const void *memory)
{
	return ((uintptr_t)memory / ALIGNMENT * 0x9e3779b97f4a7c15u >> 32) % SLOTS;
}

static struct block *find(const void *memory)
{
	for (size_t i = hash(memory); blocks[i].size; i = (i + 1) % SLOTS)
		if (blocks[i].memory == memory)
			return &blocks[i];
	return NULL;
}

/* A slot that was used keeps its size, so that those behind it are found. */
static void add(struct block block)
{
	size_t i = hash(block.memory);

	while (blocks[i].memory)
		i = (i + 1) % SLOTS;
	blocks[i] = block;
}

/* Whether it fits. */
static bool take(void *memory, size_t bytes)
{
	uint32_t number = (uint32_t)mine.device;
	struct device *d = &devices[number];
	uint64_t size = (bytes + UNIT - 1) / UNIT * UNIT;
	uint64_t ptr = d->allocated + size > d->limit ? 0 : place(d, size / UNIT);
	struct entry *e;

	if (!ptr) {
		struct entry oom = { .size = (int64_t)size, .allocated = d->allocated, .device = number };

		tell(say_oom, &oom);
		return false;
	}
	add((struct block){ .memory = memory, .ptr = ptr, .size = size, .device = number });
	d->allocated += size;
	e = note(number, BLOCK, mine.backward || mine.autograd);
	e->ptr = ptr;
	e->size = (int64_t)size;
	tell(say, e);
	return true;
}

static void give_back(struct block *b)
{
	struct device *d = &devices[b->device];
	struct entry *e;

	memset(&d->used[(b->ptr - d->base) / UNIT], 0, b->size / UNIT);
	d->allocated -= b->size;
	e = note(b->device, BLOCK, mine.backward || mine.autograd);
	e->ptr = b->ptr;
	e->size = -(int64_t)b->size;
	b->memory = NULL;
	tell(say, e);
}

/* ---- libc10's memory ---- */

/* Finds the functions to report to in the library that the address is in, if that is libc10. */
static bool is_libc10(const void *address)
{
	static const char *const names[][2] = {
		{ "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE", "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE" },
		{ "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE", "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE" },
	};
	struct dl_find_object info;
	const char *name;
	void *library;

	/* Not dladdr(): it looks through all symbols, for milliseconds in libtorch_cpu. */
	if (_dl_find_object((void *)address, &info))
		return false;
	name = info.dlfo_link_map->l_name;
	if (!strstr(name, "/libc10.so"))
		return false;
	if (report)
		return true;
	library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
	for (int i = 0; i < 2 && library && !report; i++) {
		report_oom = (report_oom_fn *)dlsym(library, names[i][1]);
		report = report_oom ? (report_fn *)dlsym(library, names[i][0]) : NULL;
	}
	if (!report) {
		fprintf(stderr, "libblocks: %s has no function to report to\n", name);
		abort();
	}
	return true;
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
	bool fits = true;

	*memory = __libc_memalign(alignment, size);
	if (!*memory)
		return ENOMEM;
	if (mine.device < 0 || mine.inside || !size || !is_libc10(__builtin_return_address(0)))
		return 0;
	pthread_mutex_lock(&lock);
	fits = take(*memory, size);
	pthread_mutex_unlock(&lock);
	if (fits)
		return 0;
	__libc_free(*memory);
	*memory = NULL;
	return ENOMEM;
}

void free(void *memory)
{
	if (memory && report && !mine.inside && !((uintptr_t)memory % ALIGNMENT)) {
		struct block *b;

		pthread_mutex_lock(&lock);
		b = find(memory);
		if (b)
			give_back(b);
		pthread_mutex_unlock(&lock);
	}
	__libc_free(memory);
}

/* ---- what the program calls ---- */

/* The calling thread's tensors are on this device from now on. It gets a segment by the CUDA driver; 0: done. */
int blocks_start(int device)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	struct device *d = &devices[device];
	pthread_t thread;
	void *context;
	int (*init)(unsigned int) = (int (*)(unsigned int))dlsym(library, "cuInit");
	int (*retain)(void **, int) = (int (*)(void **, int))dlsym(library, "cuDevicePrimaryCtxRetain");
	int (*set)(void *) = (int (*)(void *))dlsym(library, "cuCtxSetCurrent");
	int (*alloc)(uint64_t *, size_t) = (int (*)(uint64_t *, size_t))dlsym(library, "cuMemAlloc_v2");

	if (!init || !retain || !set || !alloc || init(0) || retain(&context, device) || set(context) ||
	    alloc(&d->base, SEGMENT_BYTES))
		return 1;
	d->limit = SEGMENT_BYTES;
	d->helper = (struct helper){ .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
	if (pthread_create(&thread, NULL, help, d))
		return 1;
	blocks_device(device);
	return 0;
}

void blocks_device(int device)
{
	mine.device = device;
}

void blocks_backward(int on)
{
	mine.backward = on;
}

void blocks_limit(uint64_t bytes)
{
	devices[mine.device].limit = bytes;
}

/* A limit of so much more than there is. */
void blocks_room(uint64_t bytes)
{
	pthread_mutex_lock(&lock);
	blocks_limit(devices[mine.device].allocated + bytes);
	pthread_mutex_unlock(&lock);
}

void blocks_mark(unsigned int number)
{
	pthread_mutex_lock(&lock);
	note(mine.device < 0 ? 0 : (uint32_t)mine.device, MARK, number)->ptr = mine.autograd;
	pthread_mutex_unlock(&lock);
}

/* What the block at this memory is, in the program's words; other memory has none. */
void blocks_tag(const void *memory, unsigned int number)
{
	struct block *b;

	pthread_mutex_lock(&lock);
	b = find(memory);
	if (b)
		note(b->device, TAG, number)->ptr = b->ptr;
	pthread_mutex_unlock(&lock);
}

static void call(void *function)
{
	((void (*)(void))function)();
}

/* As autograd runs hooks of a GPU's tensors. */
void blocks_on_autograd_thread(void (*function)(void))
{
	hand_over(&devices[mine.device].helper, call, (void *)function);
}

const struct entry *blocks_log(size_t *count)
{
	*count = entry_count;
	return entries;
}

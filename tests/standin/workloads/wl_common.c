/* SPDX-License-Identifier: BSD-2-Clause */
/* See wl_common.h. */
#include "wl_common.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES 2

/* Weak, so that a program that opens libcuda itself (dl_*.c) is not linked to it by this file:
 * --as-needed counts only strong references. */
#pragma weak cuInit
#pragma weak cuDeviceGet
#pragma weak cuDeviceGetCount
#pragma weak cuDeviceGetUuid
#pragma weak cuDeviceGetUuid_v2
#pragma weak cuDeviceGetPCIBusId
#pragma weak cuGetErrorName
#pragma weak cuMemAlloc_v2
#pragma weak cuMemFree_v2
#pragma weak cuMemMap
#pragma weak cuMemSetAccess
#pragma weak standin_used

struct book {
	uint64_t live, peak, allocs, frees, failed;
};

static struct {
	pthread_mutex_t lock;
	struct book gpu[DEVICES][WL_CLASSES];
	struct book proc[WL_CLASSES];
	uint64_t checksum;
	bool no_peaks;
} books = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const char *const class_names[WL_CLASSES] = {
	[WL_DEVICE] = "device", [WL_POOL] = "pool", [WL_VMM] = "vmm", [WL_ARRAY] = "array",
	[WL_GRAPH] = "graph",
	[WL_MANAGED] = "managed", [WL_PINNED] = "pinned", [WL_REGISTERED] = "registered",
};

/* What libcudart 13.0 does first, as recorded: so the UUID of each ordinal is told at the start. */
static void as_libcudart(void)
{
	CUuuid uuid;
	CUdevice dev;
	int count;

	CU(cuDeviceGetCount(&count));
	for (int ordinal = 0; ordinal < count; ordinal++) {
		CU(cuDeviceGet(&dev, ordinal));
		CU(cuDeviceGetUuid(&uuid, dev));
	}
}

void wl_start(void)
{
	fprintf(stderr, "pid=%d\n", (int)getpid());
	wl_phase("start");
	CU(cuInit(0));
	if (!getenv("WL_BARE"))
		as_libcudart();
}

static struct book *book_of(int dev, enum wl_class class)
{
	return class < WL_MANAGED ? &books.gpu[dev][class] : &books.proc[class];
}

void wl_alloc(int dev, enum wl_class class, uint64_t bytes)
{
	struct book *book = book_of(dev, class);

	pthread_mutex_lock(&books.lock);
	book->allocs++;
	book->live += bytes;
	if (book->live > book->peak)
		book->peak = book->live;
	pthread_mutex_unlock(&books.lock);
}

void wl_free(int dev, enum wl_class class, uint64_t bytes)
{
	struct book *book = book_of(dev, class);

	pthread_mutex_lock(&books.lock);
	book->frees++;
	book->live -= bytes;
	pthread_mutex_unlock(&books.lock);
}

void wl_failed(int dev, enum wl_class class)
{
	pthread_mutex_lock(&books.lock);
	book_of(dev, class)->failed++;
	pthread_mutex_unlock(&books.lock);
}

void wl_mix(uint64_t value)
{
	value = (value + 1) * 0x9e3779b97f4a7c15ULL;
	value ^= value >> 29;
	__atomic_add_fetch(&books.checksum, value * 0xbf58476d1ce4e5b9ULL, __ATOMIC_RELAXED);
}

static void uuid_text(int dev, char *text, size_t size)
{
	CUuuid id;
	const uint8_t *b = id.bytes;

	CU(cuDeviceGetUuid_v2(&id, dev));
	snprintf(text, size, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
		 b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
		 b[15]);
}

static void print_book(const char *owner, const char *class, const struct book *book)
{
	if (!book->allocs && !book->frees && !book->failed)
		return;
	printf("%s.%s.live=%lu\n", owner, class, book->live);
	if (!books.no_peaks)
		printf("%s.%s.peak=%lu\n", owner, class, book->peak);
	printf("%s.%s.allocs=%lu\n", owner, class, book->allocs);
	printf("%s.%s.frees=%lu\n", owner, class, book->frees);
	printf("%s.%s.failed=%lu\n", owner, class, book->failed);
}

/* The simulated driver knows GPUs by NVML's number; the workload by their UUID. */
static uint64_t physical(int dev)
{
	char bus[32];

	CU(cuDeviceGetPCIBusId(bus, sizeof(bus), dev));
	return standin_used(strcmp(bus, "0000:3b:00.0") ? 1 : 0);
}

static void print_devices(void)
{
	int count;

	CU(cuDeviceGetCount(&count));
	for (int dev = 0; dev < count && dev < DEVICES; dev++) {
		char uuid[48], owner[64];

		uuid_text(dev, uuid, sizeof(uuid));
		snprintf(owner, sizeof(owner), "gpu.%s", uuid);
		for (int class = 0; class < WL_MANAGED; class++)
			print_book(owner, class_names[class], &books.gpu[dev][class]);
		if (physical(dev) && !books.no_peaks)
			printf("%s.physical=%lu\n", owner, physical(dev));
	}
}

void wl_report(void)
{
	pthread_mutex_lock(&books.lock);
	print_devices();
	for (int class = WL_MANAGED; class < WL_CLASSES; class++)
		print_book("proc", class_names[class], &books.proc[class]);
	printf("checksum=%016lx\n", books.checksum);
	fflush(stdout);
	pthread_mutex_unlock(&books.lock);
}

void wl_check(CUresult got, CUresult expected, const char *call, const char *file, int line)
{
	const char *name = "?";

	if (got == expected)
		return;
	cuGetErrorName(got, &name);
	fprintf(stderr, "%s:%d: %s returned %u (%s), not %u\n", file, line, call, got, name, expected);
	exit(70);
}

static bool is_held(const char *name)
{
	const char *hold = getenv("WL_HOLD");

	for (size_t length = 0; hold && *hold; hold += length + (hold[length] == ',')) {
		length = strcspn(hold, ",");
		if (length == strlen(name) && !memcmp(hold, name, length))
			return true;
	}
	return false;
}

void wl_phase(const char *name)
{
	bool held = is_held(name);
	sigset_t set;
	int signal = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	if (held)
		pthread_sigmask(SIG_BLOCK, &set, NULL);
	fprintf(stderr, "phase=%s\n", name);
	while (held && signal != SIGUSR1) {
		sigwait(&set, &signal);
		if (signal == SIGUSR2)
			wl_report();
	}
}

CUdeviceptr wl_mem(int dev, uint64_t bytes)
{
	CUdeviceptr address;

	CU(cuMemAlloc_v2(&address, bytes));
	wl_alloc(dev, WL_DEVICE, bytes);
	return address;
}

void wl_mem_free(int dev, CUdeviceptr address, uint64_t bytes)
{
	wl_free(dev, WL_DEVICE, bytes);
	CU(cuMemFree_v2(address));
}

void wl_no_peaks(void)
{
	books.no_peaks = true;
}

unsigned long wl_arg(int argc, char **argv, int i, unsigned long otherwise)
{
	return i < argc ? strtoul(argv[i], NULL, 0) : otherwise;
}

CUmemAllocationProp wl_prop(int dev)
{
	return (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, dev },
	};
}

void wl_map(CUdeviceptr at, uint64_t bytes, CUmemGenericAllocationHandle handle, int dev)
{
	CUmemAccessDesc access = { { CU_MEM_LOCATION_TYPE_DEVICE, dev }, 3 };

	CU(cuMemMap(at, bytes, 0, handle, 0));
	CU(cuMemSetAccess(at, bytes, &access, 1));
}

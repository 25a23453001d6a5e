/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A simulated libnvidia-ml.so.1 for the simulated GPUs: what nvidia-smi would show. Used bytes come
 * from the slots of <root>/run/clients; pids are those of the caller's pid namespace, and processes
 * it cannot see are left out, as the real driver does it.
 *
 * Structures and return codes as in NVIDIA's nvml.h (API version 12).
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../common/gpus.h"
#include "../common/share.h"

#define API __attribute__((visibility("default")))

enum {
	NVML_SUCCESS = 0,
	NVML_ERROR_UNINITIALIZED = 1,
	NVML_ERROR_INVALID_ARGUMENT = 2,
	NVML_ERROR_NOT_SUPPORTED = 3,
	NVML_ERROR_NOT_FOUND = 6,
	NVML_ERROR_INSUFFICIENT_SIZE = 7,
};
typedef int nvmlReturn_t;
typedef const struct gpu *nvmlDevice_t;

typedef struct {
	char busIdLegacy[16];
	unsigned int domain, bus, device, pciDeviceId, pciSubSystemId;
	char busId[32];
} nvmlPciInfo_t;
typedef struct { unsigned long long total, free, used; } nvmlMemory_t;
typedef struct {
	unsigned int pid;
	unsigned long long usedGpuMemory;
	unsigned int gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_t;
_Static_assert(sizeof(nvmlProcessInfo_t) == 24, "nvmlProcessInfo_t");

static struct {
	pthread_mutex_t lock;
	unsigned int users;
	int fd;             /* never closed: that would drop the locks of a libcuda in this process */
	struct share *share;
	char root[4096];
} nvml = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

API nvmlReturn_t nvmlInit_v2(void);

nvmlReturn_t nvmlInit_v2(void)
{
	pthread_mutex_lock(&nvml.lock);
	if (!nvml.share) {
		share_root((const void *)nvmlInit_v2, 1, nvml.root, sizeof(nvml.root));
		nvml.fd = share_open(nvml.root, &nvml.share);
	}
	nvml.users++;
	pthread_mutex_unlock(&nvml.lock);
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlShutdown(void);

nvmlReturn_t nvmlShutdown(void)
{
	nvmlReturn_t rc = NVML_SUCCESS;

	pthread_mutex_lock(&nvml.lock);
	if (nvml.users)
		nvml.users--;
	else
		rc = NVML_ERROR_UNINITIALIZED;
	pthread_mutex_unlock(&nvml.lock);
	return rc;
}

API const char *nvmlErrorString(nvmlReturn_t rc);

const char *nvmlErrorString(nvmlReturn_t rc)
{
	switch (rc) {
	case NVML_SUCCESS:
		return "Success";
	case NVML_ERROR_UNINITIALIZED:
		return "Uninitialized";
	case NVML_ERROR_INVALID_ARGUMENT:
		return "Invalid Argument";
	case NVML_ERROR_NOT_SUPPORTED:
		return "Not Supported";
	case NVML_ERROR_NOT_FOUND:
		return "Not Found";
	case NVML_ERROR_INSUFFICIENT_SIZE:
		return "Insufficient Size";
	}
	return "Unknown Error";
}

static int index_of(nvmlDevice_t device)
{
	for (int i = 0; i < STANDIN_GPUS; i++)
		if (device == &standin_gpus[i])
			return i;
	return -1;
}

static nvmlReturn_t check(nvmlDevice_t device, const void *out)
{
	if (!nvml.users)
		return NVML_ERROR_UNINITIALIZED;
	return out && index_of(device) >= 0 ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

static nvmlReturn_t put_text(char *to, unsigned int length, const char *text)
{
	if (strlen(text) >= length)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	strcpy(to, text);
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length);

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	char path[sizeof(nvml.root) + 64], line[256] = "", number[80] = "";
	FILE *file;

	if (!nvml.users)
		return NVML_ERROR_UNINITIALIZED;
	snprintf(path, sizeof(path), "%s/proc/driver/nvidia/version", nvml.root);
	file = fopen(path, "re");
	if (!file)
		return NVML_ERROR_NOT_FOUND;
	if (fgets(line, sizeof(line), file) && strstr(line, "Module"))
		sscanf(strstr(line, "Module") + strlen("Module"), " %79s", number);
	fclose(file);
	return put_text(version, length, number);
}

API nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count);

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
	if (!nvml.users)
		return NVML_ERROR_UNINITIALIZED;
	*count = STANDIN_GPUS;
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device);

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	if (!nvml.users)
		return NVML_ERROR_UNINITIALIZED;
	if (index >= STANDIN_GPUS || !device)
		return NVML_ERROR_INVALID_ARGUMENT;
	*device = &standin_gpus[index];
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length);

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
	return check(device, uuid) ?: put_text(uuid, length, device->uuid_text);
}

API nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length);

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
	return check(device, name) ?: put_text(name, length, device->name);
}

API nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci);

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	nvmlReturn_t rc = check(device, pci);

	if (rc)
		return rc;
	*pci = (nvmlPciInfo_t){ .bus = device->bus, .pciDeviceId = 0x233010de };
	snprintf(pci->busId, sizeof(pci->busId), "%s", device->pci);
	snprintf(pci->busIdLegacy, sizeof(pci->busIdLegacy), "%.15s", device->pci + 4);
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minor);

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minor)
{
	nvmlReturn_t rc = check(device, minor);

	if (!rc)
		*minor = (unsigned int)device->minor;
	return rc;
}

API nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory);

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	nvmlReturn_t rc = check(device, memory);
	int i = index_of(device);

	if (rc)
		return rc;
	memory->total = share_total(nvml.share, i);
	memory->used = share_used(nvml.fd, nvml.share, i, -1) + STANDIN_DEVICE_BASE_BYTES;
	memory->free = memory->total - memory->used;
	return NVML_SUCCESS;
}

API nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending);

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending)
{
	(void)current, (void)pending;
	return check(device, current) ?: NVML_ERROR_NOT_SUPPORTED;
}

/* A driver that does not answer: while the file <root>/run/nvml-hangs is there. */
static void hang(void)
{
	char path[sizeof(nvml.root) + 32];

	snprintf(path, sizeof(path), "%s/run/nvml-hangs", nvml.root);
	while (!access(path, F_OK))
		usleep(20000);
}

/* A process may hold two slots: one for each libcuda it has loaded. */
static unsigned int list(int gpu, nvmlProcessInfo_t *infos, unsigned int room)
{
	unsigned int count = 0;

	for (int slot = 0; slot < SHARE_SLOTS; slot++) {
		uint64_t used = nvml.share->client[slot].used[gpu];
		pid_t pid = used ? share_owner(nvml.fd, slot) : 0;
		unsigned int i = 0;

		if (pid <= 0)
			continue;
		while (i < count && i < room && infos[i].pid != (unsigned int)pid)
			i++;
		if (i < room && i < count) {
			infos[i].usedGpuMemory += used;
			continue;
		}
		if (count < room)
			infos[count] = (nvmlProcessInfo_t){ (unsigned int)pid, used, ~0u, ~0u };
		count++;
	}
	return count;
}

API nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count,
							 nvmlProcessInfo_t *infos);

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count,
						     nvmlProcessInfo_t *infos)
{
	nvmlReturn_t rc = check(device, count);
	unsigned int room, found;

	if (rc)
		return rc;
	hang();
	room = infos ? *count : 0;
	found = list(index_of(device), infos, room);
	*count = found;
	return found > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

API nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int *count,
							  nvmlProcessInfo_t *infos);

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int *count,
						      nvmlProcessInfo_t *infos)
{
	nvmlReturn_t rc = check(device, count);

	(void)infos;
	if (!rc)
		*count = 0;
	return rc;
}

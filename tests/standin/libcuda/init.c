/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The start of the driver and its devices. CUDA numbers the devices fastest first, which is the reverse of NVML's order
 * here, unless CUDA_DEVICE_ORDER=PCI_BUS_ID; CUDA_VISIBLE_DEVICES picks from that order and ends at the first entry
 * that names no device.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "standin.h"

#define DEFAULT_DRIVER 580
#define DEFAULT_CONTEXT_MIB 518 /* first context of an H200 with driver 580, before any module */

struct standin g = { .lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP, .share_fd = -1 };

static unsigned int driver_major(void)
{
	const char *env = getenv("STANDIN_DRIVER");
	char path[sizeof(g.root) + 64], line[256] = "";
	unsigned int major = DEFAULT_DRIVER;
	FILE *file;

	if (env && atoi(env) > 0)
		return (unsigned int)atoi(env);
	snprintf(path, sizeof(path), "%s/proc/driver/nvidia/version", g.root);
	file = fopen(path, "re");
	if (!file)
		return DEFAULT_DRIVER;
	/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  ..." */
	if (fgets(line, sizeof(line), file) && strstr(line, "Module"))
		sscanf(strstr(line, "Module") + strlen("Module"), " %u.", &major);
	fclose(file);
	return major;
}

static int device_named(const int *order, const char *name, size_t length)
{
	char *end;
	long number = strtol(name, &end, 10);

	if (end == name + length && length)
		return number >= 0 && number < STANDIN_GPUS ? order[number] : -1;
	for (int i = 0; i < STANDIN_GPUS; i++)
		if (length > strlen("GPU-") && !strncasecmp(standin_gpus[i].uuid_text, name, length))
			return i;
	return -1;
}

static void add_device(int nvml)
{
	struct device *device = &g.devices[g.device_count];

	device->gpu = &standin_gpus[nvml];
	device->nvml = nvml;
	device->ordinal = g.device_count++;
}

static void find_devices(void)
{
	const char *by = getenv("CUDA_DEVICE_ORDER"), *visible = getenv("CUDA_VISIBLE_DEVICES");
	bool pci = by && !strcmp(by, "PCI_BUS_ID");
	bool taken[STANDIN_GPUS] = { false };
	int order[STANDIN_GPUS];

	for (int i = 0; i < STANDIN_GPUS; i++)
		order[i] = pci ? i : STANDIN_GPUS - 1 - i;
	if (!visible) {
		for (int i = 0; i < STANDIN_GPUS; i++)
			add_device(order[i]);
		return;
	}
	while (*visible && g.device_count < STANDIN_GPUS) {
		size_t length = strcspn(visible, ",");
		int nvml = device_named(order, visible, length);

		if (nvml < 0 || taken[nvml])
			return;
		taken[nvml] = true;
		add_device(nvml);
		visible += length + (visible[length] == ',');
	}
}

static uint64_t env_mib(const char *name, uint64_t otherwise)
{
	const char *env = getenv(name);

	return (env && *env ? strtoull(env, NULL, 10) : otherwise) * STANDIN_MIB;
}

static void before_fork(void)
{
	pthread_mutex_lock(&g.lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&g.lock);
}

/* As with the real driver, CUDA is dead in the child of a process that used it. */
static void after_fork_child(void)
{
	g.forked |= g.up;
	g.up = false;
	pthread_mutex_unlock(&g.lock);
}

static CUresult start(void)
{
	if (g.up)
		return CUDA_SUCCESS;
	if (g.forked)
		return CUDA_ERROR_NOT_INITIALIZED;
	share_root((const void *)cuInit, 2, g.root, sizeof(g.root));
	g.driver = driver_major();
	if (!g.device_count)
		find_devices();
	if (!g.device_count)
		return CUDA_ERROR_NO_DEVICE;
	g.share_fd = share_open(g.root, &g.share);
	if (!g.share || va_start())
		return CUDA_ERROR_OUT_OF_MEMORY;
	g.slot = share_claim(g.share_fd, g.share);
	if (g.slot < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (getenv("STANDIN_MEM_MIB"))
		for (int i = 0; i < STANDIN_GPUS; i++)
			g.share->total[i] = env_mib("STANDIN_MEM_MIB", STANDIN_DEFAULT_MIB);
	g.context_bytes = env_mib("STANDIN_CONTEXT_MIB", DEFAULT_CONTEXT_MIB);
	devfile_open();
	rm_start();
	pthread_atfork(before_fork, after_fork, after_fork_child);
	g.up = true;
	return CUDA_SUCCESS;
}

CUresult cuInit(unsigned int flags)
{
	CUresult rc;

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&g.lock);
	rc = start();
	pthread_mutex_unlock(&g.lock);
	return rc;
}

CUresult cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = g.driver && g.driver < 545 ? 12020 : 13000;
	return CUDA_SUCCESS;
}

uint64_t standin_used(int nvml_index)
{
	if (!g.share || nvml_index < 0 || nvml_index >= STANDIN_GPUS)
		return 0;
	return g.share->client[g.slot].used[nvml_index];
}

struct device *device_of_nvml(uint32_t nvml)
{
	for (int i = 0; i < g.device_count; i++)
		if ((uint32_t)g.devices[i].nvml == nvml)
			return &g.devices[i];
	return NULL;
}

static CUresult device_get(CUdevice *dev, int ordinal)
{
	if (!dev)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_of(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*dev = ordinal;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *dev, int ordinal)
{
	API(device_get(dev, ordinal));
}

CUresult cuDeviceGetCount(int *count)
{
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = g.device_count;
	return g.up ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

static CUresult copy_text(char *to, int len, CUdevice dev, const char *text)
{
	if (!to || len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_of(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(to, (size_t)len, "%s", text);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
	API(copy_text(name, len, dev, device_of(dev) ? device_of(dev)->gpu->name : ""));
}

CUresult cuDeviceGetPCIBusId(char *id, int len, CUdevice dev)
{
	API(copy_text(id, len, dev, device_of(dev) ? device_of(dev)->gpu->pci_procfs : ""));
}

static CUresult device_uuid(CUuuid *uuid, CUdevice dev)
{
	if (!uuid)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_of(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	memcpy(uuid->bytes, device_of(dev)->gpu->uuid, sizeof(uuid->bytes));
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	API(device_uuid(uuid, dev));
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	API(device_uuid(uuid, dev));
}

static CUresult total_mem(size_t *bytes, CUdevice dev)
{
	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_of(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*bytes = share_total(g.share, device_of(dev)->nvml);
	return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	API(total_mem(bytes, dev));
}

CUresult cuDeviceGetAttribute(int *value, int attr, CUdevice dev)
{
	(void)attr;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_of(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*value = 1;
	return CUDA_SUCCESS;
}

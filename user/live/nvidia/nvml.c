// SPDX-License-Identifier: BSD-2-Clause
/*
 * See nvml.h. Prototypes, structures and values come from the NVML API Reference Guide, vR535 to vR590
 * (docs.nvidia.com/deploy/nvml-api). The library keeps them for good under versioned names. This file declares only
 * what it uses, so that the build needs no header of NVIDIA's.
 */
#include "live/nvidia/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "live/nvidia/inventory.h"

/* nvmlReturn_t */
#define NVML_SUCCESS 0
#define NVML_ERROR_NOT_SUPPORTED 3
#define NVML_ERROR_NO_PERMISSION 4
#define NVML_ERROR_NOT_FOUND 6
#define NVML_ERROR_INSUFFICIENT_SIZE 7
#define NVML_ERROR_DRIVER_NOT_LOADED 9
#define NVML_ERROR_LIB_RM_VERSION_MISMATCH 18

#define UUID_TEXT 96  /* NVML_DEVICE_UUID_V2_BUFFER_SIZE */
#define LISTS 3       /* compute, graphics, MPS */

typedef void *nvml_device; /* nvmlDevice_t */

struct nvml_pci {          /* nvmlPciInfo_t, for nvmlDeviceGetPciInfo_v3 */
	char bus_id_legacy[16];
	unsigned int domain, bus, device, device_id, subsystem_id;
	char bus_id[32];
};
_Static_assert(sizeof(struct nvml_pci) == 68, "nvmlPciInfo_t");

struct nvml_memory {       /* nvmlMemory_t */
	unsigned long long total, free, used;
};

/* X(answer, member, name, required, arguments) */
#define FUNCTIONS(X)                                                                                                \
	X(int, init, "nvmlInit_v2", true, (void))                                                                   \
	X(int, shutdown, "nvmlShutdown", true, (void))                                                              \
	X(const char *, error, "nvmlErrorString", false, (int result))                                              \
	X(int, count, "nvmlDeviceGetCount_v2", true, (unsigned int *count))                                         \
	X(int, by_index, "nvmlDeviceGetHandleByIndex_v2", true, (unsigned int index, nvml_device *device))          \
	X(int, uuid, "nvmlDeviceGetUUID", true, (nvml_device device, char *text, unsigned int size))                \
	X(int, name, "nvmlDeviceGetName", false, (nvml_device device, char *text, unsigned int size))               \
	X(int, pci, "nvmlDeviceGetPciInfo_v3", false, (nvml_device device, struct nvml_pci *pci))                   \
	X(int, minor, "nvmlDeviceGetMinorNumber", false, (nvml_device device, unsigned int *minor))                 \
	X(int, memory, "nvmlDeviceGetMemoryInfo", false, (nvml_device device, struct nvml_memory *memory))          \
	X(int, mig_mode, "nvmlDeviceGetMigMode", false,                                                             \
	  (nvml_device device, unsigned int *current, unsigned int *pending))                                       \
	X(int, mig_count, "nvmlDeviceGetMaxMigDeviceCount", false, (nvml_device device, unsigned int *count))       \
	X(int, mig_by_index, "nvmlDeviceGetMigDeviceHandleByIndex", false,                                          \
	  (nvml_device device, unsigned int index, nvml_device *mig))                                               \
	X(int, gpu_instance, "nvmlDeviceGetGpuInstanceId", false, (nvml_device device, unsigned int *id))           \
	X(int, compute_instance, "nvmlDeviceGetComputeInstanceId", false, (nvml_device device, unsigned int *id))

struct functions {
#define X(answer, member, name, required, arguments) answer (*member) arguments;
	FUNCTIONS(X)
#undef X
	int (*list[LISTS])(nvml_device device, unsigned int *count, void *infos);
};

static const struct symbol {
	const char *name;
	size_t member;
	bool required;
} symbols[] = {
#define X(answer, member, name, required, arguments) { name, offsetof(struct functions, member), required },
	FUNCTIONS(X)
#undef X
};

/* The newest version comes first. A process in several lists has the same number in each list. */
static const char *const list_names[LISTS][3] = {
	{ "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
	  "nvmlDeviceGetComputeRunningProcesses" },
	{ "nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2",
	  "nvmlDeviceGetGraphicsRunningProcesses" },
	{ "nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2",
	  "nvmlDeviceGetMPSComputeRunningProcesses" },
};

/*
 * nvmlProcessInfo_t: pid at 0, usedGpuMemory at 8; then gpuInstanceId and computeInstanceId (_v2, _v3). Drivers 535.43
 * to 535.86 appended 8 more bytes under the name _v3; driver 535.98 dropped these bytes. So process_stride() measures
 * the entries that the library wrote.
 */
#define PROCESS_V1 16
#define PROCESS_V2 24
#define PROCESS_MAX 32
#define UNWRITTEN 0xa5 /* no entry's last byte, which is a high byte of a size or an instance id */

struct nvml {
	void *library;
	bool initialised;
	char path[PATH_MAX];
	struct functions call;
	size_t stride[LISTS];     /* as documented for the version that was found */
	size_t gpu_count;
	struct gmt_gpu *gpus;
	nvml_device *handles;     /* of gpus[] */
	unsigned char *entries;
	unsigned int capacity;    /* of entries, in PROCESS_MAX bytes */
	struct nvml_usage *usages;
	size_t usage_count;
};

static bool load_symbols(struct nvml *nvml, const char **missing)
{
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *address = dlsym(nvml->library, symbols[i].name);

		if (!address && symbols[i].required) {
			*missing = symbols[i].name;
			return false;
		}
		memcpy((char *)&nvml->call + symbols[i].member, &address, sizeof(address));
	}
	for (size_t list = 0; list < LISTS; list++) {
		for (size_t version = 0; version < 3 && !nvml->call.list[list]; version++) {
			void *address = dlsym(nvml->library, list_names[list][version]);

			memcpy(&nvml->call.list[list], &address, sizeof(address));
			nvml->stride[list] = version < 2 ? PROCESS_V2 : PROCESS_V1;
		}
	}
	return true;
}

static bool try_library(struct nvml *nvml, const char *root, const char *path)
{
	int len = snprintf(nvml->path, sizeof(nvml->path), "%s%s", root, path);

	if (len < 0 || (size_t)len >= sizeof(nvml->path))
		return false;
	nvml->library = dlopen(nvml->path, RTLD_NOW | RTLD_LOCAL);
	return nvml->library;
}

#define NVML_SO "libnvidia-ml.so.1"
static bool find_nvml(struct nvml *nvml, const char *path, const char *root)
{
	static const char *const below_root[] = {
		"/lib/" NVML_SO, "/lib64/" NVML_SO, "/usr/lib64/" NVML_SO, "/usr/lib/x86_64-linux-gnu/" NVML_SO,
		"/usr/lib/aarch64-linux-gnu/" NVML_SO,
	};
	static const char *const places[] = {
		NVML_SO,                             /* as ld.so finds it */
		"/usr/lib/wsl/lib/" NVML_SO,         /* WSL */
		"/usr/local/nvidia/lib64/" NVML_SO,  /* Container-Optimized OS, Talos */
		"/run/nvidia/driver/usr/lib/x86_64-linux-gnu/" NVML_SO, /* GPU operator */
	};

	if (path)
		return try_library(nvml, "", path);
	for (size_t i = 0; root && *root && i < sizeof(below_root) / sizeof(below_root[0]); i++) {
		if (try_library(nvml, root, below_root[i]))
			return true;
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (try_library(nvml, "", places[i]))
			return true;
	}
	return false;
}

/* ---- GPUs ---- */

static struct gmt_gpu *add_gpu(struct nvml *nvml, nvml_device handle)
{
	struct nvml_memory memory = { 0 };
	struct gmt_gpu *gpu;
	char uuid[UUID_TEXT] = "";

	nvml->gpus = xgrow(nvml->gpus, nvml->gpu_count, sizeof(*gpu));
	nvml->handles = xgrow(nvml->handles, nvml->gpu_count, sizeof(handle));
	gpu = &nvml->gpus[nvml->gpu_count];
	nvml->handles[nvml->gpu_count++] = handle;
	inventory_init(gpu);
	if (nvml->call.uuid(handle, uuid, sizeof(uuid)) == NVML_SUCCESS)
		inventory_parse_uuid(uuid, gpu->uuid);
	if (nvml->call.name)
		nvml->call.name(handle, (char *)gpu->name, sizeof(gpu->name));
	gpu->name[sizeof(gpu->name) - 1] = '\0';
	if (nvml->call.memory && nvml->call.memory(handle, &memory) == NVML_SUCCESS)
		gpu->total_bytes = memory.total;
	return gpu;
}

/* The largest possible number of MIG instances; 0 if the GPU is not in MIG mode. */
static unsigned int mig_slots(const struct nvml *nvml, nvml_device handle, bool *enabled)
{
	unsigned int current = 0, pending, count = 0;

	*enabled = nvml->call.mig_mode && nvml->call.mig_mode(handle, &current, &pending) == NVML_SUCCESS &&
		   current == 1; /* NVML_DEVICE_MIG_ENABLE */
	if (!*enabled || !nvml->call.mig_count || !nvml->call.mig_by_index ||
	    nvml->call.mig_count(handle, &count) != NVML_SUCCESS)
		return 0;
	return count;
}

/* Adds the MIG instances of the newest GPU. */
static void add_instances(struct nvml *nvml, unsigned int slots)
{
	const struct gmt_gpu parent = nvml->gpus[nvml->gpu_count - 1]; /* a copy: gpus[] moves */
	nvml_device device = nvml->handles[nvml->gpu_count - 1];

	for (unsigned int slot = 0; slot < slots; slot++) {
		nvml_device handle;
		struct gmt_gpu *gpu;

		if (nvml->call.mig_by_index(device, slot, &handle) != NVML_SUCCESS)
			continue; /* an empty slot */
		gpu = add_gpu(nvml, handle);
		gpu->index = slot;
		gpu->flags = GMT_GPU_MIG;
		gpu->parent_index = parent.index;
		gpu->minor = parent.minor;
		if (nvml->call.gpu_instance)
			nvml->call.gpu_instance(handle, &gpu->gpu_instance);
		if (nvml->call.compute_instance)
			nvml->call.compute_instance(handle, &gpu->compute_instance);
		memcpy(gpu->pci, parent.pci, sizeof(gpu->pci));
	}
}

static void read_gpu(struct nvml *nvml, unsigned int index)
{
	struct nvml_pci pci = { 0 };
	unsigned int minor, slots;
	nvml_device handle;
	struct gmt_gpu *gpu;
	bool mig;

	if (nvml->call.by_index(index, &handle) != NVML_SUCCESS)
		return; /* lost, or not visible to us; the other GPUs keep their numbers */
	gpu = add_gpu(nvml, handle);
	gpu->index = index;
	if (nvml->call.pci && nvml->call.pci(handle, &pci) == NVML_SUCCESS) {
		pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
		inventory_format_pci(pci.bus_id, (char *)gpu->pci, sizeof(gpu->pci));
	}
	if (nvml->call.minor && nvml->call.minor(handle, &minor) == NVML_SUCCESS)
		gpu->minor = (int)minor;
	slots = mig_slots(nvml, handle, &mig);
	if (mig)
		gpu->flags |= GMT_GPU_MIG_PARENT;
	add_instances(nvml, slots);
}

/* ---- opening ---- */

static int explain_result(const struct nvml *nvml, int result, const char *what, char *why, size_t size)
{
	if (result == NVML_ERROR_LIB_RM_VERSION_MISMATCH)
		snprintf(why, size,
			 "NVML and the kernel driver have different versions (was the driver upgraded without a"
			 " reboot?)");
	else if (result == NVML_ERROR_DRIVER_NOT_LOADED)
		snprintf(why, size, "NVML is installed, but the NVIDIA kernel driver is not loaded");
	else
		snprintf(why, size, "NVML: %s: %s (%d)", what,
			 nvml->call.error ? nvml->call.error(result) : "error", result);
	return result == NVML_ERROR_DRIVER_NOT_LOADED ? -ENODEV :
	       result == NVML_ERROR_NO_PERMISSION     ? -EACCES : -EIO;
}

static int start_nvml(struct nvml *nvml, char *why, size_t size)
{
	const char *missing;
	unsigned int count = 0;
	int result;

	if (!load_symbols(nvml, &missing)) {
		snprintf(why, size, "NVML: %s lacks the function %s", nvml->path, missing);
		return -ENOENT;
	}
	result = nvml->call.init();
	if (result != NVML_SUCCESS)
		return explain_result(nvml, result, "nvmlInit", why, size);
	nvml->initialised = true;
	result = nvml->call.count(&count);
	if (result != NVML_SUCCESS)
		return explain_result(nvml, result, "nvmlDeviceGetCount", why, size);
	for (unsigned int i = 0; i < count; i++)
		read_gpu(nvml, i);
	return 0;
}

int nvml_open(const char *path, const char *root, struct nvml **out, char *why, size_t why_size)
{
	struct nvml *nvml = xcalloc(1, sizeof(*nvml));
	int err = -ENOENT;

	snprintf(why, why_size, "%s", "");
	if (find_nvml(nvml, path, root))
		err = start_nvml(nvml, why, why_size);
	else if (path)
		snprintf(why, why_size, "NVML: %s", dlerror());
	else
		snprintf(why, why_size, "NVML (" NVML_SO ") is not installed");
	if (err) {
		nvml_close(nvml);
		nvml = NULL;
	}
	*out = nvml;
	return err;
}

void nvml_close(struct nvml *nvml)
{
	if (!nvml)
		return;
	if (nvml->initialised)
		nvml->call.shutdown();
	if (nvml->library)
		dlclose(nvml->library);
	free(nvml->usages);
	free(nvml->entries);
	free(nvml->handles);
	free(nvml->gpus);
	free(nvml);
}

const char *nvml_path(const struct nvml *nvml)
{
	return nvml->path;
}

const struct gmt_gpu *nvml_gpus(const struct nvml *nvml, size_t *count)
{
	*count = nvml->gpu_count;
	return nvml->gpus;
}

/* ---- processes ---- */

static size_t process_stride(const unsigned char *entries, size_t capacity, size_t count, size_t documented)
{
	static const size_t strides[] = { PROCESS_V1, PROCESS_V2, PROCESS_MAX };
	size_t written = capacity;

	while (written && entries[written - 1] == UNWRITTEN)
		written--;
	for (size_t i = 0; i < sizeof(strides) / sizeof(strides[0]); i++) {
		if (written == count * strides[i])
			return strides[i];
	}
	return documented;
}

/* Fills nvml->entries with `count` entries. NVML_SUCCESS or the last error. */
static int read_list(struct nvml *nvml, nvml_device device, size_t list, unsigned int *count)
{
	int result = NVML_ERROR_INSUFFICIENT_SIZE;

	if (!nvml->call.list[list])
		return NVML_ERROR_NOT_SUPPORTED;
	*count = 64;
	for (int attempt = 0; attempt < 8 && result == NVML_ERROR_INSUFFICIENT_SIZE; attempt++) {
		unsigned int wanted = *count + 16; /* processes may start between two calls */

		if (wanted > nvml->capacity) {
			nvml->capacity = wanted;
			nvml->entries = xreallocarray(nvml->entries, wanted, PROCESS_MAX);
		}
		memset(nvml->entries, UNWRITTEN, (size_t)nvml->capacity * PROCESS_MAX);
		*count = nvml->capacity;
		result = nvml->call.list[list](device, count, nvml->entries);
		if (*count > 1u << 20) /* not plausible: try again with the same room */
			*count = nvml->capacity;
	}
	if (result == NVML_SUCCESS && *count > nvml->capacity)
		*count = nvml->capacity;
	return result;
}

/* A process may be in several lists of one GPU: the largest number counts. */
static void merge_usage(struct nvml *nvml, const struct gmt_gpu *gpu, size_t first, uint32_t pid, uint64_t used)
{
	struct nvml_usage *usage;

	for (size_t i = first; i < nvml->usage_count; i++) {
		usage = &nvml->usages[i];
		if (usage->pid != pid)
			continue;
		if (usage->used_bytes == NVML_USED_UNKNOWN ||
		    (used != NVML_USED_UNKNOWN && used > usage->used_bytes))
			usage->used_bytes = used;
		return;
	}
	nvml->usages = xgrow(nvml->usages, nvml->usage_count, sizeof(*usage));
	nvml->usages[nvml->usage_count++] = (struct nvml_usage){ .pid = pid, .gpu = gpu, .used_bytes = used };
}

static int read_processes(struct nvml *nvml, size_t gpu)
{
	size_t first = nvml->usage_count;
	int err = 0;

	for (size_t list = 0; list < LISTS; list++) {
		unsigned int count;
		int result = read_list(nvml, nvml->handles[gpu], list, &count);
		size_t stride;

		if (result != NVML_SUCCESS) {
			if (result != NVML_ERROR_NOT_SUPPORTED && result != NVML_ERROR_NOT_FOUND)
				err = -EIO;
			continue;
		}
		stride = process_stride(nvml->entries, (size_t)nvml->capacity * PROCESS_MAX, count,
					nvml->stride[list]);
		for (unsigned int i = 0; i < count; i++) {
			uint32_t pid;
			uint64_t used; /* NVML_VALUE_NOT_AVAILABLE is all ones, as is NVML_USED_UNKNOWN */

			memcpy(&pid, nvml->entries + i * stride, sizeof(pid));
			memcpy(&used, nvml->entries + i * stride + 8, sizeof(used));
			merge_usage(nvml, &nvml->gpus[gpu], first, pid, used);
		}
	}
	return err;
}

int nvml_processes(struct nvml *nvml, nvml_usage_cb cb, void *arg)
{
	int err = 0;

	nvml->usage_count = 0;
	for (size_t gpu = 0; gpu < nvml->gpu_count; gpu++) {
		/* MIG instances list their own processes. */
		int gpu_err = nvml->gpus[gpu].flags & GMT_GPU_MIG_PARENT ? 0 : read_processes(nvml, gpu);

		if (gpu_err)
			err = gpu_err;
	}
	for (size_t i = 0; i < nvml->usage_count; i++)
		cb(&nvml->usages[i], arg);
	return err;
}

int nvml_memory(const struct nvml *nvml, const struct gmt_gpu *gpu, uint64_t *used_bytes, uint64_t *free_bytes)
{
	struct nvml_memory memory = { 0 };

	if (!nvml->call.memory || nvml->call.memory(nvml->handles[gpu - nvml->gpus], &memory) != NVML_SUCCESS)
		return -ENOTSUP;
	*used_bytes = memory.used;
	*free_bytes = memory.free;
	return 0;
}

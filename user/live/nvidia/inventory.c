// SPDX-License-Identifier: BSD-2-Clause
#include "live/nvidia/inventory.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "live/process/procfs.h"

void inventory_init(struct gmt_gpu *gpu)
{
	memset(gpu, 0, sizeof(*gpu));
	gpu->hdr.size = sizeof(*gpu);
	gpu->hdr.kind = GMT_KIND_GPU;
	gpu->minor = -1;
}

bool inventory_parse_uuid(const char *text, uint8_t uuid[GMT_UUID_BYTES])
{
	static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	memset(uuid, 0, GMT_UUID_BYTES);
	if (strncmp(text, "GPU-", 4) && strncmp(text, "MIG-", 4))
		return false;
	text += 4;
	/* The driver writes question marks for a GPU that it has not started. */
	for (size_t i = 0; i < sizeof(shape); i++)
		if (shape[i] == 'x' ? !isxdigit((unsigned char)text[i]) : text[i] != shape[i])
			return false;
	for (size_t i = 0; i < GMT_UUID_BYTES; i++, text += 2) {
		text += *text == '-';
		sscanf(text, "%2hhx", &uuid[i]);
	}
	return true;
}

bool inventory_format_pci(const char *text, char *pci, size_t size)
{
	unsigned int domain, bus, device, function = 0;

	if (sscanf(text, "%x:%x:%x.%x", &domain, &bus, &device, &function) < 3) {
		snprintf(pci, size, "%s", "");
		return false;
	}
	snprintf(pci, size, "%08X:%02X:%02X.%X", domain, bus, device, function);
	return true;
}

static bool information_value(const char *text, const char *key, char *value, size_t size)
{
	struct scan found;

	if (!procfs_find_line(text, strlen(text), key, &found))
		return false;
	snprintf(value, size, "%.*s", (int)(found.end - found.at), found.at);
	return true;
}

/* The text is written by nv_procfs_read_gpu_info, kernel-open/nvidia/nv-procfs.c. False: the GPU is excluded (NVML
 * does not count such a GPU either), or the text has another form. */
static bool parse_information(const char *text, struct gmt_gpu *gpu)
{
	char value[128];

	inventory_init(gpu);
	if (information_value(text, "GPU Excluded", value, sizeof(value)) && !strcmp(value, "Yes"))
		return false;
	if (!information_value(text, "Bus Location", value, sizeof(value)) ||
	    !inventory_format_pci(value, (char *)gpu->pci, sizeof(gpu->pci)))
		return false;
	information_value(text, "Model", (char *)gpu->name, sizeof(gpu->name));
	if (information_value(text, "GPU UUID", value, sizeof(value)))
		inventory_parse_uuid(value, gpu->uuid);
	if (information_value(text, "Device Minor", value, sizeof(value)))
		gpu->minor = (int)strtol(value, NULL, 10);
	return true;
}

/* The hexadecimal numbers have a fixed width, so the texts sort by bus, as in nvidia-smi. */
static int compare_pci(const void *a, const void *b)
{
	const struct gmt_gpu *left = a, *right = b;

	return strcmp((const char *)left->pci, (const char *)right->pci);
}

size_t inventory_read(const char *root, struct gmt_gpu **gpus)
{
	char path[PATH_MAX], text[4096];
	struct dirent *entry;
	size_t count = 0;
	DIR *dir;

	*gpus = NULL;
	root = root && strcmp(root, "/") ? root : "";
	snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus", root);
	dir = opendir(path);
	if (!dir && *root) {
		root = "";
		dir = opendir("/proc/driver/nvidia/gpus");
	}
	while (dir && (entry = readdir(dir))) {
		struct gmt_gpu gpu;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus/%s/information", root,
			 entry->d_name);
		if (procfs_read(path, text, sizeof(text)) <= 0 || !parse_information(text, &gpu))
			continue;
		*gpus = xgrow(*gpus, count, sizeof(gpu));
		(*gpus)[count++] = gpu;
	}
	if (dir)
		closedir(dir);
	if (count)
		qsort(*gpus, count, sizeof(**gpus), compare_pci);
	for (size_t i = 0; i < count; i++)
		(*gpus)[i].index = (uint32_t)i;
	return count;
}

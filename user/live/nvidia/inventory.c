// SPDX-License-Identifier: BSD-2-Clause
/* See inventory.h. */
#include "live/nvidia/inventory.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "live/nvidia/nvml.h"
#include "live/process/procfs.h"

void inventory_init(struct gmt_gpu *gpu)
{
	memset(gpu, 0, sizeof(*gpu));
	gpu->hdr.size = sizeof(*gpu);
	gpu->hdr.kind = GMT_KIND_GPU;
	gpu->minor = -1;
}

static int hex_digit(char ch)
{
	return isdigit((unsigned char)ch)    ? ch - '0'
	       : isxdigit((unsigned char)ch) ? tolower(ch) - 'a' + 10
					     : -1;
}

bool inventory_parse_uuid(const char *text, uint8_t uuid[GMT_UUID_BYTES])
{
	static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	size_t nibbles = 0;

	memset(uuid, 0, GMT_UUID_BYTES);
	if (strncmp(text, "GPU-", 4) && strncmp(text, "MIG-", 4))
		return false;
	text += 4;
	for (size_t i = 0; i < sizeof(shape) - 1; i++) {
		int digit = hex_digit(text[i]);

		if (shape[i] == '-' ? text[i] != '-' : digit < 0) {
			/* the driver writes question marks for a GPU it has not started */
			memset(uuid, 0, GMT_UUID_BYTES);
			return false;
		}
		if (shape[i] != '-') {
			uuid[nibbles / 2] = (uint8_t)(uuid[nibbles / 2] << 4 | digit);
			nibbles++;
		}
	}
	if (text[sizeof(shape) - 1]) {
		memset(uuid, 0, GMT_UUID_BYTES);
		return false;
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

/* The value of the line "<key>:<blanks>value", copied. */
static bool information_value(const char *text, const char *key, char *value, size_t size)
{
	size_t key_len = strlen(key);

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		const char *at;

		line += *line == '\n';
		if (strncmp(line, key, key_len) || line[key_len] != ':')
			continue;
		at = line + key_len + 1;
		at += strspn(at, " \t");
		snprintf(value, size, "%.*s", (int)strcspn(at, "\n"), at);
		return true;
	}
	return false;
}

/* Written by nv_procfs_read_gpu_info, kernel-open/nvidia/nv-procfs.c. */
bool inventory_parse_information(const char *text, struct gmt_gpu *gpu)
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

/* Fixed-width hexadecimal: the order of the text is the order of the bus, which is nvidia-smi's. */
static int compare_pci(const void *a, const void *b)
{
	const struct gmt_gpu *left = a, *right = b;

	return strcmp((const char *)left->pci, (const char *)right->pci);
}

static size_t read_procfs(const char *root, struct gmt_gpu **gpus)
{
	char path[PATH_MAX], text[4096];
	struct dirent *entry;
	size_t count = 0;
	DIR *dir;

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
		if (procfs_read(path, text, sizeof(text)) <= 0 || !inventory_parse_information(text, &gpu))
			continue;
		*gpus = xreallocarray(*gpus, count + 1, sizeof(gpu));
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

size_t inventory_read(const struct nvml *nvml, const char *root, struct gmt_gpu **gpus)
{
	const struct gmt_gpu *known = NULL;
	size_t count = 0;

	*gpus = NULL;
	if (nvml)
		known = nvml_gpus(nvml, &count);
	if (!count)
		return read_procfs(root && strcmp(root, "/") ? root : "", gpus);
	*gpus = xreallocarray(NULL, count, sizeof(**gpus));
	memcpy(*gpus, known, count * sizeof(**gpus));
	return count;
}

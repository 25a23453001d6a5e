// SPDX-License-Identifier: BSD-2-Clause
#include "live/nvidia/driver.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "live/process/procfs.h"

#define NVIDIA_MAJOR 195 /* NV_MAJOR_DEVICE_NUMBER, kernel-open/nvidia/nv.c; "nvidia" in /proc/devices */

/*
 * Offsets that differ between releases, from NVIDIA/open-gpu-kernel-modules, kernel-open/nvidia-uvm/uvm_ioctl.h,
 * compiled for 535.54.03, .104.05, .183.01, .261.03, .288.01; 545.23.06; 550.54.14, .90.07, .163.01; 560.35.03;
 * 565.57.01; 570.86.15, .124.06, .172.08, .211.01; 575.64.05; 580.65.06, .82.07, .95.05, .126.20, .142; 590.48.01;
 * 595.45.04. UVM_MAX_GPUS went from 32 to 256 in 550, and UVM_FREE_PARAMS lost its `length` in 590.
 */
static const struct layout_row {
	int first; /* in force from this major version on */
	struct gmt_driver_layout layout;
} layouts[] = {
	{ 535, { .uvm_map_count = 1176, .uvm_map_client = 1188, .uvm_free_status = 16 } },
	{ 550, { .uvm_map_count = 9240, .uvm_map_client = 9252, .uvm_free_status = 16 } },
	{ 590, { .uvm_map_count = 9240, .uvm_map_client = 9252, .uvm_free_status = 8 } },
};
#define LAYOUT_LAST_VERIFIED 595

bool driver_layout(int major, struct gmt_driver_layout *layout)
{
	*layout = layouts[0].layout;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (major >= layouts[i].first)
			*layout = layouts[i].layout;
	}
	return major >= layouts[0].first && major <= LAYOUT_LAST_VERIFIED;
}

/*
 * "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023" or
 * "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (user@host)":
 * the version is the first word of that line that consists of digits and at least one dot.
 */
bool driver_parse_version(const char *text, char *version, size_t size)
{
	const char *at = strstr(text, "NVRM version:");
	const char *end = at ? at + strcspn(at, "\n") : NULL;

	while (at && at < end) {
		size_t len = strspn(at, "0123456789.");
		size_t word = strcspn(at, " \t\n");

		if (len && len == word && isdigit((unsigned char)*at) && memchr(at, '.', len) && len < size) {
			memcpy(version, at, len);
			version[len] = '\0';
			return true;
		}
		at += word;
		at += strspn(at, " \t");
	}
	return false;
}

uint32_t driver_parse_devices(const char *text, const char *name)
{
	size_t name_len = strlen(name);

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		char *after;
		unsigned long number;

		line += *line == '\n';
		if (!strncmp(line, "Block devices", 13))
			break;
		number = strtoul(line, &after, 10);
		if (after != line && *after == ' ' && !strncmp(after + 1, name, name_len) &&
		    (after[1 + name_len] == '\n' || !after[1 + name_len]))
			return (uint32_t)number;
	}
	return 0;
}

/* The kernel's own dev_t: MKDEV, include/linux/kdev_t.h. */
static uint32_t kernel_dev(dev_t rdev)
{
	return (uint32_t)major(rdev) << 20 | (uint32_t)minor(rdev);
}

static ssize_t read_under(const char *root, const char *path, char *buf, size_t size)
{
	char full[PATH_MAX];
	ssize_t got;

	snprintf(full, sizeof(full), "%s%s", root, path);
	got = procfs_read(full, buf, size);
	/* A driver root without its own /proc uses the /proc of this kernel. */
	return got < 0 && *root ? procfs_read(path, buf, size) : got;
}

static uint32_t device_major(const char *root, const char *name)
{
	char full[PATH_MAX], text[8192];
	uint32_t found;

	snprintf(full, sizeof(full), "%s/proc/devices", root);
	found = procfs_read(full, text, sizeof(text)) > 0 ? driver_parse_devices(text, name) : 0;
	return found || !*root ? found : device_major("", name);
}

/* A node of a driver root that lacks the driver's major number belongs to a stand-in. */
static uint32_t stand_in(const char *root, const char *path, uint32_t usual_major)
{
	char full[PATH_MAX];
	struct stat st;

	snprintf(full, sizeof(full), "%s%s", root, path);
	if (!*root || stat(full, &st) || !S_ISCHR(st.st_mode) || major(st.st_rdev) == usual_major)
		return 0;
	return kernel_dev(st.st_rdev);
}

static void explain_absence(struct driver_info *info)
{
	static const struct {
		const char *path, *reason;
	} causes[] = {
		{ "/dev/dxg", "WSL: the NVIDIA driver runs in Windows, so there are no ioctls to trace" },
		{ "/sys/module/nvgpu", "Tegra: the nvgpu driver uses other ioctls" },
		{ "/dev/nvhost-ctrl-gpu", "Tegra: the nvgpu driver uses other ioctls" },
		{ "/dev/nvidiactl", "/dev/nvidiactl exists but /proc/driver/nvidia/version does not: "
				    "the module is not loaded, or this is gVisor" },
	};

	snprintf(info->reason, sizeof(info->reason),
		 "no NVIDIA kernel driver (no /proc/driver/nvidia/version)");
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		if (!access(causes[i].path, F_OK)) {
			snprintf(info->reason, sizeof(info->reason), "%s", causes[i].reason);
			return;
		}
	}
}

int driver_probe(const char *root, struct driver_info *info)
{
	char text[1024];

	memset(info, 0, sizeof(*info));
	if (!root || !strcmp(root, "/"))
		root = "";
	if (strlen(root) > PATH_MAX - 64)
		return -ENAMETOOLONG;
	info->nvidia_major = device_major(root, "nvidia");
	if (!info->nvidia_major)
		info->nvidia_major = device_major(root, "nvidia-frontend"); /* before 550 */
	if (!info->nvidia_major)
		info->nvidia_major = NVIDIA_MAJOR;
	info->uvm_major = device_major(root, "nvidia-uvm");
	info->ctl_rdev = stand_in(root, "/dev/nvidiactl", info->nvidia_major);
	info->uvm_rdev = stand_in(root, "/dev/nvidia-uvm", info->uvm_major);
	if (read_under(root, "/proc/driver/nvidia/version", text, sizeof(text)) > 0) {
		info->present = true;
		if (driver_parse_version(text, info->version, sizeof(info->version)))
			info->major = (int)strtol(info->version, NULL, 10);
	} else {
		explain_absence(info);
	}
	/* An unreadable version counts as the newest: most machines have a driver close to the newest. */
	info->layout_verified = driver_layout(info->major ? info->major : INT_MAX, &info->layout);
	return 0;
}

bool driver_owns(const struct driver_info *info, dev_t rdev)
{
	return major(rdev) == info->nvidia_major || (info->uvm_major && major(rdev) == info->uvm_major);
}

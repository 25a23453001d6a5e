/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the version of the NVIDIA kernel driver, and the layout of its ioctl structures. The functions read files only
 * and never open a device. A driver root is a directory that stands for "/": /run/nvidia/driver of the GPU operator, or
 * the root of a stand-in.
 */
#ifndef GPUMEMTRACE_LIVE_NVIDIA_DRIVER_H
#define GPUMEMTRACE_LIVE_NVIDIA_DRIVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <gpumemtrace/config.h>

struct driver_info {
	bool present;            /* its ioctls can be seen: the kernel layer can work */
	bool layout_verified;    /* its structures were compiled and compared; else the nearest known layout is used */
	int major;               /* 580 of "580.159.04"; 0 unknown */
	char version[64];        /* "" unknown */
	char reason[128];        /* why it is not present; "" if it is */
	uint32_t nvidia_major;   /* of /dev/nvidiactl and /dev/nvidiaN */
	uint32_t uvm_major;      /* of /dev/nvidia-uvm; 0: nvidia-uvm is not loaded */
	uint32_t ctl_rdev;       /* kernel dev_t of <root>/dev/nvidiactl if it is not of nvidia_major; else 0 */
	uint32_t uvm_rdev;       /* likewise for <root>/dev/nvidia-uvm and uvm_major */
	struct gmt_driver_layout layout;
};

/* A `root` of "", NULL or "/" is the real system. Returns 0 with and without a driver, or -ENAMETOOLONG. */
int driver_probe(const char *root, struct driver_info *info);

/* Gives the layout for a driver of this major version. Returns whether the layout was verified for the version. */
bool driver_layout(int major, struct gmt_driver_layout *layout);

/* Finds "580.159.04" in the text of /proc/driver/nvidia/version; false if the text has no version. */
bool driver_parse_version(const char *text, char *version, size_t size);

/* The major number of a character device in the text of /proc/devices; 0 if the text lacks the device. */
uint32_t driver_parse_devices(const char *text, const char *name);

/* Whether a device belongs to the NVIDIA driver, by its major number. The nodes of a stand-in (ctl_rdev, uvm_rdev) do
 * not: any process may have these devices open. */
bool driver_owns(const struct driver_info *info, dev_t rdev);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two simulated GPUs, in the order nvidia-smi (NVML) numbers them. The CUDA ordinals, the RM
 * device instances and the minor numbers are all in another order, so that a tool that takes one
 * number for the other is caught.
 */
#ifndef STANDIN_GPUS_H
#define STANDIN_GPUS_H

#include <stdint.h>

#define STANDIN_GPUS 2
#define STANDIN_DEFAULT_MIB 8192
#define STANDIN_MIB (1ULL << 20)
/* What nvidia-smi shows as used on an idle GPU and no process owns (9 MiB on the H200s measured). */
#define STANDIN_DEVICE_BASE_BYTES (9 * STANDIN_MIB)

struct gpu {
	uint8_t uuid[16];
	const char *uuid_text;
	const char *name;
	const char *pci;        /* as NVML prints it */
	const char *pci_procfs; /* as /proc/driver/nvidia/gpus names it */
	unsigned int bus;
	int minor;
};

static const struct gpu standin_gpus[STANDIN_GPUS] = {
	{
		.uuid = { 0xb7, 0x1e, 0x4d, 0x02, 0x6f, 0x53, 0x4c, 0x1a,
			  0x9d, 0x30, 0x27, 0xa8, 0xe4, 0x5b, 0x90, 0x11 },
		.uuid_text = "GPU-b71e4d02-6f53-4c1a-9d30-27a8e45b9011",
		.name = "Stand-in GPU A",
		.pci = "00000000:3B:00.0",
		.pci_procfs = "0000:3b:00.0",
		.bus = 0x3b,
		.minor = 1,
	},
	{
		.uuid = { 0x2c, 0x90, 0xf6, 0x8e, 0x11, 0xd4, 0x4e, 0x77,
			  0x8b, 0x42, 0xc3, 0x5d, 0x06, 0x9f, 0xe8, 0x22 },
		.uuid_text = "GPU-2c90f68e-11d4-4e77-8b42-c35d069fe822",
		.name = "Stand-in GPU B",
		.pci = "00000000:86:00.0",
		.pci_procfs = "0000:86:00.0",
		.bus = 0x86,
		.minor = 0,
	},
};

#endif

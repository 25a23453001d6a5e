/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes GPU records of the GPUs of this machine from /proc/driver/nvidia, numbered as nvidia-smi numbers them. This
 * folder shows neither sizes nor MIG instances. NVML shows both; nvml.c uses these functions, too.
 */
#ifndef GPUMEMTRACE_LIVE_NVIDIA_INVENTORY_H
#define GPUMEMTRACE_LIVE_NVIDIA_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

/* Returns the number of GPUs. *gpus is to be freed with free(); the records' hdr.ts_ns is 0. `root` is a driver root,
 * "" the real system. */
size_t inventory_read(const char *root, struct gmt_gpu **gpus);

/* An empty GPU record: header, minor -1. */
void inventory_init(struct gmt_gpu *gpu);

/* "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx" or "MIG-..."; false and zeros if the text is neither. */
bool inventory_parse_uuid(const char *text, uint8_t uuid[GMT_UUID_BYTES]);

/* "0000:3b:00.0" as nvidia-smi prints it: "00000000:3B:00.0". False and "" if the text is no address. */
bool inventory_format_pci(const char *text, char *pci, size_t size);

#endif

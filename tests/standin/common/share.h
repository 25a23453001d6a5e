/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the processes on the simulated GPUs know of each other: the file <root>/run/clients, which every libcuda.so.1
 * maps and the simulated NVML reads.
 *
 * A process owns a slot as long as it holds the POSIX lock on the slot's bytes. The kernel drops
 * the lock when the process dies, however it dies, and tells the holder's pid in the reader's own
 * pid namespace (F_OFD_GETLK), which is what the real driver does for NVML.
 */
#ifndef STANDIN_SHARE_H
#define STANDIN_SHARE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "gpus.h"

#define SHARE_SLOTS 256

struct share_client {
	uint64_t used[STANDIN_GPUS]; /* bytes of live video memory objects, by NVML index */
	uint64_t reserved[14];
};

struct share {
	uint32_t next_client;        /* last RM client handle given out, less its base */
	uint32_t reserved;
	uint64_t total[STANDIN_GPUS]; /* 0: the default */
	uint8_t pad[4096 - 8 - 8 * STANDIN_GPUS];
	struct share_client client[SHARE_SLOTS];
};
_Static_assert(sizeof(struct share_client) == 128, "slot size");
_Static_assert(__builtin_offsetof(struct share, client) == 4096, "header size");

/* Maps the file under `root`, creating it if need be. -1 if it cannot be had; then *share is
 * private memory. The descriptor must stay open: closing it would drop the process's lock. */
int share_open(const char *root, struct share **share);

/* Claims a slot; -1 if all are taken. */
int share_claim(int fd, struct share *share);

/* The pid that owns the slot as this process's pid namespace numbers it; 0: none. */
pid_t share_owner(int fd, int slot);

uint64_t share_total(const struct share *share, int gpu);

/* Bytes in use on the GPU by live processes. `self`: a slot that needs no look at its lock. */
uint64_t share_used(int fd, const struct share *share, int gpu, int self);

/* The root directory of the stand-in: $GPUMEMTRACE_STANDIN_ROOT, else `up` directories above the
 * library that `address` lies in. */
void share_root(const void *address, int up, char *path, size_t size);

#endif

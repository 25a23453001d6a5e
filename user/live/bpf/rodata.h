/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets the constants of the BPF programs before loading: configuration, the table of probes, the sizes of maps. */
#ifndef GPUMEMTRACE_LIVE_BPF_RODATA_H
#define GPUMEMTRACE_LIVE_BPF_RODATA_H

#include <stdint.h>

#include <gpumemtrace/config.h>

struct bpf_object;

/* States of walks on a machine that can have so many CPUs. */
uint32_t rodata_walks(const struct gmt_config *config, uint32_t cpus);

/* `ring_bytes`: a power of two, and whole pages. Sets the loader's members of the configuration, from wake_bytes on.
 * 0 or -errno. */
int rodata_set(struct bpf_object *object, const struct gmt_config *config, uint64_t ring_bytes);

#endif

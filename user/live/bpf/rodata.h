/* SPDX-License-Identifier: BSD-2-Clause */
/* What the BPF programs are told before they are loaded: configuration, the table of probes, the sizes of maps. */
#ifndef GPUMEMTRACE_LIVE_BPF_RODATA_H
#define GPUMEMTRACE_LIVE_BPF_RODATA_H

#include <stdint.h>

#include <gpumemtrace/config.h>

struct bpf_object;

/* `ring_bytes`: a power of two and pages. The members of *config from wake_bytes on that are the loader's are set here.
 * 0 or -errno. */
int rodata_set(struct bpf_object *object, const struct gmt_config *config, uint64_t ring_bytes);

#endif

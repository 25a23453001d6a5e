/* SPDX-License-Identifier: BSD-2-Clause */
/* What NVML says each traced process uses, put into the stream as NVML records. */
#ifndef GPUMEMTRACE_LIVE_NVIDIA_NVML_SAMPLER_H
#define GPUMEMTRACE_LIVE_NVIDIA_NVML_SAMPLER_H

#include <stdbool.h>

#include <gpumemtrace/wire.h>

struct meter;
struct nvml;
struct roster;
struct stream;

/* Brings the stream up to now: takes what waits in the ring. */
typedef void (*meter_drain_fn)(void *arg);

/* `adopt`: a baseline takes every process that NVML names into the roster, those without libcuda too. */
struct meter *meter_new(struct nvml *nvml, struct roster *roster, struct stream *stream, bool adopt,
			meter_drain_fn drain, void *arg);
void meter_free(struct meter *meter);

/*
 * Asks NVML and puts one record for each live process and GPU; 0 bytes for a GPU that the process
 * has left. NVML's number and the records must tell of the same moment: if memory moved while NVML
 * was asked it is asked again, and a sample is left out rather than mixed, unless the process never
 * rests. `last`: there will be no other, so nothing is left out.
 */
void meter_sample(struct meter *meter, enum gmt_nvml_when when, bool last);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts the memory that NVML reports for each process into the stream: of traced processes as NVML records, of others
 * as GPU_NEIGHBOUR records. */
#ifndef GPUMEMTRACE_LIVE_NVIDIA_NVML_SAMPLER_H
#define GPUMEMTRACE_LIVE_NVIDIA_NVML_SAMPLER_H

#include <stdbool.h>

#include <gpumemtrace/wire.h>

struct meter;
struct nvml;
struct roster;
struct stream;

/* Takes the records that wait in the ring, so that the stream is up to date. */
typedef void (*meter_drain_fn)(void *arg);

/* `adopt`: a baseline adds every process that NVML lists to the roster, also processes without libcuda. */
struct meter *meter_new(struct nvml *nvml, struct roster *roster, struct stream *stream, bool adopt,
			meter_drain_fn drain, void *arg);
/* False: NVML has not answered, so everything stays, and NVML must stay open. NULL is fine. */
bool meter_free(struct meter *meter);

/*
 * Asks NVML and puts one record for each live process and GPU, with 0 bytes for a GPU that the process has left. NVML's
 * number and the records must belong to the same moment: if memory changed during the question, NVML is asked again. A
 * sample without a quiet moment is left out, but not too many in a row. `last`: the final sample, which is never left
 * out. The first quiet samples after a baseline are put as baselines, too.
 *
 * False: NVML does not answer. A sample waits METER_WAIT_NS for an answer, the last one METER_LAST_NS. Until the answer
 * to an old question has come, there are no samples and no waits.
 */
#define METER_WAIT_NS 1000000000ULL
#define METER_LAST_NS 300000000ULL
bool meter_sample(struct meter *meter, enum gmt_nvml_when when, bool last);

#endif

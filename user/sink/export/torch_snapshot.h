/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A snapshot (core/view/snapshot.h) in the words of torch.cuda.memory._snapshot(), pickled: PyTorch's memory_viz
 * and torch.cuda._memory_viz open it.
 */
#ifndef GPUMEMTRACE_SINK_EXPORT_TORCH_SNAPSHOT_H
#define GPUMEMTRACE_SINK_EXPORT_TORCH_SNAPSHOT_H

#include <stdint.h>

struct frames;
struct out;
struct snapshot;

/* wall_ns: CLOCK_REALTIME at CLOCK_MONOTONIC 0, as well as it is known. Errors are `out`'s. */
void torch_snapshot_print(struct out *out, const struct snapshot *snapshot, const struct frames *frames,
			  int64_t wall_ns);

#endif

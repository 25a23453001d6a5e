/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory by stack trace as heap profiles, as Perfetto's own heap profiler writes them (trace/profiling): of each heap
 * the samples at the peak, and those at the end.
 */
#ifndef GPUMEMTRACE_SINK_PERFETTO_HEAP_SAMPLES_H
#define GPUMEMTRACE_SINK_PERFETTO_HEAP_SAMPLES_H

#include "core/view/view.h"
#include "sink/perfetto/trace_packet.h"

/* `name` of the heap: "GPU 0"; that of the peak is "GPU 0 at peak". end_ns: the time of what is live. */
void heap_samples(struct trace_writer *w, const struct view *view, const struct view_proc *proc,
		  const struct view_stacks *stacks, const char *name, uint64_t end_ns);

#endif

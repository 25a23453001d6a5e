/* SPDX-License-Identifier: BSD-2-Clause */
/* Tracks of a process on one GPU: memory over time (view_timeline.h) as counters; iterations and phases as slices. */
#ifndef GPUMEMTRACE_SINK_PERFETTO_MEMORY_TRACKS_H
#define GPUMEMTRACE_SINK_PERFETTO_MEMORY_TRACKS_H

#include "core/view/view.h"
#include "sink/perfetto/trace_packet.h"

/* gpu: "GPU 0", with which the names of the tracks begin. */
void memory_tracks(struct trace_writer *w, uint64_t process_track, const struct view_proc *proc,
		   const struct view_row *row, const char *gpu);

#endif

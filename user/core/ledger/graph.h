/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Graphs that allocate memory: which nodes a graph has, and what holds the graph. What the nodes planned goes when the
 * CUgraph and each CUgraphExec that was made of it are destroyed.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_GRAPH_H
#define GPUMEMTRACE_CORE_LEDGER_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

struct capture;
struct event;
struct process;

/* The event allocates on a stream that is being captured, or has joined a capture: its first value is the address. */
void graph_add_captured(struct event *e, uint64_t stream);

/* The stream is gone, and with it a capture that had begun there. The thread counts for its own default stream alone.
 * `capture` is what it was. True: what the capture has planned is forgotten. */
bool graph_drop_capture(struct process *p, uint64_t stream, uint32_t tid, struct capture *capture, uint64_t ts_ns);

#endif

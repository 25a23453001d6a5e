/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory nodes of graphs: a plan. The address is given out when the node is made, the memory is
 * obtained when the graph is uploaded or launched, unseen, and kept for the next launch: only the
 * kernel layer has its bytes. Captured stream-ordered allocations are such nodes, too (pool.c).
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_GRAPH_H
#define GPUMEMTRACE_CORE_LEDGER_GRAPH_H

struct event;

/* Operations (api.h). */
void graph_alloc_node(struct event *e);
void graph_free_node(struct event *e);
void graph_node(struct event *e);

#endif

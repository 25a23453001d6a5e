/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of others: IPC handles and external memory (Vulkan, OpenGL, dma-buf). Counted, with 0 bytes:
 * who made it is charged. Pools' and VMM's imports are with these.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_IMPORT_H
#define GPUMEMTRACE_CORE_LEDGER_IMPORT_H

struct event;
struct undo;

/* Operations (api.h). */
void import_external(struct event *e);
void import_external_map(struct event *e);
void import_ipc_open(struct event *e);

void import_external_destroy(struct event *e);
void import_ipc_close(struct event *e);
void import_ipc_close_undo(struct event *e, struct undo *u);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operations of calls (api.h) that change the ledger, and the function that applies each one. The others only name
 * what runs inside them, or say what the kernel layer knows better (reserved bytes of pools and graphs).
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_OPERATIONS_H
#define GPUMEMTRACE_CORE_LEDGER_OPERATIONS_H

#include "core/ledger/event.h"

/* DONE(operation, apply): a call that succeeded. ANY(operation, apply): also a call that failed.
 * RELEASE(operation, apply, back): a release, applied when it begins, and taken back when it has failed. */
#define OPERATIONS(DONE, ANY, RELEASE)                                                   \
	ANY(MEM_ALLOC, alloc_sized)                                                      \
	ANY(MEM_ALLOC_PITCH, alloc_pitch)                                                \
	ANY(MEM_ALLOC_MANAGED, alloc_sized)                                              \
	RELEASE(MEM_FREE, alloc_free, alloc_free_undo)                                   \
	DONE(MEM_RANGE, alloc_learn)                                                     \
	ANY(HOST_ALLOC, alloc_sized)                                                     \
	RELEASE(HOST_FREE, alloc_free, alloc_free_undo)                                  \
	ANY(HOST_REGISTER, alloc_sized)                                                  \
	RELEASE(HOST_UNREGISTER, alloc_free, alloc_free_undo)                            \
	ANY(ASYNC_ALLOC, pool_alloc_async)                                               \
	ANY(POOL_ALLOC, pool_alloc_from)                                                 \
	RELEASE(ASYNC_FREE, alloc_free, alloc_free_undo)                                 \
	DONE(POOL_CREATE, pool_create)                                                   \
	RELEASE(POOL_DESTROY, pool_destroy, pool_destroy_undo)                           \
	DONE(POOL_OF_DEVICE, pool_of_device)                                             \
	DONE(POOL_SET_DEVICE, pool_set_device)                                           \
	DONE(POOL_OF_LOCATION, pool_of_location)                                         \
	DONE(POOL_SET_LOCATION, pool_set_location)                                       \
	DONE(POOL_IMPORT, pool_import)                                                   \
	DONE(POOL_IMPORT_PTR, pool_import_pointer)                                       \
	ANY(VMM_CREATE, vmm_create)                                                      \
	RELEASE(VMM_RELEASE, vmm_release, vmm_release_undo)                              \
	DONE(VMM_RETAIN, vmm_retain)                                                     \
	DONE(VMM_MAP, vmm_map)                                                           \
	RELEASE(VMM_UNMAP, vmm_unmap, vmm_unmap_undo)                                    \
	DONE(VMM_IMPORT, vmm_import)                                                     \
	DONE(VMM_PROPERTIES, vmm_properties)                                             \
	DONE(MULTICAST_CREATE, vmm_multicast)                                            \
	ANY(ARRAY_CREATE, alloc_array)                                                   \
	ANY(ARRAY3D_CREATE, alloc_array)                                                 \
	ANY(MIPMAP_CREATE, alloc_array)                                                  \
	RELEASE(ARRAY_DESTROY, alloc_array_destroy, alloc_release_undo)                  \
	DONE(ARRAY_REQUIREMENTS, alloc_array_requirements)                               \
	DONE(IPC_OPEN, import_ipc_open)                                                  \
	RELEASE(IPC_CLOSE, import_ipc_close, import_ipc_close_undo)                      \
	DONE(EXT_IMPORT, import_external)                                                \
	DONE(EXT_MAP, import_external_map)                                               \
	RELEASE(EXT_DESTROY, import_external_destroy, alloc_release_undo)                \
	DONE(GRAPH_ALLOC_NODE, graph_alloc_node)                                         \
	DONE(GRAPH_FREE_NODE, graph_free_node)                                           \
	DONE(GRAPH_NODE, graph_node)                                                     \
	DONE(CAPTURE_BEGIN, context_capture)                                             \
	ANY(CAPTURE_END, context_capture) /* a capture that fails has ended, too */      \
	DONE(CTX_CREATE, context_create)                                                 \
	DONE(CTX_DESTROY, context_destroy)                                               \
	DONE(CTX_SET, context_set)                                                       \
	DONE(CTX_PUSH, context_push)                                                     \
	DONE(CTX_POP, context_pop)                                                       \
	DONE(PRIMARY_RETAIN, context_primary_retain)                                     \
	DONE(PRIMARY_RELEASE, context_primary_release)                                   \
	DONE(PRIMARY_RESET, context_primary_reset)                                       \
	DONE(GREEN_CREATE, context_primary_retain)                                       \
	DONE(GREEN_DESTROY, context_green_destroy)                                       \
	DONE(GREEN_CTX, context_from_green)                                              \
	DONE(STREAM_CREATE, context_stream_create)                                       \
	RELEASE(STREAM_DESTROY, context_stream_destroy, context_stream_destroy_undo)     \
	DONE(GREEN_STREAM, context_green_stream)                                         \
	DONE(DEVICE_UUID, context_device_uuid)

#define APPLY(op, apply) void apply(struct event *e);
#define RELEASE(op, apply, back) APPLY(op, apply) void back(struct event *e, struct undo *u);
OPERATIONS(APPLY, APPLY, RELEASE)
#undef RELEASE
#undef APPLY

#endif

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The table of probe points: every probed entry point of libcuda, its meaning, and the places of its values. To add an
 * entry point, add a row.
 *
 * Prototypes and structure offsets come from cuda.h, cudaGL.h and cudaVDPAU.h of CUDA 13.5; x86-64 and aarch64 have the
 * same offsets. Symbols that a driver lacks are skipped at attach: 535 has no cuCtxCreate_v4, cuGraphAddNode_v2,
 * cuMem{Get,Set}MemPool, cuGreenCtx*.
 *
 * Do not add cuCtxGetCurrent, cuCtxGetDevice, cuDevicePrimaryCtxGetState, cuLaunchKernel*, cuGraphLaunch*,
 * cuPointerGetAttribute*, cu*Synchronize or cuMemcpy*: frameworks call them many times for each kernel, and a probe
 * there slows the target down. The memory that a launch takes has its stack, which the kernel layer takes at the ioctl.
 */
#ifndef GPUMEMTRACE_API_H
#define GPUMEMTRACE_API_H

#include <gpumemtrace/wire.h>

#define GMT_CUDA_OUT_OF_MEMORY 2 /* cuda.h, CUDA_ERROR_OUT_OF_MEMORY */

/* ---- where a value is found: kind << 24 | argument (0-based) << 16 | byte offset ---- */
enum gmt_cap_kind {
	GMT_CAP_NONE = 0,
	GMT_CAP_ARG64,   /* the argument itself */
	GMT_CAP_ARG32,   /* low 32 bits of the argument, zero-extended: int, CUdevice, v1's CUdeviceptr */
	GMT_CAP_IN64,    /* memory at argument + offset, read at entry; if not resident at entry, read at return */
	GMT_CAP_IN32,
	GMT_CAP_OUT64,   /* memory at argument + offset, read at return of a successful call */
	GMT_CAP_OUT32,
	GMT_CAP_INHASH,  /* 64 bytes at argument, read like IN64, hashed to 64 bits: an IPC handle's identity */
	GMT_CAP_STKHASH, /* 64 bytes passed by value on the stack (x86-64), hashed likewise */
	GMT_CAP_OUTHASH, /* 64 bytes at argument, read at return, hashed likewise */
};
#define GMT_CAP(kind, arg, off) ((__u32)(kind) << 24 | (__u32)(arg) << 16 | (__u32)(off))
#define ARG(n) GMT_CAP(GMT_CAP_ARG64, n, 0)
#define ARG32(n) GMT_CAP(GMT_CAP_ARG32, n, 0)
#define IN(n, off) GMT_CAP(GMT_CAP_IN64, n, off)
#define IN32(n, off) GMT_CAP(GMT_CAP_IN32, n, off)
#define OUT(n) GMT_CAP(GMT_CAP_OUT64, n, 0)
#define OUTAT(n, off) GMT_CAP(GMT_CAP_OUT64, n, off)
#define OUT32(n) GMT_CAP(GMT_CAP_OUT32, n, 0)
#define OUTHASH(n) GMT_CAP(GMT_CAP_OUTHASH, n, 0)
/* A 64-byte structure that is passed by value lies on the stack on x86-64 (SysV ABI: class MEMORY). On aarch64 the
 * argument's register has its address (AAPCS64, composite larger than 16 bytes). */
#ifdef __aarch64__
#define BYVAL64_HASH(n) GMT_CAP(GMT_CAP_INHASH, n, 0)
#define AFTER_BYVAL64(n) ARG32(n)
#else
#define BYVAL64_HASH(n) GMT_CAP(GMT_CAP_STKHASH, 0, 0)
#define AFTER_BYVAL64(n) ARG32((n)-1)
#endif

enum gmt_api_flag {
	GMT_API_RELEASE = 1, /* sent at entry; if the call fails, UNDO is sent at return */
	GMT_API_SCOPE = 2,   /* calls inside the call are sent, too; without values, sent only if there was no memory */
	GMT_API_CHANGE = 4,  /* sent only if vals[0] differs from that of the thread's last CHANGE record */
	GMT_API_QUIET_ERROR = 8, /* a failing call changes nothing, and is sent only if there was no memory */
	GMT_API_CTX = 16,    /* changes the thread's current context, so the thread's next CHANGE call is sent */
	/* Code of the program runs inside the call, on the calling thread, and may throw or be cancelled: a return probe
	 * would end the program. A RELEASE is sent at entry, and a failure is not seen; other calls are not probed.
	 * Measured on driver 580.159.04: destructors of user objects run in cuGraphDestroy, in cuGraphExecDestroy of a
	 * graph that was not launched, and in cuUserObjectRelease; callbacks of streams, and destructors after a
	 * launch, run on a thread of the driver. */
	GMT_API_NO_RETURN = 32,
};

/* ---- operations: X(NAME, purpose, whether the call's stack is taken, fields in the order of vals[]) ---- */
/* Sizes are bytes. "loc" is CUmemLocationType: 1 device, 2 host, 3/4 host NUMA, 6 locality domain of a device, whose
 * ordinal is the low byte of "locid"; "alloc" is CUmemAllocationType: 1 pinned, 2 managed. "dev" is the CUDA ordinal
 * inside the process. */
#define GMT_OPS(X)                                                                \
	X(SCOPE_CONTEXT, CONTEXT, false, "")                                      \
	X(SCOPE_MODULE, MODULE, false, "")                                        \
	X(SCOPE_GRAPH, GRAPH, false, "")                                          \
	X(SCOPE_STREAM, STREAM, false, "")                                        \
	X(SCOPE_OTHER, OTHER, false, "")                                          \
	X(MEM_ALLOC, ALLOC, true, "ptr,size")                                     \
	X(MEM_ALLOC_PITCH, ALLOC, true, "ptr,pitch,width,height")                 \
	X(MEM_ALLOC_MANAGED, ALLOC, true, "ptr,size,flags")                       \
	X(MEM_FREE, ALLOC, false, "ptr")                                          \
	X(MEM_RANGE, OTHER, false, "base,size,ptr")                               \
	X(MEM_INFO, OTHER, false, "free,total")                                   \
	X(HOST_ALLOC, HOST, true, "ptr,size,flags")                               \
	X(HOST_FREE, HOST, false, "ptr")                                          \
	X(HOST_REGISTER, HOST, true, "ptr,size,flags")                            \
	X(HOST_UNREGISTER, HOST, false, "ptr")                                    \
	X(ASYNC_ALLOC, POOL, true, "ptr,size,stream")                             \
	X(POOL_ALLOC, POOL, true, "ptr,size,pool,stream")                         \
	X(ASYNC_FREE, POOL, false, "ptr,stream")                                  \
	X(POOL_CREATE, POOL, false, "pool,loc,locid,alloc")                       \
	X(POOL_DESTROY, POOL, false, "pool")                                      \
	X(POOL_TRIM, POOL, false, "pool,keep")                                    \
	X(POOL_OF_DEVICE, POOL, false, "pool,dev")                                \
	X(POOL_SET_DEVICE, POOL, false, "dev,pool")                               \
	X(POOL_OF_LOCATION, POOL, false, "pool,loc,locid,alloc")                  \
	X(POOL_SET_LOCATION, POOL, false, "loc,locid,alloc,pool")                 \
	X(POOL_SET_ATTRIBUTE, POOL, false, "pool,attr,value")                     \
	X(POOL_GET_ATTRIBUTE, POOL, false, "pool,attr,value")                     \
	X(POOL_EXPORT, POOL, false, "pool")                                       \
	X(POOL_IMPORT, IMPORT, false, "pool")                                     \
	X(POOL_IMPORT_PTR, IMPORT, true, "ptr,pool")                              \
	X(VMM_CREATE, VMM, true, "handle,size,loc,locid,alloc")                   \
	X(VMM_RELEASE, VMM, false, "handle")                                      \
	X(VMM_RETAIN, VMM, false, "handle,addr")                                  \
	X(VMM_MAP, VMM, false, "ptr,size,offset,handle")                          \
	X(VMM_UNMAP, VMM, false, "ptr,size")                                      \
	X(VMM_EXPORT, VMM, false, "handle,type")                                  \
	X(VMM_IMPORT, IMPORT, true, "handle,type")                                \
	X(VMM_PROPERTIES, OTHER, false, "handle,location")                        \
	X(VMM_MAP_ARRAY, VMM, false, "operation,array,handle,count") /* of the first element of the list */ \
	X(MULTICAST_CREATE, VMM, true, "handle,size")                             \
	X(MULTICAST_BIND, VMM, false, "multicast,offset,size,handle,dev")         \
	X(MULTICAST_BIND_ADDR, VMM, false, "multicast,offset,size,ptr,dev")       \
	X(MULTICAST_UNBIND, VMM, false, "multicast,offset,size,dev")              \
	X(ENDPOINT_BIND, VMM, false, "endpoint,offset,size,handle,dev")           \
	X(ENDPOINT_BIND_ADDR, VMM, false, "endpoint,offset,size,ptr,dev")         \
	X(ENDPOINT_UNBIND, VMM, false, "endpoint,offset,size,dev")                \
	X(ENDPOINT_DESTROY, VMM, false, "endpoint")                               \
	X(ARRAY_CREATE, ALLOC, true, "array,width,height,format,channels")        \
	X(ARRAY3D_CREATE, ALLOC, true, "array,width,height,format,channels,depth,flags") \
	X(MIPMAP_CREATE, ALLOC, true, "array,width,height,format,channels,depth,flags,levels") \
	X(ARRAY_DESTROY, ALLOC, false, "array")                                   \
	X(ARRAY_REQUIREMENTS, OTHER, false, "array,size")                         \
	X(IPC_EXPORT, OTHER, false, "ptr,key")                                    \
	X(IPC_OPEN, IMPORT, true, "ptr,key,flags")                                \
	X(IPC_CLOSE, IMPORT, false, "ptr")                                        \
	X(EXT_IMPORT, IMPORT, false, "ext,size,type")                             \
	X(EXT_MAP, IMPORT, true, "ptr,ext,size")                                  \
	X(EXT_MAP_ARRAY, IMPORT, false, "array,ext")                              \
	X(EXT_DESTROY, IMPORT, false, "ext")                                      \
	X(RANGE_EXPORT, OTHER, false, "ptr,size,type")                            \
	X(GRAPH_ALLOC_NODE, GRAPH, true, "ptr,size,dev,graph")                    \
	X(GRAPH_FREE_NODE, GRAPH, false, "ptr")                                   \
	/* a node of type 4 has its child graph in the place of freeptr; ownership 1: the child moves to the parent */ \
	X(GRAPH_NODE, GRAPH, true, "type,allocptr,allocsize,allocdev,freeptr,graph,ownership") \
	X(GRAPH_INSTANTIATE, GRAPH, false, "exec,graph")                          \
	X(GRAPH_DESTROY, GRAPH, false, "graph") /* a CUgraph or a CUgraphExec */  \
	X(GRAPH_TRIM, GRAPH, false, "dev")                                        \
	X(GRAPH_ATTRIBUTE, OTHER, false, "dev,attr,value")                        \
	X(CAPTURE_BEGIN, OTHER, false, "stream")                                  \
	X(CAPTURE_INTO, OTHER, false, "stream,graph")                             \
	X(CAPTURE_END, OTHER, false, "stream,graph")                              \
	X(CTX_CREATE, CONTEXT, false, "ctx,dev")                                  \
	X(CTX_DESTROY, CONTEXT, false, "ctx")                                     \
	X(CTX_ATTACH, CONTEXT, false, "ctx")                                      \
	X(CTX_DETACH, CONTEXT, false, "ctx")                                      \
	X(CTX_SET, CONTEXT, false, "ctx")                                         \
	X(CTX_PUSH, CONTEXT, false, "ctx")                                        \
	X(CTX_POP, CONTEXT, false, "ctx")                                         \
	X(PRIMARY_RETAIN, CONTEXT, false, "ctx,dev")                              \
	X(PRIMARY_RELEASE, CONTEXT, false, "dev")                                 \
	X(PRIMARY_RESET, CONTEXT, false, "dev")                                   \
	X(GREEN_CREATE, CONTEXT, false, "ctx,dev")                                \
	X(GREEN_DESTROY, CONTEXT, false, "ctx")                                   \
	X(GREEN_CTX, CONTEXT, false, "ctx,green")                                 \
	X(STREAM_CREATE, STREAM, false, "stream")                                 \
	X(STREAM_DESTROY, STREAM, false, "stream")                                \
	X(GREEN_STREAM, STREAM, false, "stream,green")                            \
	X(DEVICE_GET, OTHER, false, "dev,ordinal")                                \
	X(DEVICE_UUID, OTHER, false, "uuid_lo,uuid_hi,dev")                       \
	/* of the process with this pid, which is mostly another one than the caller */ \
	X(CHECKPOINT_LOCK, OTHER, false, "process")                               \
	X(CHECKPOINT_SAVE, OTHER, false, "process")                               \
	X(CHECKPOINT_RESTORE, OTHER, false, "process")                            \
	X(CHECKPOINT_UNLOCK, OTHER, false, "process")
enum gmt_op {
#define X(name, ...) GMT_OP_##name,
	GMT_OPS(X)
#undef X
	GMT_OP_COUNT
};

/* ---- entry points: X(id, symbol, operation, flags, values...) ----
 * Recordings store the ids, so the list is append-only: each id is written out and never used again. */
#define REL GMT_API_RELEASE
#define QE GMT_API_QUIET_ERROR
#define GMT_APIS(X)                                                               \
	/* device memory, synchronous */                                          \
	X(1, cuMemAlloc_v2, MEM_ALLOC, 0, OUT(0), ARG(1))                         \
	X(2, cuMemAlloc, MEM_ALLOC, 0, OUT32(0), ARG32(1))                        \
	X(3, cuMemAllocPitch_v2, MEM_ALLOC_PITCH, 0, OUT(0), OUT(1), ARG(2), ARG(3)) \
	X(4, cuMemAllocPitch, MEM_ALLOC_PITCH, 0, OUT32(0), OUT32(1), ARG32(2), ARG32(3)) \
	X(5, cuMemAllocManaged, MEM_ALLOC_MANAGED, 0, OUT(0), ARG(1), ARG32(2))   \
	X(6, cuMemFree_v2, MEM_FREE, REL, ARG(0))                                 \
	X(7, cuMemFree, MEM_FREE, REL, ARG32(0))                                  \
	X(8, cuMemGetAddressRange_v2, MEM_RANGE, QE, OUT(0), OUT(1), ARG(2))      \
	X(9, cuMemGetInfo_v2, MEM_INFO, QE, OUT(0), OUT(1))                       \
	/* pinned host memory */                                                  \
	X(20, cuMemHostAlloc, HOST_ALLOC, 0, OUT(0), ARG(1), ARG32(2))            \
	X(21, cuMemAllocHost_v2, HOST_ALLOC, 0, OUT(0), ARG(1))                   \
	X(22, cuMemAllocHost, HOST_ALLOC, 0, OUT(0), ARG32(1))                    \
	X(23, cuMemFreeHost, HOST_FREE, REL, ARG(0))                              \
	X(24, cuMemHostRegister_v2, HOST_REGISTER, 0, ARG(0), ARG(1), ARG32(2))   \
	X(25, cuMemHostRegister, HOST_REGISTER, 0, ARG(0), ARG(1), ARG32(2))      \
	X(26, cuMemHostUnregister, HOST_UNREGISTER, REL, ARG(0))                  \
	/* stream-ordered memory and pools */                                     \
	X(40, cuMemAllocAsync, ASYNC_ALLOC, 0, OUT(0), ARG(1), ARG(2))            \
	X(41, cuMemAllocAsync_ptsz, ASYNC_ALLOC, 0, OUT(0), ARG(1), ARG(2))       \
	X(42, cuMemAllocFromPoolAsync, POOL_ALLOC, 0, OUT(0), ARG(1), ARG(2), ARG(3)) \
	X(43, cuMemAllocFromPoolAsync_ptsz, POOL_ALLOC, 0, OUT(0), ARG(1), ARG(2), ARG(3)) \
	X(44, cuMemFreeAsync, ASYNC_FREE, REL, ARG(0), ARG(1))                    \
	X(45, cuMemFreeAsync_ptsz, ASYNC_FREE, REL, ARG(0), ARG(1))               \
	X(46, cuMemPoolCreate, POOL_CREATE, QE, OUT(0), IN32(1, 8), IN32(1, 12), IN32(1, 0)) \
	X(47, cuMemPoolDestroy, POOL_DESTROY, REL, ARG(0))                        \
	X(48, cuMemPoolTrimTo, POOL_TRIM, QE, ARG(0), ARG(1))                     \
	X(49, cuDeviceGetDefaultMemPool, POOL_OF_DEVICE, QE, OUT(0), ARG32(1))    \
	X(50, cuDeviceGetMemPool, POOL_OF_DEVICE, QE, OUT(0), ARG32(1))           \
	X(51, cuDeviceSetMemPool, POOL_SET_DEVICE, QE, ARG32(0), ARG(1))          \
	X(52, cuMemGetDefaultMemPool, POOL_OF_LOCATION, QE, OUT(0), IN32(1, 0), IN32(1, 4), ARG32(2)) \
	X(53, cuMemGetMemPool, POOL_OF_LOCATION, QE, OUT(0), IN32(1, 0), IN32(1, 4), ARG32(2)) \
	X(54, cuMemSetMemPool, POOL_SET_LOCATION, QE, IN32(0, 0), IN32(0, 4), ARG32(1), ARG(2)) \
	X(55, cuMemPoolSetAttribute, POOL_SET_ATTRIBUTE, QE, ARG(0), ARG32(1), IN(2, 0)) \
	X(56, cuMemPoolGetAttribute, POOL_GET_ATTRIBUTE, QE, ARG(0), ARG32(1), OUT(2)) \
	X(57, cuMemPoolExportToShareableHandle, POOL_EXPORT, QE, ARG(1))          \
	X(58, cuMemPoolImportFromShareableHandle, POOL_IMPORT, QE, OUT(0))        \
	X(59, cuMemPoolImportPointer, POOL_IMPORT_PTR, QE, OUT(0), ARG(1))        \
	/* virtual memory management */                                           \
	X(80, cuMemCreate, VMM_CREATE, 0, OUT(0), ARG(1), IN32(2, 8), IN32(2, 12), IN32(2, 0)) \
	X(81, cuMemRelease, VMM_RELEASE, REL, ARG(0))                             \
	X(82, cuMemRetainAllocationHandle, VMM_RETAIN, QE, OUT(0), ARG(1))        \
	X(83, cuMemMap, VMM_MAP, QE, ARG(0), ARG(1), ARG(2), ARG(3))              \
	X(84, cuMemUnmap, VMM_UNMAP, REL, ARG(0), ARG(1))                         \
	X(85, cuMemExportToShareableHandle, VMM_EXPORT, QE, ARG(1), ARG32(2))     \
	X(86, cuMemImportFromShareableHandle, VMM_IMPORT, QE, OUT(0), ARG32(2))   \
	X(87, cuMemGetAllocationPropertiesFromHandle, VMM_PROPERTIES, QE, ARG(1), OUTAT(0, 8)) \
	X(88, cuMulticastCreate, MULTICAST_CREATE, QE, OUT(0), IN(1, 8))          \
	X(89, cuMemGetHandleForAddressRange, RANGE_EXPORT, QE, ARG(1), ARG(2), ARG32(3)) \
	X(90, cuMemMapArrayAsync, VMM_MAP_ARRAY, QE, IN32(0, 56), IN(0, 8), IN(0, 64), ARG32(1)) \
	X(91, cuMemMapArrayAsync_ptsz, VMM_MAP_ARRAY, QE, IN32(0, 56), IN(0, 8), IN(0, 64), ARG32(1)) \
	X(92, cuMulticastBindMem, MULTICAST_BIND, QE, ARG(0), ARG(1), ARG(4), ARG(2)) \
	X(93, cuMulticastBindMem_v2, MULTICAST_BIND, QE, ARG(0), ARG(2), ARG(5), ARG(3), ARG32(1)) \
	X(94, cuMulticastBindAddr, MULTICAST_BIND_ADDR, QE, ARG(0), ARG(1), ARG(3), ARG(2)) \
	X(95, cuMulticastBindAddr_v2, MULTICAST_BIND_ADDR, QE, ARG(0), ARG(2), ARG(4), ARG(3), ARG32(1)) \
	X(96, cuMulticastUnbind, MULTICAST_UNBIND, QE, ARG(0), ARG(2), ARG(3), ARG32(1)) \
	X(97, cuLogicalEndpointBindMem, ENDPOINT_BIND, QE, ARG32(0), ARG(2), ARG(5), ARG(3), ARG32(1)) \
	X(98, cuLogicalEndpointBindAddr, ENDPOINT_BIND_ADDR, QE, ARG32(0), ARG(2), ARG(4), ARG(3), ARG32(1)) \
	X(99, cuLogicalEndpointUnbind, ENDPOINT_UNBIND, QE, ARG32(0), ARG(2), ARG(3), ARG32(1)) \
	X(79, cuLogicalEndpointDestroy, ENDPOINT_DESTROY, QE, ARG32(0))           \
	/* arrays */                                                              \
	X(100, cuArrayCreate_v2, ARRAY_CREATE, 0, OUT(0), IN(1, 0), IN(1, 8), IN32(1, 16), IN32(1, 20)) \
	X(101, cuArrayCreate, ARRAY_CREATE, 0, OUT(0), IN32(1, 0), IN32(1, 4), IN32(1, 8), IN32(1, 12)) \
	X(102, cuArray3DCreate_v2, ARRAY3D_CREATE, 0, OUT(0), IN(1, 0), IN(1, 8), IN32(1, 24), IN32(1, 28), IN(1, 16), IN32(1, 32)) \
	X(103, cuArray3DCreate, ARRAY3D_CREATE, 0, OUT(0), IN32(1, 0), IN32(1, 4), IN32(1, 12), IN32(1, 16), IN32(1, 8), IN32(1, 20)) \
	X(104, cuMipmappedArrayCreate, MIPMAP_CREATE, 0, OUT(0), IN(1, 0), IN(1, 8), IN32(1, 24), IN32(1, 28), IN(1, 16), IN32(1, 32), ARG32(2)) \
	X(105, cuArrayDestroy, ARRAY_DESTROY, REL, ARG(0))                        \
	X(106, cuMipmappedArrayDestroy, ARRAY_DESTROY, REL, ARG(0))               \
	X(107, cuArrayGetMemoryRequirements, ARRAY_REQUIREMENTS, QE, ARG(1), OUT(0)) \
	X(108, cuMipmappedArrayGetMemoryRequirements, ARRAY_REQUIREMENTS, QE, ARG(1), OUT(0)) \
	/* memory of others */                                                    \
	X(120, cuIpcGetMemHandle, IPC_EXPORT, QE, ARG(1), OUTHASH(0))             \
	X(121, cuIpcOpenMemHandle_v2, IPC_OPEN, QE, OUT(0), BYVAL64_HASH(1), AFTER_BYVAL64(2)) \
	X(122, cuIpcOpenMemHandle, IPC_OPEN, QE, OUT(0), BYVAL64_HASH(1), AFTER_BYVAL64(2)) \
	X(123, cuIpcCloseMemHandle, IPC_CLOSE, REL, ARG(0))                       \
	X(124, cuImportExternalMemory, EXT_IMPORT, QE, OUT(0), IN(1, 24), IN32(1, 0)) \
	X(125, cuExternalMemoryGetMappedBuffer, EXT_MAP, QE, OUT(0), ARG(1), IN(2, 8)) \
	X(126, cuDestroyExternalMemory, EXT_DESTROY, REL, ARG(0))                 \
	X(127, cuExternalMemoryGetMappedMipmappedArray, EXT_MAP_ARRAY, QE, OUT(0), ARG(1)) \
	/* graph memory */                                                        \
	X(140, cuGraphAddMemAllocNode, GRAPH_ALLOC_NODE, QE, OUTAT(4, 112), IN(4, 104), IN32(4, 12), ARG(1)) \
	X(141, cuGraphAddMemFreeNode, GRAPH_FREE_NODE, QE, ARG(4))                \
	X(142, cuGraphAddNode, GRAPH_NODE, QE, IN32(4, 0), OUTAT(4, 128), IN(4, 120), IN32(4, 28), IN(4, 16), ARG(1), IN32(4, 24)) \
	X(143, cuGraphAddNode_v2, GRAPH_NODE, QE, IN32(5, 0), OUTAT(5, 128), IN(5, 120), IN32(5, 28), IN(5, 16), ARG(1), IN32(5, 24)) \
	X(144, cuDeviceGraphMemTrim, GRAPH_TRIM, QE, ARG32(0))                    \
	X(145, cuDeviceGetGraphMemAttribute, GRAPH_ATTRIBUTE, QE, ARG32(0), ARG32(1), OUT(2)) \
	X(146, cuStreamBeginCapture_v2, CAPTURE_BEGIN, QE, ARG(0))                \
	X(147, cuStreamBeginCapture_v2_ptsz, CAPTURE_BEGIN, QE, ARG(0))           \
	X(148, cuStreamBeginCaptureToGraph, CAPTURE_INTO, QE, ARG(0), ARG(1))     \
	X(149, cuStreamBeginCaptureToGraph_ptsz, CAPTURE_INTO, QE, ARG(0), ARG(1)) \
	X(150, cuStreamEndCapture, CAPTURE_END, 0, ARG(0), OUT(1))                \
	X(151, cuStreamEndCapture_ptsz, CAPTURE_END, 0, ARG(0), OUT(1))           \
	X(152, cuGraphInstantiate_v2, GRAPH_INSTANTIATE, QE | GMT_API_SCOPE, OUT(0), ARG(1)) \
	X(153, cuGraphInstantiateWithFlags, GRAPH_INSTANTIATE, QE | GMT_API_SCOPE, OUT(0), ARG(1)) \
	X(154, cuGraphInstantiateWithParams, GRAPH_INSTANTIATE, QE | GMT_API_SCOPE, OUT(0), ARG(1)) \
	X(155, cuGraphInstantiateWithParams_ptsz, GRAPH_INSTANTIATE, QE | GMT_API_SCOPE, OUT(0), ARG(1)) \
	X(156, cuGraphUpload, SCOPE_GRAPH, GMT_API_SCOPE)                         \
	X(157, cuGraphUpload_ptsz, SCOPE_GRAPH, GMT_API_SCOPE)                    \
	X(158, cuGraphExecDestroy, GRAPH_DESTROY, REL | GMT_API_NO_RETURN, ARG(0)) \
	X(159, cuStreamBeginCapture, CAPTURE_BEGIN, QE, ARG(0))                   \
	X(160, cuStreamBeginCapture_ptsz, CAPTURE_BEGIN, QE, ARG(0))              \
	X(161, cuGraphAddNode_v3, GRAPH_NODE, QE, IN32(5, 0), OUTAT(5, 128), IN(5, 120), IN32(5, 28), IN(5, 16), ARG(1), IN32(5, 24)) \
	X(162, cuStreamBeginRecaptureToGraph, CAPTURE_INTO, QE, ARG(0), ARG(2))   \
	X(163, cuStreamBeginRecaptureToGraph_ptsz, CAPTURE_INTO, QE, ARG(0), ARG(2)) \
	X(164, cuGraphInstantiate, GRAPH_INSTANTIATE, QE | GMT_API_SCOPE, OUT(0), ARG(1)) \
	X(165, cuGraphDestroy, GRAPH_DESTROY, REL | GMT_API_NO_RETURN, ARG(0))    \
	/* contexts */                                                            \
	X(180, cuInit, SCOPE_CONTEXT, GMT_API_SCOPE)                              \
	X(181, cuCtxCreate_v4, CTX_CREATE, GMT_API_CTX, OUT(0), ARG32(3))                  \
	X(182, cuCtxCreate_v3, CTX_CREATE, GMT_API_CTX, OUT(0), ARG32(4))                  \
	X(183, cuCtxCreate_v2, CTX_CREATE, GMT_API_CTX, OUT(0), ARG32(2))                  \
	X(184, cuCtxCreate, CTX_CREATE, GMT_API_CTX, OUT(0), ARG32(2))                     \
	X(185, cuCtxDestroy_v2, CTX_DESTROY, REL | GMT_API_CTX, ARG(0))                          \
	X(186, cuCtxDestroy, CTX_DESTROY, REL | GMT_API_CTX, ARG(0))                             \
	X(187, cuCtxDetach, CTX_DETACH, REL | GMT_API_CTX, ARG(0))                               \
	X(188, cuCtxSetCurrent, CTX_SET, QE | GMT_API_CHANGE, ARG(0))             \
	X(189, cuCtxPushCurrent_v2, CTX_PUSH, QE | GMT_API_CTX, ARG(0))                         \
	X(190, cuCtxPushCurrent, CTX_PUSH, QE | GMT_API_CTX, ARG(0))                            \
	X(191, cuCtxPopCurrent_v2, CTX_POP, QE | GMT_API_CTX, OUT(0))                           \
	X(192, cuCtxPopCurrent, CTX_POP, QE | GMT_API_CTX, OUT(0))                              \
	X(193, cuDevicePrimaryCtxRetain, PRIMARY_RETAIN, 0, OUT(0), ARG32(1))    \
	X(194, cuDevicePrimaryCtxRelease_v2, PRIMARY_RELEASE, REL, ARG32(0))       \
	X(195, cuDevicePrimaryCtxRelease, PRIMARY_RELEASE, REL, ARG32(0))          \
	X(196, cuDevicePrimaryCtxReset_v2, PRIMARY_RESET, REL, ARG32(0))           \
	X(197, cuDevicePrimaryCtxReset, PRIMARY_RESET, REL, ARG32(0))              \
	X(198, cuGreenCtxCreate, GREEN_CREATE, QE, OUT(0), ARG32(2))              \
	X(199, cuGreenCtxDestroy, GREEN_DESTROY, REL, ARG(0))                      \
	X(200, cuCtxFromGreenCtx, GREEN_CTX, QE, OUT(0), ARG(1))                  \
	X(201, cuCtxSetLimit, SCOPE_CONTEXT, GMT_API_SCOPE)                       \
	X(202, cuCtxEnablePeerAccess, SCOPE_CONTEXT, GMT_API_SCOPE)               \
	X(203, cuCtxAttach, CTX_ATTACH, QE, OUT(0))                               \
	X(204, cuGLCtxCreate_v2, CTX_CREATE, GMT_API_CTX, OUT(0), ARG32(2))       \
	X(205, cuGLCtxCreate, CTX_CREATE, GMT_API_CTX, OUT(0), ARG32(2))          \
	X(206, cuVDPAUCtxCreate_v2, CTX_CREATE, GMT_API_CTX, OUT(0), ARG32(2))    \
	X(207, cuVDPAUCtxCreate, CTX_CREATE, GMT_API_CTX, OUT(0), ARG32(2))       \
	X(208, cuCheckpointProcessLock, CHECKPOINT_LOCK, QE, ARG32(0))            \
	X(209, cuCheckpointProcessCheckpoint, CHECKPOINT_SAVE, QE, ARG32(0))      \
	X(210, cuCheckpointProcessRestore, CHECKPOINT_RESTORE, QE, ARG32(0))      \
	X(211, cuCheckpointProcessUnlock, CHECKPOINT_UNLOCK, QE, ARG32(0))        \
	/* streams, devices */                                                    \
	X(220, cuStreamCreate, STREAM_CREATE, QE, OUT(0))                         \
	X(221, cuStreamCreateWithPriority, STREAM_CREATE, QE, OUT(0))             \
	X(222, cuStreamDestroy_v2, STREAM_DESTROY, REL, ARG(0))                   \
	X(223, cuStreamDestroy, STREAM_DESTROY, REL, ARG(0))                      \
	X(224, cuGreenCtxStreamCreate, GREEN_STREAM, QE, OUT(0), ARG(1))          \
	X(225, cuDeviceGet, DEVICE_GET, QE, OUT32(0), ARG32(1))                   \
	X(226, cuDeviceGetUuid_v2, DEVICE_UUID, QE, OUT(0), OUTAT(0, 8), ARG32(1)) \
	X(227, cuDeviceGetUuid, DEVICE_UUID, QE, OUT(0), OUTAT(0, 8), ARG32(1))   \
	X(228, cuEventCreate, SCOPE_STREAM, GMT_API_SCOPE)                        \
	X(229, cuMemBatchDecompressAsync, SCOPE_OTHER, GMT_API_SCOPE)             \
	X(230, cuMemBatchDecompressAsync_ptsz, SCOPE_OTHER, GMT_API_SCOPE)        \
	/* modules */                                                             \
	X(240, cuModuleLoad, SCOPE_MODULE, GMT_API_SCOPE)                         \
	X(241, cuModuleLoadData, SCOPE_MODULE, GMT_API_SCOPE)                     \
	X(242, cuModuleLoadDataEx, SCOPE_MODULE, GMT_API_SCOPE)                   \
	X(243, cuModuleLoadFatBinary, SCOPE_MODULE, GMT_API_SCOPE)                \
	X(244, cuModuleUnload, SCOPE_MODULE, GMT_API_SCOPE)                       \
	X(245, cuLibraryLoadData, SCOPE_MODULE, GMT_API_SCOPE)                    \
	X(246, cuLibraryLoadFromFile, SCOPE_MODULE, GMT_API_SCOPE)                \
	X(247, cuLibraryUnload, SCOPE_MODULE, GMT_API_SCOPE)                      \
	X(248, cuLibraryGetModule, SCOPE_MODULE, GMT_API_SCOPE)                   \
	X(249, cuFuncLoad, SCOPE_MODULE, GMT_API_SCOPE)                           \
	X(250, cuModuleGetFunction, SCOPE_MODULE, GMT_API_SCOPE)                  \
	X(251, cuModuleGetGlobal_v2, SCOPE_MODULE, GMT_API_SCOPE)                 \
	X(252, cuModuleGetGlobal, SCOPE_MODULE, GMT_API_SCOPE)                    \
	X(253, cuLibraryGetGlobal, SCOPE_MODULE, GMT_API_SCOPE)                   \
	X(254, cuLibraryGetManaged, SCOPE_MODULE, GMT_API_SCOPE)                  \
	X(255, cuKernelGetFunction, SCOPE_MODULE, GMT_API_SCOPE)

#define GMT_API_MAX 256 /* ids are below it */

enum gmt_api {
	GMT_API_NONE = 0,
#define X(id, symbol, op, flags, ...) GMT_API_##symbol = id,
	GMT_APIS(X)
#undef X
};
#define X(id, symbol, op, flags, ...) _Static_assert(id > 0 && id < GMT_API_MAX, #symbol);
GMT_APIS(X)
#undef X

#endif

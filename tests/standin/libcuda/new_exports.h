/* SPDX-License-Identifier: BSD-2-Clause */
/* The entries that driver 535 lacks, in the form of PROCS (procaddr.c). */
#ifndef STANDIN_NEW_EXPORTS_H
#define STANDIN_NEW_EXPORTS_H

#define PROCS_NEW(S, V, T) \
	V(cuCtxCreate, 12050, cuCtxCreate_v4) \
	S(cuGreenCtxCreate, 12040) \
	S(cuGreenCtxDestroy, 12040) \
	S(cuCtxFromGreenCtx, 12040) \
	S(cuGreenCtxStreamCreate, 12050) \
	S(cuMemGetDefaultMemPool, 13000) \
	S(cuMemGetMemPool, 13000) \
	S(cuMemSetMemPool, 13000) \
	V(cuGraphAddNode, 12030, cuGraphAddNode_v2) \
	S(cuCheckpointProcessLock, 12080) \
	S(cuCheckpointProcessCheckpoint, 12080) \
	S(cuCheckpointProcessRestore, 12080) \
	S(cuCheckpointProcessUnlock, 12080)

/* The same for entries without a row in PROCS: cuGetProcAddress finds them by their names alone. */
#define GENERIC_NEW(X) \
	X(cuMulticastBindMem_v2) \
	X(cuMulticastBindAddr_v2) \
	X(cuLogicalEndpointBindMem) \
	X(cuLogicalEndpointBindAddr) \
	X(cuLogicalEndpointUnbind) \
	X(cuLogicalEndpointDestroy) \
	X(cuGraphAddNode_v3) \
	X(cuStreamBeginRecaptureToGraph) \
	X(cuStreamBeginRecaptureToGraph_ptsz) \
	X(cuMemBatchDecompressAsync) \
	X(cuMemBatchDecompressAsync_ptsz)

#endif

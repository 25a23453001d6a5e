/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names to pointers: cuGetProcAddress picks the newest variant that is not newer than the CUDA
 * version asked for, and the per-thread-stream variant where the flags say so. Its pointers are the
 * exported symbols, as with the real driver.
 */
#include <stdbool.h>
#include <string.h>

#include "standin.h"

#define PER_THREAD_DEFAULT_STREAM 2ULL

enum { SYMBOL_FOUND = 0, SYMBOL_NOT_FOUND = 1, SYMBOL_VERSION_NOT_SUFFICIENT = 2 };

/* X(name, since CUDA version, symbol, symbol with a per-thread default stream) */
#define PROCS(X) \
	X(cuInit, 2000, cuInit, cuInit) \
	X(cuDriverGetVersion, 2020, cuDriverGetVersion, cuDriverGetVersion) \
	X(cuGetErrorName, 6000, cuGetErrorName, cuGetErrorName) \
	X(cuGetErrorString, 6000, cuGetErrorString, cuGetErrorString) \
	X(cuGetProcAddress, 11030, cuGetProcAddress, cuGetProcAddress) \
	X(cuGetProcAddress, 12000, cuGetProcAddress_v2, cuGetProcAddress_v2) \
	X(cuGetExportTable, 3000, cuGetExportTable, cuGetExportTable) \
	X(cuDeviceGet, 2000, cuDeviceGet, cuDeviceGet) \
	X(cuDeviceGetCount, 2000, cuDeviceGetCount, cuDeviceGetCount) \
	X(cuDeviceGetName, 2000, cuDeviceGetName, cuDeviceGetName) \
	X(cuDeviceGetUuid, 9020, cuDeviceGetUuid, cuDeviceGetUuid) \
	X(cuDeviceGetUuid, 11040, cuDeviceGetUuid_v2, cuDeviceGetUuid_v2) \
	X(cuDeviceGetPCIBusId, 4010, cuDeviceGetPCIBusId, cuDeviceGetPCIBusId) \
	X(cuDeviceTotalMem, 3020, cuDeviceTotalMem_v2, cuDeviceTotalMem_v2) \
	X(cuDeviceGetAttribute, 2000, cuDeviceGetAttribute, cuDeviceGetAttribute) \
	X(cuCtxCreate, 2000, cuCtxCreate, cuCtxCreate) \
	X(cuCtxCreate, 3020, cuCtxCreate_v2, cuCtxCreate_v2) \
	X(cuCtxCreate, 11040, cuCtxCreate_v3, cuCtxCreate_v3) \
	X(cuCtxDestroy, 2000, cuCtxDestroy, cuCtxDestroy) \
	X(cuCtxDestroy, 4000, cuCtxDestroy_v2, cuCtxDestroy_v2) \
	X(cuCtxDetach, 2000, cuCtxDetach, cuCtxDetach) \
	X(cuCtxSetCurrent, 4000, cuCtxSetCurrent, cuCtxSetCurrent) \
	X(cuCtxGetCurrent, 4000, cuCtxGetCurrent, cuCtxGetCurrent) \
	X(cuCtxGetDevice, 2000, cuCtxGetDevice, cuCtxGetDevice) \
	X(cuCtxPushCurrent, 2000, cuCtxPushCurrent, cuCtxPushCurrent) \
	X(cuCtxPushCurrent, 4000, cuCtxPushCurrent_v2, cuCtxPushCurrent_v2) \
	X(cuCtxPopCurrent, 2000, cuCtxPopCurrent, cuCtxPopCurrent) \
	X(cuCtxPopCurrent, 4000, cuCtxPopCurrent_v2, cuCtxPopCurrent_v2) \
	X(cuCtxSynchronize, 2000, cuCtxSynchronize, cuCtxSynchronize) \
	X(cuCtxSetLimit, 3010, cuCtxSetLimit, cuCtxSetLimit) \
	X(cuCtxEnablePeerAccess, 4000, cuCtxEnablePeerAccess, cuCtxEnablePeerAccess) \
	X(cuDevicePrimaryCtxRetain, 7000, cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain) \
	X(cuDevicePrimaryCtxRelease, 7000, cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease) \
	X(cuDevicePrimaryCtxRelease, 11000, cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease_v2) \
	X(cuDevicePrimaryCtxReset, 7000, cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset) \
	X(cuDevicePrimaryCtxReset, 11000, cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset_v2) \
	X(cuDevicePrimaryCtxGetState, 7000, cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState) \
	X(cuMemAlloc, 2000, cuMemAlloc, cuMemAlloc) \
	X(cuMemAlloc, 3020, cuMemAlloc_v2, cuMemAlloc_v2) \
	X(cuMemAllocPitch, 2000, cuMemAllocPitch, cuMemAllocPitch) \
	X(cuMemAllocPitch, 3020, cuMemAllocPitch_v2, cuMemAllocPitch_v2) \
	X(cuMemAllocManaged, 6000, cuMemAllocManaged, cuMemAllocManaged) \
	X(cuMemFree, 2000, cuMemFree, cuMemFree) \
	X(cuMemFree, 3020, cuMemFree_v2, cuMemFree_v2) \
	X(cuMemGetAddressRange, 3020, cuMemGetAddressRange_v2, cuMemGetAddressRange_v2) \
	X(cuMemGetInfo, 3020, cuMemGetInfo_v2, cuMemGetInfo_v2) \
	X(cuMemHostAlloc, 2020, cuMemHostAlloc, cuMemHostAlloc) \
	X(cuMemAllocHost, 2000, cuMemAllocHost, cuMemAllocHost) \
	X(cuMemAllocHost, 3020, cuMemAllocHost_v2, cuMemAllocHost_v2) \
	X(cuMemFreeHost, 2000, cuMemFreeHost, cuMemFreeHost) \
	X(cuMemHostRegister, 4000, cuMemHostRegister, cuMemHostRegister) \
	X(cuMemHostRegister, 6050, cuMemHostRegister_v2, cuMemHostRegister_v2) \
	X(cuMemHostUnregister, 4000, cuMemHostUnregister, cuMemHostUnregister) \
	X(cuMemAllocAsync, 11020, cuMemAllocAsync, cuMemAllocAsync_ptsz) \
	X(cuMemAllocFromPoolAsync, 11020, cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz) \
	X(cuMemFreeAsync, 11020, cuMemFreeAsync, cuMemFreeAsync_ptsz) \
	X(cuMemPoolCreate, 11020, cuMemPoolCreate, cuMemPoolCreate) \
	X(cuMemPoolDestroy, 11020, cuMemPoolDestroy, cuMemPoolDestroy) \
	X(cuMemPoolTrimTo, 11020, cuMemPoolTrimTo, cuMemPoolTrimTo) \
	X(cuMemPoolSetAttribute, 11020, cuMemPoolSetAttribute, cuMemPoolSetAttribute) \
	X(cuMemPoolGetAttribute, 11020, cuMemPoolGetAttribute, cuMemPoolGetAttribute) \
	X(cuMemPoolSetAccess, 11020, cuMemPoolSetAccess, cuMemPoolSetAccess) \
	X(cuMemPoolExportToShareableHandle, 11020, cuMemPoolExportToShareableHandle, cuMemPoolExportToShareableHandle) \
	X(cuMemPoolImportFromShareableHandle, 11020, cuMemPoolImportFromShareableHandle, cuMemPoolImportFromShareableHandle) \
	X(cuMemPoolExportPointer, 11020, cuMemPoolExportPointer, cuMemPoolExportPointer) \
	X(cuMemPoolImportPointer, 11020, cuMemPoolImportPointer, cuMemPoolImportPointer) \
	X(cuDeviceGetDefaultMemPool, 11020, cuDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool) \
	X(cuDeviceGetMemPool, 11020, cuDeviceGetMemPool, cuDeviceGetMemPool) \
	X(cuDeviceSetMemPool, 11020, cuDeviceSetMemPool, cuDeviceSetMemPool) \
	X(cuMemAddressReserve, 10020, cuMemAddressReserve, cuMemAddressReserve) \
	X(cuMemAddressFree, 10020, cuMemAddressFree, cuMemAddressFree) \
	X(cuMemCreate, 10020, cuMemCreate, cuMemCreate) \
	X(cuMemRelease, 10020, cuMemRelease, cuMemRelease) \
	X(cuMemRetainAllocationHandle, 11000, cuMemRetainAllocationHandle, cuMemRetainAllocationHandle) \
	X(cuMemMap, 10020, cuMemMap, cuMemMap) \
	X(cuMemUnmap, 10020, cuMemUnmap, cuMemUnmap) \
	X(cuMemSetAccess, 10020, cuMemSetAccess, cuMemSetAccess) \
	X(cuMemGetAllocationGranularity, 10020, cuMemGetAllocationGranularity, cuMemGetAllocationGranularity) \
	X(cuMemGetAllocationPropertiesFromHandle, 10020, cuMemGetAllocationPropertiesFromHandle, cuMemGetAllocationPropertiesFromHandle) \
	X(cuMemExportToShareableHandle, 10020, cuMemExportToShareableHandle, cuMemExportToShareableHandle) \
	X(cuMemImportFromShareableHandle, 10020, cuMemImportFromShareableHandle, cuMemImportFromShareableHandle) \
	X(cuMulticastCreate, 12010, cuMulticastCreate, cuMulticastCreate) \
	X(cuArrayCreate, 2000, cuArrayCreate, cuArrayCreate) \
	X(cuArrayCreate, 3020, cuArrayCreate_v2, cuArrayCreate_v2) \
	X(cuArray3DCreate, 2000, cuArray3DCreate, cuArray3DCreate) \
	X(cuArray3DCreate, 3020, cuArray3DCreate_v2, cuArray3DCreate_v2) \
	X(cuArrayDestroy, 2000, cuArrayDestroy, cuArrayDestroy) \
	X(cuArrayGetMemoryRequirements, 11060, cuArrayGetMemoryRequirements, cuArrayGetMemoryRequirements) \
	X(cuMipmappedArrayCreate, 5000, cuMipmappedArrayCreate, cuMipmappedArrayCreate) \
	X(cuMipmappedArrayDestroy, 5000, cuMipmappedArrayDestroy, cuMipmappedArrayDestroy) \
	X(cuMipmappedArrayGetMemoryRequirements, 11060, cuMipmappedArrayGetMemoryRequirements, cuMipmappedArrayGetMemoryRequirements) \
	X(cuIpcGetMemHandle, 4010, cuIpcGetMemHandle, cuIpcGetMemHandle) \
	X(cuIpcOpenMemHandle, 4010, cuIpcOpenMemHandle, cuIpcOpenMemHandle) \
	X(cuIpcOpenMemHandle, 11000, cuIpcOpenMemHandle_v2, cuIpcOpenMemHandle_v2) \
	X(cuIpcCloseMemHandle, 4010, cuIpcCloseMemHandle, cuIpcCloseMemHandle) \
	X(cuImportExternalMemory, 10000, cuImportExternalMemory, cuImportExternalMemory) \
	X(cuExternalMemoryGetMappedBuffer, 10000, cuExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer) \
	X(cuDestroyExternalMemory, 10000, cuDestroyExternalMemory, cuDestroyExternalMemory) \
	X(cuGraphCreate, 10000, cuGraphCreate, cuGraphCreate) \
	X(cuGraphDestroy, 10000, cuGraphDestroy, cuGraphDestroy) \
	X(cuGraphAddMemAllocNode, 11040, cuGraphAddMemAllocNode, cuGraphAddMemAllocNode) \
	X(cuGraphAddMemFreeNode, 11040, cuGraphAddMemFreeNode, cuGraphAddMemFreeNode) \
	X(cuGraphAddNode, 12020, cuGraphAddNode, cuGraphAddNode) \
	X(cuGraphInstantiate, 11000, cuGraphInstantiate_v2, cuGraphInstantiate_v2) \
	X(cuGraphInstantiateWithFlags, 11040, cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags) \
	X(cuGraphInstantiateWithParams, 12000, cuGraphInstantiateWithParams, cuGraphInstantiateWithParams_ptsz) \
	X(cuGraphUpload, 11010, cuGraphUpload, cuGraphUpload_ptsz) \
	X(cuGraphLaunch, 10000, cuGraphLaunch, cuGraphLaunch_ptsz) \
	X(cuGraphExecDestroy, 10000, cuGraphExecDestroy, cuGraphExecDestroy) \
	X(cuDeviceGraphMemTrim, 11040, cuDeviceGraphMemTrim, cuDeviceGraphMemTrim) \
	X(cuDeviceGetGraphMemAttribute, 11040, cuDeviceGetGraphMemAttribute, cuDeviceGetGraphMemAttribute) \
	X(cuStreamBeginCapture, 10000, cuStreamBeginCapture, cuStreamBeginCapture_ptsz) \
	X(cuStreamBeginCapture, 10010, cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz) \
	X(cuStreamBeginCaptureToGraph, 12030, cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph_ptsz) \
	X(cuStreamEndCapture, 10000, cuStreamEndCapture, cuStreamEndCapture_ptsz) \
	X(cuStreamCreate, 2000, cuStreamCreate, cuStreamCreate) \
	X(cuStreamCreateWithPriority, 5050, cuStreamCreateWithPriority, cuStreamCreateWithPriority) \
	X(cuStreamDestroy, 2000, cuStreamDestroy, cuStreamDestroy) \
	X(cuStreamDestroy, 4000, cuStreamDestroy_v2, cuStreamDestroy_v2) \
	X(cuStreamSynchronize, 2000, cuStreamSynchronize, cuStreamSynchronize_ptsz) \
	X(cuLaunchKernel, 4000, cuLaunchKernel, cuLaunchKernel) \
	X(cuModuleLoad, 2000, cuModuleLoad, cuModuleLoad) \
	X(cuModuleLoadData, 2000, cuModuleLoadData, cuModuleLoadData) \
	X(cuModuleLoadDataEx, 2010, cuModuleLoadDataEx, cuModuleLoadDataEx) \
	X(cuModuleLoadFatBinary, 2000, cuModuleLoadFatBinary, cuModuleLoadFatBinary) \
	X(cuModuleUnload, 2000, cuModuleUnload, cuModuleUnload) \
	X(cuModuleGetFunction, 2000, cuModuleGetFunction, cuModuleGetFunction) \
	X(cuFuncLoad, 12040, cuFuncLoad, cuFuncLoad) \
	X(cuLibraryLoadData, 12000, cuLibraryLoadData, cuLibraryLoadData) \
	X(cuLibraryLoadFromFile, 12000, cuLibraryLoadFromFile, cuLibraryLoadFromFile) \
	X(cuLibraryUnload, 12000, cuLibraryUnload, cuLibraryUnload) \
	X(cuLibraryGetModule, 12000, cuLibraryGetModule, cuLibraryGetModule)

/* What 535 does not have. */
#define PROCS_NEW(X) \
	X(cuCtxCreate, 12050, cuCtxCreate_v4, cuCtxCreate_v4) \
	X(cuGreenCtxCreate, 12040, cuGreenCtxCreate, cuGreenCtxCreate) \
	X(cuGreenCtxDestroy, 12040, cuGreenCtxDestroy, cuGreenCtxDestroy) \
	X(cuCtxFromGreenCtx, 12040, cuCtxFromGreenCtx, cuCtxFromGreenCtx) \
	X(cuGreenCtxStreamCreate, 12050, cuGreenCtxStreamCreate, cuGreenCtxStreamCreate) \
	X(cuMemGetDefaultMemPool, 13000, cuMemGetDefaultMemPool, cuMemGetDefaultMemPool) \
	X(cuMemGetMemPool, 13000, cuMemGetMemPool, cuMemGetMemPool) \
	X(cuMemSetMemPool, 13000, cuMemSetMemPool, cuMemSetMemPool) \
	X(cuGraphAddNode, 12030, cuGraphAddNode_v2, cuGraphAddNode_v2)

struct proc {
	const char *name;
	int version;
	void *plain, *per_thread;
};

static const struct proc procs[] = {
#define X(name, version, symbol, per_thread) { #name, version, (void *)symbol, (void *)per_thread },
	PROCS(X)
#ifndef STANDIN_OLD_EXPORTS
	PROCS_NEW(X)
#endif
#undef X
};

static CUresult find(const char *name, void **pfn, int version, unsigned long long flags, int *status)
{
	const struct proc *best = NULL;
	bool known = false;

	if (!name || !pfn)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < sizeof(procs) / sizeof(procs[0]); i++) {
		if (strcmp(procs[i].name, name))
			continue;
		known = true;
		if (procs[i].version <= version && (!best || procs[i].version > best->version))
			best = &procs[i];
	}
	*pfn = best ? (flags & PER_THREAD_DEFAULT_STREAM ? best->per_thread : best->plain) : NULL;
	if (status)
		*status = best ? SYMBOL_FOUND : known ? SYMBOL_VERSION_NOT_SUFFICIENT : SYMBOL_NOT_FOUND;
	return best || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, unsigned long long flags)
{
	return find(symbol, pfn, cudaVersion, flags, NULL);
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, unsigned long long flags, int *status)
{
	return find(symbol, pfn, cudaVersion, flags, status);
}

CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
	(void)id;
	if (table)
		*table = NULL;
	return CUDA_ERROR_NOT_FOUND;
}

/* X(error, text) */
#define ERRORS(X) \
	X(CUDA_SUCCESS, "no error") \
	X(CUDA_ERROR_INVALID_VALUE, "invalid argument") \
	X(CUDA_ERROR_OUT_OF_MEMORY, "out of memory") \
	X(CUDA_ERROR_NOT_INITIALIZED, "initialization error") \
	X(CUDA_ERROR_DEINITIALIZED, "driver shutting down") \
	X(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected") \
	X(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal") \
	X(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid") \
	X(CUDA_ERROR_INVALID_CONTEXT, "invalid device context") \
	X(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle") \
	X(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state") \
	X(CUDA_ERROR_NOT_FOUND, "named symbol not found") \
	X(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed") \
	X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "part or all of the requested memory range is already mapped") \
	X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "pointer does not correspond to a registered memory region") \
	X(CUDA_ERROR_NOT_PERMITTED, "operation not permitted") \
	X(CUDA_ERROR_NOT_SUPPORTED, "operation not supported") \
	X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing")

struct error {
	CUresult error;
	const char *name, *text;
};

static const struct error errors[] = {
#define X(error, text) { error, #error, text },
	ERRORS(X)
#undef X
};

static const struct error *find_error(CUresult error)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].error == error)
			return &errors[i];
	return NULL;
}

CUresult cuGetErrorName(CUresult error, const char **name)
{
	const struct error *found = find_error(error);

	*name = found ? found->name : NULL;
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
	const struct error *found = find_error(error);

	*text = found ? found->text : NULL;
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

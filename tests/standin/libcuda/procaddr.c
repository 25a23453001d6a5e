/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns names into pointers: cuGetProcAddress picks the newest variant that is not newer than the requested CUDA
 * version, and the per-thread-stream variant where the flags say so. The pointers are the exported symbols, as with the
 * real driver.
 */
#include <stdbool.h>
#include <string.h>

#include "generic.h"
#include "new_exports.h"
#include "standin.h"

#define PER_THREAD_DEFAULT_STREAM 2ULL

enum { SYMBOL_FOUND = 0, SYMBOL_NOT_FOUND = 1, SYMBOL_VERSION_NOT_SUFFICIENT = 2 };

/* S(name, since CUDA version), V: the symbol has another name, T: and another one for a per-thread
 * default stream */
#define PROCS(S, V, T) \
	S(cuInit, 2000) \
	S(cuDriverGetVersion, 2020) \
	S(cuGetErrorName, 6000) \
	S(cuGetErrorString, 6000) \
	S(cuGetProcAddress, 11030) \
	V(cuGetProcAddress, 12000, cuGetProcAddress_v2) \
	S(cuGetExportTable, 3000) \
	S(cuDeviceGet, 2000) \
	S(cuDeviceGetCount, 2000) \
	S(cuDeviceGetName, 2000) \
	S(cuDeviceGetUuid, 9020) \
	V(cuDeviceGetUuid, 11040, cuDeviceGetUuid_v2) \
	S(cuDeviceGetPCIBusId, 4010) \
	V(cuDeviceTotalMem, 3020, cuDeviceTotalMem_v2) \
	S(cuDeviceGetAttribute, 2000) \
	S(cuCtxCreate, 2000) \
	V(cuCtxCreate, 3020, cuCtxCreate_v2) \
	V(cuCtxCreate, 11040, cuCtxCreate_v3) \
	S(cuCtxDestroy, 2000) \
	V(cuCtxDestroy, 4000, cuCtxDestroy_v2) \
	S(cuCtxDetach, 2000) \
	S(cuCtxSetCurrent, 4000) \
	S(cuCtxGetCurrent, 4000) \
	S(cuCtxGetDevice, 2000) \
	S(cuCtxPushCurrent, 2000) \
	V(cuCtxPushCurrent, 4000, cuCtxPushCurrent_v2) \
	S(cuCtxPopCurrent, 2000) \
	V(cuCtxPopCurrent, 4000, cuCtxPopCurrent_v2) \
	S(cuCtxSynchronize, 2000) \
	S(cuCtxSetLimit, 3010) \
	S(cuCtxEnablePeerAccess, 4000) \
	S(cuDevicePrimaryCtxRetain, 7000) \
	S(cuDevicePrimaryCtxRelease, 7000) \
	V(cuDevicePrimaryCtxRelease, 11000, cuDevicePrimaryCtxRelease_v2) \
	S(cuDevicePrimaryCtxReset, 7000) \
	V(cuDevicePrimaryCtxReset, 11000, cuDevicePrimaryCtxReset_v2) \
	S(cuDevicePrimaryCtxGetState, 7000) \
	S(cuMemAlloc, 2000) \
	V(cuMemAlloc, 3020, cuMemAlloc_v2) \
	S(cuMemAllocPitch, 2000) \
	V(cuMemAllocPitch, 3020, cuMemAllocPitch_v2) \
	S(cuMemAllocManaged, 6000) \
	S(cuMemFree, 2000) \
	V(cuMemFree, 3020, cuMemFree_v2) \
	V(cuMemGetAddressRange, 3020, cuMemGetAddressRange_v2) \
	V(cuMemGetInfo, 3020, cuMemGetInfo_v2) \
	S(cuMemHostAlloc, 2020) \
	S(cuMemAllocHost, 2000) \
	V(cuMemAllocHost, 3020, cuMemAllocHost_v2) \
	S(cuMemFreeHost, 2000) \
	S(cuMemHostRegister, 4000) \
	V(cuMemHostRegister, 6050, cuMemHostRegister_v2) \
	S(cuMemHostUnregister, 4000) \
	T(cuMemAllocAsync, 11020, cuMemAllocAsync, cuMemAllocAsync_ptsz) \
	T(cuMemAllocFromPoolAsync, 11020, cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz) \
	T(cuMemFreeAsync, 11020, cuMemFreeAsync, cuMemFreeAsync_ptsz) \
	S(cuMemPoolCreate, 11020) \
	S(cuMemPoolDestroy, 11020) \
	S(cuMemPoolTrimTo, 11020) \
	S(cuMemPoolSetAttribute, 11020) \
	S(cuMemPoolGetAttribute, 11020) \
	S(cuMemPoolSetAccess, 11020) \
	S(cuMemPoolExportToShareableHandle, 11020) \
	S(cuMemPoolImportFromShareableHandle, 11020) \
	S(cuMemPoolExportPointer, 11020) \
	S(cuMemPoolImportPointer, 11020) \
	S(cuDeviceGetDefaultMemPool, 11020) \
	S(cuDeviceGetMemPool, 11020) \
	S(cuDeviceSetMemPool, 11020) \
	S(cuMemAddressReserve, 10020) \
	S(cuMemAddressFree, 10020) \
	S(cuMemCreate, 10020) \
	S(cuMemRelease, 10020) \
	S(cuMemRetainAllocationHandle, 11000) \
	S(cuMemMap, 10020) \
	S(cuMemUnmap, 10020) \
	S(cuMemSetAccess, 10020) \
	S(cuMemGetAllocationGranularity, 10020) \
	S(cuMemGetAllocationPropertiesFromHandle, 10020) \
	S(cuMemExportToShareableHandle, 10020) \
	S(cuMemImportFromShareableHandle, 10020) \
	S(cuMulticastCreate, 12010) \
	S(cuArrayCreate, 2000) \
	V(cuArrayCreate, 3020, cuArrayCreate_v2) \
	S(cuArray3DCreate, 2000) \
	V(cuArray3DCreate, 3020, cuArray3DCreate_v2) \
	S(cuArrayDestroy, 2000) \
	S(cuArrayGetMemoryRequirements, 11060) \
	S(cuMipmappedArrayCreate, 5000) \
	S(cuMipmappedArrayDestroy, 5000) \
	S(cuMipmappedArrayGetMemoryRequirements, 11060) \
	S(cuIpcGetMemHandle, 4010) \
	S(cuIpcOpenMemHandle, 4010) \
	V(cuIpcOpenMemHandle, 11000, cuIpcOpenMemHandle_v2) \
	S(cuIpcCloseMemHandle, 4010) \
	S(cuImportExternalMemory, 10000) \
	S(cuExternalMemoryGetMappedBuffer, 10000) \
	S(cuDestroyExternalMemory, 10000) \
	S(cuGraphCreate, 10000) \
	S(cuGraphDestroy, 10000) \
	S(cuGraphAddMemAllocNode, 11040) \
	S(cuGraphAddMemFreeNode, 11040) \
	S(cuGraphAddNode, 12020) \
	V(cuGraphInstantiate, 11000, cuGraphInstantiate_v2) \
	S(cuGraphInstantiateWithFlags, 11040) \
	T(cuGraphInstantiateWithParams, 12000, cuGraphInstantiateWithParams, cuGraphInstantiateWithParams_ptsz) \
	T(cuGraphUpload, 11010, cuGraphUpload, cuGraphUpload_ptsz) \
	T(cuGraphLaunch, 10000, cuGraphLaunch, cuGraphLaunch_ptsz) \
	S(cuGraphExecDestroy, 10000) \
	S(cuDeviceGraphMemTrim, 11040) \
	S(cuDeviceGetGraphMemAttribute, 11040) \
	T(cuStreamBeginCapture, 10000, cuStreamBeginCapture, cuStreamBeginCapture_ptsz) \
	T(cuStreamBeginCapture, 10010, cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz) \
	T(cuStreamBeginCaptureToGraph, 12030, cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph_ptsz) \
	T(cuStreamEndCapture, 10000, cuStreamEndCapture, cuStreamEndCapture_ptsz) \
	S(cuStreamCreate, 2000) \
	S(cuStreamCreateWithPriority, 5050) \
	S(cuStreamDestroy, 2000) \
	V(cuStreamDestroy, 4000, cuStreamDestroy_v2) \
	T(cuStreamSynchronize, 2000, cuStreamSynchronize, cuStreamSynchronize_ptsz) \
	S(cuLaunchKernel, 4000) \
	S(cuModuleLoad, 2000) \
	S(cuModuleLoadData, 2000) \
	S(cuModuleLoadDataEx, 2010) \
	S(cuModuleLoadFatBinary, 2000) \
	S(cuModuleUnload, 2000) \
	S(cuModuleGetFunction, 2000) \
	S(cuFuncLoad, 12040) \
	S(cuLibraryLoadData, 12000) \
	S(cuLibraryLoadFromFile, 12000) \
	S(cuLibraryUnload, 12000) \
	S(cuLibraryGetModule, 12000)

struct proc {
	const char *name;
	int version;
	void *plain, *per_thread;
};

static const struct proc procs[] = {
#define T(name, version, symbol, per_thread) { #name, version, (void *)symbol, (void *)per_thread },
#define V(name, version, symbol) T(name, version, symbol, symbol)
#define S(name, version) T(name, version, name, name)
	PROCS(S, V, T)
#ifndef STANDIN_OLD_EXPORTS
	PROCS_NEW(S, V, T)
#endif
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
	*pfn = best ? (flags & PER_THREAD_DEFAULT_STREAM ? best->per_thread : best->plain) : generic_entry(name);
	if (status)
		*status = *pfn ? SYMBOL_FOUND : known ? SYMBOL_VERSION_NOT_SUFFICIENT : SYMBOL_NOT_FOUND;
	return *pfn || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, unsigned long long flags)
{
	return find(symbol, pfn, cudaVersion, flags, NULL);
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, unsigned long long flags,
			     int *status)
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
	X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "part of the requested memory is already mapped") \
	X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "pointer is not of a registered memory region") \
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

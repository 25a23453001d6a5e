/* SPDX-License-Identifier: BSD-2-Clause */
/* Prototypes of the driver API, one a row; see cuda_min.h, which includes this. */
#ifndef STANDIN_CUDA_PROTO_H
#define STANDIN_CUDA_PROTO_H

#define CUDA_API __attribute__((visibility("default")))

/* start, devices, errors */
CUDA_API CUresult cuInit(unsigned int flags);
CUDA_API CUresult cuDriverGetVersion(int *version);
CUDA_API CUresult cuGetErrorName(CUresult error, const char **name);
CUDA_API CUresult cuGetErrorString(CUresult error, const char **text);
CUDA_API CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, unsigned long long flags);
CUDA_API CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, unsigned long long
		flags, int *status);
CUDA_API CUresult cuGetExportTable(const void **table, const CUuuid *id);
CUDA_API CUresult cuDeviceGet(CUdevice *dev, int ordinal);
CUDA_API CUresult cuDeviceGetCount(int *count);
CUDA_API CUresult cuDeviceGetName(char *name, int len, CUdevice dev);
CUDA_API CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev);
CUDA_API CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev);
CUDA_API CUresult cuDeviceGetPCIBusId(char *id, int len, CUdevice dev);
CUDA_API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev);
CUDA_API CUresult cuDeviceGetAttribute(int *value, int attr, CUdevice dev);

/* contexts */
CUDA_API CUresult cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev);
CUDA_API CUresult cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev);
CUDA_API CUresult cuCtxCreate_v3(CUcontext *pctx, void *params, int count, unsigned int flags, CUdevice dev);
CUDA_API CUresult cuCtxCreate_v4(CUcontext *pctx, void *params, unsigned int flags, CUdevice dev);
CUDA_API CUresult cuCtxDestroy(CUcontext ctx);
CUDA_API CUresult cuCtxDestroy_v2(CUcontext ctx);
CUDA_API CUresult cuCtxAttach(CUcontext *pctx, unsigned int flags);
CUDA_API CUresult cuCtxDetach(CUcontext ctx);
CUDA_API CUresult cuGLCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev);
CUDA_API CUresult cuCtxSetCurrent(CUcontext ctx);
CUDA_API CUresult cuCtxGetCurrent(CUcontext *pctx);
CUDA_API CUresult cuCtxGetDevice(CUdevice *dev);
CUDA_API CUresult cuCtxPushCurrent(CUcontext ctx);
CUDA_API CUresult cuCtxPushCurrent_v2(CUcontext ctx);
CUDA_API CUresult cuCtxPopCurrent(CUcontext *pctx);
CUDA_API CUresult cuCtxPopCurrent_v2(CUcontext *pctx);
CUDA_API CUresult cuCtxSynchronize(void);
CUDA_API CUresult cuCtxSetLimit(int limit, size_t value);
CUDA_API CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags);
CUDA_API CUresult cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev);
CUDA_API CUresult cuDevicePrimaryCtxRelease(CUdevice dev);
CUDA_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev);
CUDA_API CUresult cuDevicePrimaryCtxReset(CUdevice dev);
CUDA_API CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev);
CUDA_API CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active);
CUDA_API CUresult cuGreenCtxCreate(CUgreenCtx *pctx, CUdevResourceDesc desc, CUdevice dev, unsigned int
		flags);
CUDA_API CUresult cuGreenCtxDestroy(CUgreenCtx ctx);
CUDA_API CUresult cuCtxFromGreenCtx(CUcontext *pctx, CUgreenCtx green);
CUDA_API CUresult cuGreenCtxStreamCreate(CUstream *stream, CUgreenCtx green, unsigned int flags, int
		priority);

/* device memory */
CUDA_API CUresult cuMemAlloc(CUdeviceptr_v1 *dptr, unsigned int bytes);
CUDA_API CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytes);
CUDA_API CUresult cuMemAllocPitch(CUdeviceptr_v1 *dptr, unsigned int *pitch, unsigned int width, unsigned
		int height, unsigned int element);
CUDA_API CUresult cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pitch, size_t width, size_t height, unsigned
		int element);
CUDA_API CUresult cuMemAllocManaged(CUdeviceptr *dptr, size_t bytes, unsigned int flags);
CUDA_API CUresult cuMemFree(CUdeviceptr_v1 dptr);
CUDA_API CUresult cuMemFree_v2(CUdeviceptr dptr);
CUDA_API CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr dptr);
CUDA_API CUresult cuMemGetInfo_v2(size_t *free, size_t *total);

/* host memory */
CUDA_API CUresult cuMemHostAlloc(void **pp, size_t bytes, unsigned int flags);
CUDA_API CUresult cuMemAllocHost(void **pp, unsigned int bytes);
CUDA_API CUresult cuMemAllocHost_v2(void **pp, size_t bytes);
CUDA_API CUresult cuMemFreeHost(void *p);
CUDA_API CUresult cuMemHostRegister(void *p, size_t bytes, unsigned int flags);
CUDA_API CUresult cuMemHostRegister_v2(void *p, size_t bytes, unsigned int flags);
CUDA_API CUresult cuMemHostUnregister(void *p);

/* stream-ordered memory and pools */
CUDA_API CUresult cuMemAllocAsync(CUdeviceptr *dptr, size_t bytes, CUstream stream);
CUDA_API CUresult cuMemAllocAsync_ptsz(CUdeviceptr *dptr, size_t bytes, CUstream stream);
CUDA_API CUresult cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytes, CUmemoryPool pool, CUstream
		stream);
CUDA_API CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *dptr, size_t bytes, CUmemoryPool pool, CUstream
		stream);
CUDA_API CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream stream);
CUDA_API CUresult cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream stream);
CUDA_API CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props);
CUDA_API CUresult cuMemPoolDestroy(CUmemoryPool pool);
CUDA_API CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep);
CUDA_API CUresult cuMemPoolSetAttribute(CUmemoryPool pool, int attr, void *value);
CUDA_API CUresult cuMemPoolGetAttribute(CUmemoryPool pool, int attr, void *value);
CUDA_API CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count);
CUDA_API CUresult cuMemPoolExportToShareableHandle(void *handle, CUmemoryPool pool, int type, unsigned long
		long flags);
CUDA_API CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *pool, void *handle, int type, unsigned
		long long flags);
CUDA_API CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *data, CUdeviceptr ptr);
CUDA_API CUresult cuMemPoolImportPointer(CUdeviceptr *ptr, CUmemoryPool pool, CUmemPoolPtrExportData *data);
CUDA_API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice dev);
CUDA_API CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev);
CUDA_API CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool);
CUDA_API CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location, int type);
CUDA_API CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, int type);
CUDA_API CUresult cuMemSetMemPool(CUmemLocation *location, int type, CUmemoryPool pool);

/* virtual memory management */
CUDA_API CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
		unsigned long long flags);
CUDA_API CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size);
CUDA_API CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp
		*prop, unsigned long long flags);
CUDA_API CUresult cuMemRelease(CUmemGenericAllocationHandle handle);
CUDA_API CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr);
CUDA_API CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
		unsigned long long flags);
CUDA_API CUresult cuMemUnmap(CUdeviceptr ptr, size_t size);
CUDA_API CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count);
CUDA_API CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop, int
		option);
CUDA_API CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
		CUmemGenericAllocationHandle handle);
CUDA_API CUresult cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle, int type,
		unsigned long long flags);
CUDA_API CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *os_handle, int
		type);
CUDA_API CUresult cuMulticastCreate(CUmemGenericAllocationHandle *handle, const CUmulticastObjectProp *prop);
CUDA_API CUresult cuMulticastBindMem(CUmemGenericAllocationHandle multicast, size_t offset,
		CUmemGenericAllocationHandle handle, size_t at, size_t size, unsigned long long flags);
CUDA_API CUresult cuMulticastBindMem_v2(CUmemGenericAllocationHandle multicast, CUdevice dev, size_t offset,
		CUmemGenericAllocationHandle handle, size_t at, size_t size, unsigned long long flags);
CUDA_API CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle multicast, size_t offset, CUdeviceptr ptr, size_t
		size, unsigned long long flags);
CUDA_API CUresult cuMulticastBindAddr_v2(CUmemGenericAllocationHandle multicast, CUdevice dev, size_t offset,
		CUdeviceptr ptr, size_t size, unsigned long long flags);
CUDA_API CUresult cuMulticastUnbind(CUmemGenericAllocationHandle multicast, CUdevice dev, size_t offset, size_t
		size);
CUDA_API CUresult cuLogicalEndpointBindMem(CUlogicalEndpointId endpoint, CUdevice dev, uint64_t offset,
		CUmemGenericAllocationHandle handle, uint64_t at, uint64_t size, unsigned long long flags);
CUDA_API CUresult cuLogicalEndpointBindAddr(CUlogicalEndpointId endpoint, CUdevice dev, uint64_t offset, void *ptr,
		uint64_t size, unsigned long long flags);
CUDA_API CUresult cuLogicalEndpointUnbind(CUlogicalEndpointId endpoint, CUdevice dev, uint64_t offset, uint64_t
		size);
CUDA_API CUresult cuLogicalEndpointDestroy(CUlogicalEndpointId endpoint);

/* arrays */
CUDA_API CUresult cuMemMapArrayAsync(CUarrayMapInfo *list, unsigned int count, CUstream stream);
CUDA_API CUresult cuArrayCreate(CUarray *array, const CUDA_ARRAY_DESCRIPTOR_v1 *desc);
CUDA_API CUresult cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *desc);
CUDA_API CUresult cuArray3DCreate(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR_v1 *desc);
CUDA_API CUresult cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc);
CUDA_API CUresult cuArrayDestroy(CUarray array);
CUDA_API CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *req, CUarray array, CUdevice
		dev);
CUDA_API CUresult cuMipmappedArrayCreate(CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc,
		unsigned int levels);
CUDA_API CUresult cuMipmappedArrayDestroy(CUmipmappedArray array);
CUDA_API CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *req,
		CUmipmappedArray array, CUdevice dev);

/* memory of others */
CUDA_API CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr dptr);
CUDA_API CUresult cuIpcOpenMemHandle(CUdeviceptr *dptr, CUipcMemHandle handle, unsigned int flags);
CUDA_API CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *dptr, CUipcMemHandle handle, unsigned int flags);
CUDA_API CUresult cuIpcCloseMemHandle(CUdeviceptr dptr);
CUDA_API CUresult cuImportExternalMemory(CUexternalMemory *ext, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc);
CUDA_API CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr *dptr, CUexternalMemory ext, const
		CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc);
CUDA_API CUresult cuExternalMemoryGetMappedMipmappedArray(CUmipmappedArray *array, CUexternalMemory ext,
		const void *desc);
CUDA_API CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr dptr, size_t size, int type,
		unsigned long long flags);
CUDA_API CUresult cuDestroyExternalMemory(CUexternalMemory ext);

/* checkpoints */
CUDA_API CUresult cuCheckpointProcessLock(int pid, void *args);
CUDA_API CUresult cuCheckpointProcessCheckpoint(int pid, void *args);
CUDA_API CUresult cuCheckpointProcessRestore(int pid, void *args);
CUDA_API CUresult cuCheckpointProcessUnlock(int pid, void *args);

/* graphs */
CUDA_API CUresult cuGraphCreate(CUgraph *graph, unsigned int flags);
CUDA_API CUresult cuGraphDestroy(CUgraph graph);
CUDA_API CUresult cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t
		count, CUDA_MEM_ALLOC_NODE_PARAMS *params);
CUDA_API CUresult cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t
		count, CUdeviceptr dptr);
CUDA_API CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count,
		CUgraphNodeParams *params);
CUDA_API CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, const
		CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *params);
CUDA_API CUresult cuGraphAddNode_v3(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, const
		CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *params);
CUDA_API CUresult cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *error, char *log,
		size_t size);
CUDA_API CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *error, char *log,
		size_t size);
CUDA_API CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags);
CUDA_API CUresult cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph,
		CUDA_GRAPH_INSTANTIATE_PARAMS *params);
CUDA_API CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *exec, CUgraph graph,
		CUDA_GRAPH_INSTANTIATE_PARAMS *params);
CUDA_API CUresult cuGraphUpload(CUgraphExec exec, CUstream stream);
CUDA_API CUresult cuGraphUpload_ptsz(CUgraphExec exec, CUstream stream);
CUDA_API CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream);
CUDA_API CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream);
CUDA_API CUresult cuGraphExecDestroy(CUgraphExec exec);
CUDA_API CUresult cuDeviceGraphMemTrim(CUdevice dev);
CUDA_API CUresult cuDeviceGetGraphMemAttribute(CUdevice dev, int attr, void *value);
CUDA_API CUresult cuStreamBeginCapture(CUstream stream);
CUDA_API CUresult cuStreamBeginCapture_ptsz(CUstream stream);
CUDA_API CUresult cuStreamBeginCapture_v2(CUstream stream, int mode);
CUDA_API CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, int mode);
CUDA_API CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *deps, const
		CUgraphEdgeData *edges, size_t count, int mode);
CUDA_API CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph, const CUgraphNode *deps,
		const CUgraphEdgeData *edges, size_t count, int mode);
CUDA_API CUresult cuStreamBeginRecaptureToGraph(CUstream stream, int mode, CUgraph graph, void *callback, void
		*data);
CUDA_API CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph);
CUDA_API CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph *graph);

/* streams, events, work */
CUDA_API CUresult cuStreamCreate(CUstream *stream, unsigned int flags);
CUDA_API CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority);
CUDA_API CUresult cuStreamDestroy(CUstream stream);
CUDA_API CUresult cuStreamDestroy_v2(CUstream stream);
CUDA_API CUresult cuStreamSynchronize(CUstream stream);
CUDA_API CUresult cuStreamSynchronize_ptsz(CUstream stream);
CUDA_API CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned
		int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params, void
		**extra);

/* modules */
CUDA_API CUresult cuModuleLoad(CUmodule *module, const char *name);
CUDA_API CUresult cuModuleLoadData(CUmodule *module, const void *image);
CUDA_API CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count, int *options,
		void **values);
CUDA_API CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image);
CUDA_API CUresult cuModuleUnload(CUmodule module);
CUDA_API CUresult cuModuleGetFunction(CUfunction *f, CUmodule module, const char *name);
CUDA_API CUresult cuFuncLoad(CUfunction f);
CUDA_API CUresult cuLibraryLoadData(CUlibrary *library, const void *code, int *jit, void **jit_values,
		unsigned int jit_count, int *options, void **values, unsigned int count);
CUDA_API CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *name, int *jit, void **jit_values,
		unsigned int jit_count, int *options, void **values, unsigned int count);
CUDA_API CUresult cuLibraryUnload(CUlibrary library);
CUDA_API CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library);

/* Of the stand-in alone: bytes of video memory this process holds, by NVML index. */
CUDA_API uint64_t standin_used(int nvml_index);

#endif

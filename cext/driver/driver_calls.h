/* driver/driver_calls: the list of CUDA driver calls that numbalite makes.
 *
 * X(name, version, (parameters), (arguments))
 * `name` lacks the prefix "cu". `version` is the CUDA version (1000*major + 10*minor) of the
 * signature, which is passed to cuGetProcAddress. If the driver is older, the call is a stub that
 * returns CUDA_ERROR_NOT_SUPPORTED. All calls return CUresult. */
#ifndef NL_DRIVER_CALLS_H
#define NL_DRIVER_CALLS_H

#include "driver/cuda_abi.h"

#define NL_DRIVER_CALLS(X) \
    X(Init, 2000, (unsigned flags), (flags)) \
    X(DriverGetVersion, 2020, (int *version), (version)) \
    X(GetErrorName, 6000, (CUresult code, const char **text), (code, text)) \
    X(GetErrorString, 6000, (CUresult code, const char **text), (code, text)) \
    /* devices and contexts */ \
    X(DeviceGetCount, 2000, (int *count), (count)) \
    X(DeviceGet, 2000, (CUdevice * device, int ordinal), (device, ordinal)) \
    X(DeviceGetName, 2000, (char *name, int size, CUdevice device), (name, size, device)) \
    X(DeviceGetUuid, 11040, (CUuuid * uuid, CUdevice device), (uuid, device)) \
    X(DeviceTotalMem, 3020, (size_t * bytes, CUdevice device), (bytes, device)) \
    X(DeviceGetAttribute, 2000, (int *value, int attribute, CUdevice device), \
      (value, attribute, device)) \
    X(DeviceGetPCIBusId, 4010, (char *text, int size, CUdevice device), (text, size, device)) \
    X(DeviceCanAccessPeer, 4000, (int *can, CUdevice device, CUdevice peer), (can, device, peer)) \
    X(DevicePrimaryCtxRetain, 7000, (CUcontext * context, CUdevice device), (context, device)) \
    X(DevicePrimaryCtxRelease, 11000, (CUdevice device), (device)) \
    X(DevicePrimaryCtxReset, 11000, (CUdevice device), (device)) \
    X(DevicePrimaryCtxGetState, 7000, (CUdevice device, unsigned *flags, int *active), \
      (device, flags, active)) \
    X(CtxGetCurrent, 4000, (CUcontext * context), (context)) \
    X(CtxSetCurrent, 4000, (CUcontext context), (context)) \
    X(CtxSynchronize, 2000, (void), ()) \
    X(CtxEnablePeerAccess, 4000, (CUcontext peer, unsigned flags), (peer, flags)) \
    X(CtxGetStreamPriorityRange, 5050, (int *least, int *greatest), (least, greatest)) \
    X(CtxGetLimit, 3010, (size_t * value, int limit), (value, limit)) \
    X(CtxSetLimit, 3010, (int limit, size_t value), (limit, value)) \
    /* memory */ \
    X(MemGetInfo, 3020, (size_t * free, size_t * total), (free, total)) \
    X(MemAlloc, 3020, (CUdeviceptr * pointer, size_t size), (pointer, size)) \
    X(MemFree, 3020, (CUdeviceptr pointer), (pointer)) \
    X(MemAllocAsync, 11020, (CUdeviceptr * pointer, size_t size, CUstream stream), \
      (pointer, size, stream)) \
    X(MemFreeAsync, 11020, (CUdeviceptr pointer, CUstream stream), (pointer, stream)) \
    X(DeviceGetDefaultMemPool, 11020, (CUmemoryPool * pool, CUdevice device), (pool, device)) \
    X(MemPoolSetAttribute, 11020, (CUmemoryPool pool, int attribute, void *value), \
      (pool, attribute, value)) \
    X(MemPoolGetAttribute, 11020, (CUmemoryPool pool, int attribute, void *value), \
      (pool, attribute, value)) \
    X(MemPoolSetAccess, 11020, (CUmemoryPool pool, const CUmemAccessDesc *access, size_t count), \
      (pool, access, count)) \
    X(MemPoolTrimTo, 11020, (CUmemoryPool pool, size_t keep), (pool, keep)) \
    X(MemHostAlloc, 2020, (void **pointer, size_t size, unsigned flags), (pointer, size, flags)) \
    X(MemFreeHost, 2000, (void *pointer), (pointer)) \
    X(MemHostRegister, 6050, (void *pointer, size_t size, unsigned flags), (pointer, size, flags)) \
    X(MemHostUnregister, 4000, (void *pointer), (pointer)) \
    X(MemHostGetDevicePointer, 3020, (CUdeviceptr * device, void *host, unsigned flags), \
      (device, host, flags)) \
    X(MemAllocManaged, 6000, (CUdeviceptr * pointer, size_t size, unsigned flags), \
      (pointer, size, flags)) \
    X(MemPrefetchAsync, 8000, \
      (CUdeviceptr pointer, size_t size, CUdevice device, CUstream stream), \
      (pointer, size, device, stream)) \
    X(MemAdvise, 8000, (CUdeviceptr pointer, size_t size, int advice, CUdevice device), \
      (pointer, size, advice, device)) \
    X(MemGetAddressRange, 3020, (CUdeviceptr * base, size_t * size, CUdeviceptr pointer), \
      (base, size, pointer)) \
    X(IpcGetMemHandle, 4010, (CUipcMemHandle * handle, CUdeviceptr pointer), (handle, pointer)) \
    X(IpcOpenMemHandle, 11000, (CUdeviceptr * pointer, CUipcMemHandle handle, unsigned flags), \
      (pointer, handle, flags)) \
    X(IpcCloseMemHandle, 4010, (CUdeviceptr pointer), (pointer)) \
    X(PointerGetAttributes, 7000, \
      (unsigned count, int *attributes, void **values, CUdeviceptr pointer), \
      (count, attributes, values, pointer)) \
    X(MemcpyHtoD, 3020, (CUdeviceptr to, const void *from, size_t size), (to, from, size)) \
    X(MemcpyDtoH, 3020, (void *to, CUdeviceptr from, size_t size), (to, from, size)) \
    X(MemcpyDtoD, 3020, (CUdeviceptr to, CUdeviceptr from, size_t size), (to, from, size)) \
    X(MemcpyHtoDAsync, 3020, (CUdeviceptr to, const void *from, size_t size, CUstream stream), \
      (to, from, size, stream)) \
    X(MemcpyDtoHAsync, 3020, (void *to, CUdeviceptr from, size_t size, CUstream stream), \
      (to, from, size, stream)) \
    X(MemcpyDtoDAsync, 3020, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream), \
      (to, from, size, stream)) \
    X(MemcpyPeerAsync, 4000, \
      (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, \
       size_t size, CUstream stream), \
      (to, to_context, from, from_context, size, stream)) \
    X(Memcpy3DAsync, 3020, (const CUDA_MEMCPY3D *copy, CUstream stream), (copy, stream)) \
    X(MemsetD8Async, 3020, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream), \
      (to, value, count, stream)) \
    X(MemsetD16Async, 3020, (CUdeviceptr to, unsigned short value, size_t count, CUstream stream), \
      (to, value, count, stream)) \
    X(MemsetD32Async, 3020, (CUdeviceptr to, unsigned value, size_t count, CUstream stream), \
      (to, value, count, stream)) \
    /* arrays, textures and surfaces */ \
    X(Array3DCreate, 3020, (CUarray * array, const CUDA_ARRAY3D_DESCRIPTOR *shape), \
      (array, shape)) \
    X(ArrayDestroy, 2000, (CUarray array), (array)) \
    X(TexObjectCreate, 5000, \
      (CUtexObject * texture, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *how, \
       const CUDA_RESOURCE_VIEW_DESC *view), \
      (texture, resource, how, view)) \
    X(TexObjectDestroy, 5000, (CUtexObject texture), (texture)) \
    X(SurfObjectCreate, 5000, (CUsurfObject * surface, const CUDA_RESOURCE_DESC *resource), \
      (surface, resource)) \
    X(SurfObjectDestroy, 5000, (CUsurfObject surface), (surface)) \
    /* streams and events */ \
    X(StreamCreateWithPriority, 5050, (CUstream * stream, unsigned flags, int priority), \
      (stream, flags, priority)) \
    X(StreamDestroy, 4000, (CUstream stream), (stream)) \
    X(StreamSynchronize, 2000, (CUstream stream), (stream)) \
    X(StreamQuery, 2000, (CUstream stream), (stream)) \
    X(StreamGetFlags, 5050, (CUstream stream, unsigned *flags), (stream, flags)) \
    X(StreamGetPriority, 5050, (CUstream stream, int *priority), (stream, priority)) \
    X(StreamGetCtx, 9020, (CUstream stream, CUcontext * context), (stream, context)) \
    X(StreamWaitEvent, 3020, (CUstream stream, CUevent event, unsigned flags), \
      (stream, event, flags)) \
    X(StreamIsCapturing, 10000, (CUstream stream, int *status), (stream, status)) \
    X(LaunchHostFunc, 10000, (CUstream stream, CUhostFn function, void *data), \
      (stream, function, data)) \
    /* stream capture and graphs */ \
    X(StreamBeginCapture, 10010, (CUstream stream, int mode), (stream, mode)) \
    X(ThreadExchangeStreamCaptureMode, 10010, (int *mode), (mode)) \
    X(StreamEndCapture, 10000, (CUstream stream, CUgraph * graph), (stream, graph)) \
    X(StreamGetCaptureInfo, 11030, \
      (CUstream stream, int *status, unsigned long long *id, CUgraph *graph, \
       const CUgraphNode **nodes, size_t *count), \
      (stream, status, id, graph, nodes, count)) \
    X(GraphInstantiateWithFlags, 11040, \
      (CUgraphExec * exec, CUgraph graph, unsigned long long flags), (exec, graph, flags)) \
    X(GraphExecKernelNodeSetParams, 10010, \
      (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params), \
      (exec, node, params)) \
    X(GraphUpload, 11010, (CUgraphExec exec, CUstream stream), (exec, stream)) \
    X(GraphLaunch, 10000, (CUgraphExec exec, CUstream stream), (exec, stream)) \
    X(GraphExecDestroy, 10000, (CUgraphExec exec), (exec)) \
    X(GraphDestroy, 10000, (CUgraph graph), (graph)) \
    X(EventCreate, 2000, (CUevent * event, unsigned flags), (event, flags)) \
    X(EventDestroy, 4000, (CUevent event), (event)) \
    X(EventRecord, 2000, (CUevent event, CUstream stream), (event, stream)) \
    X(EventQuery, 2000, (CUevent event), (event)) \
    X(EventSynchronize, 2000, (CUevent event), (event)) \
    X(EventElapsedTime, 2000, (float *milliseconds, CUevent start, CUevent end), \
      (milliseconds, start, end)) \
    /* modules and kernels */ \
    X(ModuleLoadDataEx, 2010, \
      (CUmodule * module, const void *image, unsigned count, int *options, void **values), \
      (module, image, count, options, values)) \
    X(ModuleUnload, 2000, (CUmodule module), (module)) \
    X(ModuleGetFunction, 2000, (CUfunction * function, CUmodule module, const char *name), \
      (function, module, name)) \
    X(ModuleGetGlobal, 3020, \
      (CUdeviceptr * pointer, size_t * size, CUmodule module, const char *name), \
      (pointer, size, module, name)) \
    X(FuncGetAttribute, 2020, (int *value, int attribute, CUfunction function), \
      (value, attribute, function)) \
    X(FuncSetAttribute, 9000, (CUfunction function, int attribute, int value), \
      (function, attribute, value)) \
    X(FuncGetParamInfo, 12040, \
      (CUfunction function, size_t index, size_t * offset, size_t * size), \
      (function, index, offset, size)) \
    X(FuncGetName, 12030, (const char **name, CUfunction function), (name, function)) \
    X(FuncGetParamCount, 13020, (CUfunction function, size_t * count), (function, count)) \
    X(LaunchKernel, 4000, \
      (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
       unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **params, \
       void **extra), \
      (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, params, \
       extra)) \
    X(LaunchKernelEx, 11060, \
      (const CUlaunchConfig *config, CUfunction function, void **params, void **extra), \
      (config, function, params, extra)) \
    X(LaunchCooperativeKernel, 9000, \
      (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
       unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **params), \
      (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, params)) \
    X(OccupancyMaxActiveBlocksPerMultiprocessor, 6050, \
      (int *blocks, CUfunction function, int block_size, size_t shared), \
      (blocks, function, block_size, shared)) \
    X(OccupancyMaxPotentialBlockSize, 6050, \
      (int *min_grid, int *block, CUfunction function, CUoccupancyB2DSize shared_of_block, \
       size_t shared, int limit), \
      (min_grid, block, function, shared_of_block, shared, limit)) \
    X(ProfilerStart, 4000, (void), ()) \
    X(ProfilerStop, 4000, (void), ())

#endif

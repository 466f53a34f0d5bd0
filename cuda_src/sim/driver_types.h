/* sim/driver_types: the runtime's types that NVRTC declares without an include, and the runtime
 * functions for kernels that launch kernels (nested.h). Sources that are shared with host programs
 * use more names. */
#ifndef NUMBALITE_SIM_DRIVER_TYPES_H
#define NUMBALITE_SIM_DRIVER_TYPES_H

enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInitializationError = 3,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidDevice = 101,
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700,
    cudaErrorLaunchOutOfResources = 701,
    cudaErrorLaunchTimeout = 702,
    cudaErrorAssert = 710,
    cudaErrorLaunchFailure = 719,
    cudaErrorNotSupported = 801,
    cudaErrorUnknown = 999
};
typedef enum cudaError cudaError_t;
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
/* Types whose objects only the host creates; sources declare pointers to them. */
struct cudaArray;
struct cudaMipmappedArray;
struct cudaResourceDesc;
struct cudaTextureDesc;
struct cudaMemcpy3DParms;
struct cudaDeviceProp;
struct cudaFuncAttributes;
struct cudaPointerAttributes;
typedef struct cudaArray *cudaArray_t;
typedef const struct cudaArray *cudaArray_const_t;
typedef struct cudaMipmappedArray *cudaMipmappedArray_t;
typedef const struct cudaMipmappedArray *cudaMipmappedArray_const_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
typedef struct CUgraphNode_st *cudaGraphNode_t;
typedef struct CUmemPoolHandle_st *cudaMemPool_t;
typedef struct CUfunc_st *cudaFunction_t;
typedef struct CUkern_st *cudaKernel_t;
typedef void (*cudaHostFn_t)(void *);
typedef struct cudaLaunchAttribute_st cudaLaunchAttribute;
typedef struct cudaLaunchConfig_st {
    dim3 nl_grid, nl_block; /* gridDim and blockDim are macros here (builtins.h) */
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned int numAttrs;
} cudaLaunchConfig_t;
enum cudaDeviceAttr : unsigned int;
enum cudaFuncAttribute : unsigned int;
enum cudaLimit : unsigned int;
enum cudaChannelFormatKind {
    cudaChannelFormatKindSigned,
    cudaChannelFormatKindUnsigned,
    cudaChannelFormatKindFloat,
    cudaChannelFormatKindNone
};
struct cudaChannelFormatDesc {
    int x, y, z, w;
    enum cudaChannelFormatKind f;
};
enum cudaSharedMemConfig {
    cudaSharedMemBankSizeDefault,
    cudaSharedMemBankSizeFourByte,
    cudaSharedMemBankSizeEightByte
};
#define cudaStreamDefault 0x00
#define cudaStreamNonBlocking 0x01
#define cudaStreamTailLaunch (reinterpret_cast<cudaStream_t>(3ULL))
#define cudaStreamFireAndForget (reinterpret_cast<cudaStream_t>(4ULL))
typedef unsigned long long CUtexObject;
typedef unsigned long long CUsurfObject;
typedef unsigned long long CUdeviceptr;
enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
enum cudaAccessProperty {
    cudaAccessPropertyNormal,
    cudaAccessPropertyStreaming,
    cudaAccessPropertyPersisting,
};

struct cudaExtent {
    size_t width, height, depth;
};
struct cudaPos {
    size_t x, y, z;
};
struct cudaPitchedPtr {
    void *ptr;
    size_t pitch, xsize, ysize;
};

/* An invalid launch is a fault that reports its line, so cudaGetLastError and cudaPeekAtLastError
 * never return an error. */
NUMBALITE_SIM_YIELDING cudaError_t cudaGetLastError() {
    return cudaSuccess;
}
NUMBALITE_SIM_YIELDING cudaError_t cudaPeekAtLastError() {
    return cudaSuccess;
}
/* Grids run in the order of their launches, whatever the stream. */
NUMBALITE_SIM_YIELDING cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
    *stream = reinterpret_cast<cudaStream_t>(16ULL);
    return cudaSuccess;
}
NUMBALITE_SIM_YIELDING cudaError_t cudaStreamDestroy(cudaStream_t) {
    return cudaSuccess;
}
#ifndef NUMBALITE_HOST
NUMBALITE_SIM_YIELDING cudaError_t cudaMalloc(void **pointer, size_t size) {
    *pointer = numbalite_sim::ops->malloc(size);
    return *pointer ? cudaSuccess : cudaErrorMemoryAllocation;
}
NUMBALITE_SIM_YIELDING cudaError_t cudaFree(void *pointer) {
    numbalite_sim::ops->free(pointer);
    return cudaSuccess;
}
template <int = 0>
NUMBALITE_SIM_CANNOT(
    "cudaDeviceSynchronize does not exist in kernels since CUDA 12: "
    "a grid cannot wait for its launches; "
    "launch later work into cudaStreamTailLaunch")
cudaError_t cudaDeviceSynchronize();
#endif

#endif

/* A driver that does nothing. With this driver, the time of a call is the host's part (host.py).
 *
 * The driver implements every call that numbalite makes; device memory is host memory, and copies are
 * executed, so that elements can be read. The library also implements cuFFT and cuBLAS. Built by cc
 * -O2 -shared -fPIC -Icext idle.c -o libcuda.so.1 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "driver/cublas_calls.h"
#include "driver/driver_calls.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Includes all calls, if no filter is defined. */
#define IDLE(name, version, parameters, arguments) \
    static CUresult idle_##name parameters { \
        return CUDA_SUCCESS; \
    }
NL_DRIVER_CALLS(IDLE)

static void *memory_at(CUdeviceptr address) {
    return (void *)(uintptr_t)address;
}

static int make_handle(void *out) {
    static uintptr_t last = 4096;
    last += 16;
    memcpy(out, &last, sizeof last);
    return 0;
}

/* ---- what is asked ---- */

static CUresult describe_error(CUresult code, const char **text) {
    *text = "an error of the idle driver";
    return CUDA_SUCCESS;
}

static CUresult get_driver_version(int *out) {
    *out = 13000;
    return CUDA_SUCCESS;
}

static CUresult count_devices(int *out) {
    *out = 1;
    return CUDA_SUCCESS;
}

static CUresult get_device(CUdevice *out, int ordinal) {
    *out = ordinal;
    return CUDA_SUCCESS;
}

static CUresult get_device_text(char *out, int size, CUdevice device) {
    snprintf(out, (size_t)size, "idle");
    return CUDA_SUCCESS;
}

static CUresult get_total_memory(size_t *out, CUdevice device) {
    *out = (size_t)80 << 30;
    return CUDA_SUCCESS;
}

/* Attributes of an H100 that decide which kernel is launched, by the numbers of CUdevice_attribute.
 */
static CUresult get_device_attribute(int *out, int which, CUdevice device) {
    static const struct {
        int which, value;
    } attributes[] = {{1, 1024},    {2, 1024},      {3, 1024},    {4, 64},   {5, 2147483647},
                      {6, 65535},   {7, 65535},     {8, 49152},   {10, 32},  {12, 65536},
                      {16, 132},    {38, 50 << 20}, {39, 2048},   {75, 9},   {76, 0},
                      {81, 233472}, {82, 65536},    {97, 232448}, {106, 32}, {111, 1024}};
    *out = 1;
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (attributes[i].which == which)
            *out = attributes[i].value;
    return CUDA_SUCCESS;
}

static _Thread_local CUcontext bound;

static CUresult retain_context(CUcontext *out, CUdevice device) {
    return make_handle(out);
}

static CUresult get_current_context(CUcontext *out) {
    *out = bound;
    return CUDA_SUCCESS;
}

static CUresult set_current_context(CUcontext context) {
    bound = context;
    return CUDA_SUCCESS;
}

static CUresult get_priority_range(int *least, int *greatest) {
    *least = 0;
    *greatest = -5;
    return CUDA_SUCCESS;
}

static CUresult get_limit(size_t *out, int which) {
    *out = 1024;
    return CUDA_SUCCESS;
}

static CUresult get_free_memory(size_t *available, size_t *total) {
    *available = *total = (size_t)80 << 30;
    return CUDA_SUCCESS;
}

static CUresult allocate_memory(CUdeviceptr *out, size_t size) {
    enum { ALIGNMENT = 512 };
    void *memory = aligned_alloc(ALIGNMENT, (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    *out = (CUdeviceptr)(uintptr_t)memory;
    if (memory)
        memset(memory, 0, size);
    return memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult allocate_async(CUdeviceptr *out, size_t size, CUstream stream) {
    return allocate_memory(out, size);
}

static CUresult release_memory(CUdeviceptr address) {
    free(memory_at(address));
    return CUDA_SUCCESS;
}

static CUresult release_async(CUdeviceptr address, CUstream stream) {
    return release_memory(address);
}

static CUresult allocate_host(void **out, size_t size, unsigned flags) {
    CUdeviceptr address;
    CUresult status = allocate_memory(&address, size);
    *out = memory_at(address);
    return status;
}

static CUresult release_host(void *memory) {
    free(memory);
    return CUDA_SUCCESS;
}

static CUresult get_device_address(CUdeviceptr *out, void *host, unsigned flags) {
    *out = (CUdeviceptr)(uintptr_t)host;
    return CUDA_SUCCESS;
}

static CUresult get_default_pool(CUmemoryPool *out, CUdevice device) {
    return make_handle(out);
}

static CUresult copy_to_device(CUdeviceptr to, const void *from, size_t size) {
    memcpy(memory_at(to), from, size);
    return CUDA_SUCCESS;
}

static CUresult copy_to_host(void *to, CUdeviceptr from, size_t size) {
    memcpy(to, memory_at(from), size);
    return CUDA_SUCCESS;
}

static CUresult copy_to_device_async(CUdeviceptr to, const void *from, size_t size,
                                     CUstream stream) {
    return copy_to_device(to, from, size);
}

static CUresult copy_to_host_async(void *to, CUdeviceptr from, size_t size, CUstream stream) {
    return copy_to_host(to, from, size);
}

static CUresult get_pointer_attributes(unsigned count, int *which, void **values,
                                       CUdeviceptr address) {
    for (unsigned i = 0; i < count; i++)
        memset(values[i], 0, sizeof(int));
    return CUDA_SUCCESS;
}

static CUresult create_stream(CUstream *out, unsigned flags, int priority) {
    return make_handle(out);
}

static CUresult get_stream_flags(CUstream stream, unsigned *out) {
    *out = 0;
    return CUDA_SUCCESS;
}

static CUresult is_capturing(CUstream stream, int *out) {
    *out = 0;
    return CUDA_SUCCESS;
}

static CUresult create_event(CUevent *out, unsigned flags) {
    return make_handle(out);
}

static CUresult get_elapsed_time(float *out, CUevent start, CUevent end) {
    *out = 1;
    return CUDA_SUCCESS;
}

static CUresult load_module(CUmodule *out, const void *image, unsigned count, int *options,
                            void **values) {
    return make_handle(out);
}

static CUresult find_function(CUfunction *out, CUmodule module, const char *name) {
    return make_handle(out);
}

static CUresult find_no_variable(CUdeviceptr *out, size_t *size, CUmodule module,
                                 const char *name) {
    return CUDA_ERROR_NOT_FOUND;
}

static CUresult get_function_attribute(int *out, int which, CUfunction function) {
    *out = which == 0 ? 1024 : 0; /* threads of a block */
    return CUDA_SUCCESS;
}

/* The parameters are not compared with the parameters of the source. */
static CUresult refuse_parameter(CUfunction function, size_t index, size_t *offset, size_t *size) {
    return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult get_function_name(const char **name, CUfunction function) {
    *name = "nl_idle";
    return CUDA_SUCCESS;
}

static CUresult refuse_parameter_count(CUfunction function, size_t *count) {
    return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult count_active_blocks(int *out, CUfunction function, int threads, size_t shared) {
    *out = 2048 / threads;
    return CUDA_SUCCESS;
}

static CUresult suggest_block(int *grid, int *block, CUfunction function,
                              CUoccupancyB2DSize shared_of, size_t shared, int limit) {
    *grid = 132;
    *block = 1024;
    return CUDA_SUCCESS;
}

/* ---- the table ---- */

typedef void (*entry)(void);
static const struct {
    const char *name;
    entry function;
} answers[] = {
#define ANSWER(name, function) {"cu" #name, (entry)function},
    ANSWER(GetErrorName, describe_error) ANSWER(GetErrorString, describe_error) ANSWER(
        DriverGetVersion, get_driver_version) ANSWER(DeviceGetCount,
                                                     count_devices) ANSWER(DeviceGet, get_device)
        ANSWER(DeviceGetName, get_device_text) ANSWER(DeviceGetPCIBusId, get_device_text) ANSWER(
            DeviceTotalMem, get_total_memory) ANSWER(DeviceGetAttribute, get_device_attribute)
            ANSWER(DevicePrimaryCtxRetain, retain_context) ANSWER(
                CtxGetCurrent, get_current_context) ANSWER(CtxSetCurrent, set_current_context)
                ANSWER(CtxGetStreamPriorityRange, get_priority_range) ANSWER(
                    CtxGetLimit,
                    get_limit) ANSWER(MemGetInfo, get_free_memory) ANSWER(MemAlloc, allocate_memory)
                    ANSWER(MemAllocAsync, allocate_async) ANSWER(MemFree, release_memory) ANSWER(
                        MemFreeAsync, release_async) ANSWER(MemHostAlloc,
                                                            allocate_host) ANSWER(MemFreeHost,
                                                                                  release_host)
                        ANSWER(MemHostGetDevicePointer, get_device_address) ANSWER(
                            DeviceGetDefaultMemPool,
                            get_default_pool) ANSWER(MemcpyHtoD,
                                                     copy_to_device) ANSWER(MemcpyDtoH,
                                                                            copy_to_host)
                            ANSWER(MemcpyHtoDAsync, copy_to_device_async) ANSWER(
                                MemcpyDtoHAsync, copy_to_host_async) ANSWER(PointerGetAttributes,
                                                                            get_pointer_attributes)
                                ANSWER(StreamCreateWithPriority, create_stream) ANSWER(
                                    StreamGetFlags,
                                    get_stream_flags) ANSWER(StreamIsCapturing, is_capturing)
                                    ANSWER(EventCreate,
                                           create_event) ANSWER(EventElapsedTime, get_elapsed_time)
                                        ANSWER(ModuleLoadDataEx, load_module) ANSWER(
                                            ModuleGetFunction,
                                            find_function) ANSWER(ModuleGetGlobal, find_no_variable)
                                            ANSWER(FuncGetAttribute, get_function_attribute) ANSWER(
                                                FuncGetParamInfo, refuse_parameter)
                                                ANSWER(FuncGetParamCount, refuse_parameter_count)
                                                    ANSWER(FuncGetName, get_function_name) ANSWER(
                                                        OccupancyMaxActiveBlocksPerMultiprocessor,
                                                        count_active_blocks)
                                                        ANSWER(OccupancyMaxPotentialBlockSize,
                                                               suggest_block)
#define OTHERWISE(name, version, parameters, arguments) {"cu" #name, (entry)idle_##name},
                                                            NL_DRIVER_CALLS(OTHERWISE)};

CUresult cuDriverGetVersion(int *out) {
    return get_driver_version(out);
}

CUresult cuGetProcAddress_v2(const char *name, void **out, int version, unsigned long long flags,
                             int *found) {
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        if (strcmp(answers[i].name, name) == 0) {
            memcpy(out, &answers[i].function, sizeof *out);
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_NOT_FOUND;
}

/* ---- libraries ---- */

#define cublasCreate_v2 cublas_of_the_list /* the one below does something */
#define CUBLAS(name, parameters) \
    int cublas##name parameters { \
        return 0; \
    }
NL_CUBLAS_CALLS(CUBLAS)
#undef cublasCreate_v2

int cublasCreate_v2(cublasHandle_t *out) {
    return make_handle(out);
}

int cublasDestroy_v2(cublasHandle_t handle) {
    return 0;
}

int cufftCreate(int *out) {
    static int last;
    *out = ++last;
    return 0;
}

int cufftXtMakePlanMany(int plan, int rank, void *n, void *from, int64_t from_stride,
                        int64_t from_distance, int from_type, void *to, int64_t to_stride,
                        int64_t to_distance, int to_type, int64_t batch, size_t *work, int type) {
    const long long *lengths = n;
    *work = sizeof(double) * (size_t)batch;
    for (int i = 0; i < rank; i++)
        *work *= (size_t)lengths[i];
    return 0;
}

#define CUFFT(name, parameters) \
    int cufft##name parameters { \
        return 0; \
    }
CUFFT(Destroy, (int plan))
CUFFT(SetAutoAllocation, (int plan, int automatic))
CUFFT(SetWorkArea, (int plan, void *area))
CUFFT(SetStream, (int plan, void *stream))
CUFFT(XtExec, (int plan, void *from, void *to, int direction))

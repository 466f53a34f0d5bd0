/* Code that the floor programs share: a clock and the driver calls. All driver functions are looked
   up at run time, so the build needs only a C compiler. */
#ifndef FLOOR_H
#define FLOOR_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "driver/cuda_abi.h"

static double microseconds_now(void) { /* microseconds */
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * t.tv_sec + 1e-3 * t.tv_nsec;
}

static void *library;
static inline void *find_symbol(const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "%s: not found\n", name);
        exit(1);
    }
    return found;
}

/* CU(cuMemAlloc_v2, (CUdeviceptr *, size_t), &p, n): looks the call up once, calls it, stops on
 * failure. */
#define CU(name, parameters, ...) \
    do { \
        static CUresult(*call) parameters; \
        if (!call) \
            call = (CUresult(*) parameters)find_symbol(#name); \
        CUresult status = call(__VA_ARGS__); \
        if (status) { \
            fprintf(stderr, "%s: %d\n", #name, status); \
            exit(1); \
        } \
    } while (0)

static inline void wait_for_device(void) {
    CU(cuCtxSynchronize, (void));
}

/* Sets the device's primary context, which numbalite also uses. */
static inline void open_device(void) {
    CUdevice device;
    CUcontext context;
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    CU(cuInit, (unsigned), 0);
    CU(cuDeviceGet, (CUdevice *, int), &device, 0);
    CU(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice), &context, device);
    CU(cuCtxSetCurrent, (CUcontext), context);
}

static inline char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *bytes = malloc(size + 1);
    if (!bytes || fread(bytes, 1, size, file) != (size_t)size)
        exit(1);
    bytes[size] = 0;
    fclose(file);
    return bytes;
}

static inline CUfunction load_kernel(const char *image, const char *name) {
    CUmodule module;
    CUfunction kernel;
    CU(cuModuleLoadData, (CUmodule *, const void *), &module, image);
    CU(cuModuleGetFunction, (CUfunction *, CUmodule, const char *), &kernel, module, name);
    return kernel;
}

static inline void run_kernel(CUfunction kernel, unsigned blocks, unsigned threads, CUstream stream,
                              void **arguments) {
    CU(cuLaunchKernel,
       (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
        void **, void **),
       kernel, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, NULL);
}

/* The parameter that kernels have for array<float>. */
typedef struct view {
    CUdeviceptr data;
    long long shape, stride;
} view;

#endif

/* The floors: what the driver, NVRTC and the processor themselves cost, with no Python in between.
 *
 *   floor driver CUBIN         launches, copies, allocations; CUBIN has the kernel add3 (three
 *                              views, one int)
 *   floor diffusion CUBIN N    a thousand iterations, launched in a loop and by a graph; CUBIN has
 *                              the kernel diffusion (two views of N x N)
 *   floor arguments CUBIN      launches of the kernel takes_views, which has up to 64 views
 *   floor threads CUBIN N      launches by N threads at once, each into a stream of its own
 *   floor first CUBIN          one fresh process to its first kernel result (the caller times it)
 *   floor cpu                  one fiber switch, and one thread of vadd as an inlined loop
 *   floor copies               bytes per microsecond over the bus, from and to page-locked memory
 *
 * Prints lines "name value" (microseconds; cpu: nanoseconds). Everything is looked up at run time,
 * so that building it takes a C compiler and nothing else: cc -O2 -Icext floor.c -o floor -ldl
 * -pthread */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "driver/cuda_abi.h"

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * t.tv_sec + 1e-3 * t.tv_nsec;
}

static int by_size(const void *a, const void *b) {
    double d = *(const double *)a - *(const double *)b;
    return d < 0 ? -1 : d > 0;
}

static void *library;
static void *symbol(const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "%s: not found\n", name);
        exit(1);
    }
    return found;
}

static void open_library(const char *name) {
    library = dlopen(name, RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
}

/* CU(cuMemAlloc_v2, (CUdeviceptr *, size_t), &p, n): looks the call up once, calls it, stops on
 * failure. */
#define CU(name, parameters, ...) \
    do { \
        static CUresult(*call) parameters; \
        if (!call) \
            call = (CUresult(*) parameters)symbol(#name); \
        CUresult status = call(__VA_ARGS__); \
        if (status) { \
            fprintf(stderr, "%s: %d\n", #name, status); \
            exit(1); \
        } \
    } while (0)

enum { ROUNDS = 9 };
#define MEDIAN(label, count, body) \
    do { \
        double times[ROUNDS]; \
        for (int round = 0; round < ROUNDS; ++round) { \
            double start = now(); \
            for (int i = 0; i < (count); ++i) { \
                body; \
            } \
            times[round] = (now() - start) / (count); \
            synchronize(); \
        } \
        qsort(times, ROUNDS, sizeof *times, by_size); \
        printf("%s %.4f\n", label, times[ROUNDS / 2]); \
    } while (0)

static void synchronize(void) {
    CU(cuCtxSynchronize, (void));
}

static char *read_file(const char *path) {
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

static CUdevice open_device(void) {
    CUdevice device;
    CUcontext context;
    open_library("libcuda.so.1");
    CU(cuInit, (unsigned), 0);
    CU(cuDeviceGet, (CUdevice *, int), &device, 0);
    CU(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice), &context, device);
    CU(cuCtxSetCurrent, (CUcontext), context);
    return device;
}

typedef struct view {
    CUdeviceptr data;
    long long shape, stride;
} view;

static CUfunction kernel;
static CUstream stream;
static view a;
static int n = 1000;

static void launch(CUstream where) {
    void *arguments[] = {&a, &a, &a, &n};
    CU(cuLaunchKernel,
       (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
        void **, void **),
       kernel, 4, 1, 1, 256, 1, 1, 0, where, arguments, NULL);
}

static void load_kernel(const char *image, const char *name) {
    CUmodule module;
    CU(cuModuleLoadData, (CUmodule *, const void *), &module, image);
    CU(cuModuleGetFunction, (CUfunction *, CUmodule, const char *), &kernel, module, name);
}

static void load(const char *image) {
    load_kernel(image, "add3");
}

static void bench_driver(const char *path) {
    open_device();
    char *image = read_file(path);
    load(image); /* the first one pays for more */
    double start = now();
    load(image);
    printf("module_load %.4f\n", now() - start);
    a.shape = n;
    a.stride = 4;
    CU(cuMemAlloc_v2, (CUdeviceptr *, size_t), &a.data, 1 << 20);
    CU(cuStreamCreate, (CUstream *, unsigned), &stream, CU_STREAM_NON_BLOCKING);
    for (double begin = now(); now() - begin < 3e5; synchronize()) /* processors warm up */
        for (int i = 0; i < 1000; ++i)
            launch(stream);
    MEDIAN("launch", 2000, launch(stream));
    MEDIAN("launch_default_stream", 2000, launch(NULL));
    MEDIAN("launch_sync", 500, launch(NULL); synchronize());
    static char page[4096];
    CUdeviceptr q;
    MEDIAN("to_device_4k", 300, {
        CU(cuMemAllocAsync, (CUdeviceptr *, size_t, CUstream), &q, sizeof page, NULL);
        CU(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t), q, page, sizeof page);
        synchronize();
        CU(cuMemFreeAsync, (CUdeviceptr, CUstream), q, NULL);
    });
    MEDIAN("copy_to_host_4k", 300,
           CU(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t), page, a.data, sizeof page));
    MEDIAN("alloc_free_1m", 300, {
        CU(cuMemAlloc_v2, (CUdeviceptr *, size_t), &q, 1 << 20);
        CU(cuMemFree_v2, (CUdeviceptr), q);
    });
}

typedef struct square {
    CUdeviceptr data;
    long long shape[2], strides[2];
} square;
static square field, laplacian;

/* With numbers in it: zeros can be faster. */
static square make_square(long long side) {
    square s = {0, {side, side}, {side * (long long)sizeof(float), sizeof(float)}};
    size_t count = (size_t)(side * side);
    float *values = malloc(count * sizeof *values);
    CU(cuMemAlloc_v2, (CUdeviceptr *, size_t), &s.data, count * sizeof *values);
    for (size_t i = 0; i < count; ++i)
        values[i] = (float)(i * 2654435761u % 65536) / 65536;
    CU(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t), s.data, values,
       count * sizeof *values);
    free(values);
    return s;
}

static void diffuse(void) {
    void *arguments[] = {&field, &laplacian};
    unsigned tiles = (unsigned)field.shape[0] / 8;
    CU(cuLaunchKernel,
       (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
        void **, void **),
       kernel, tiles, tiles, 1, 8, 8, 1, 0, stream, arguments, NULL);
}

static void bench_diffusion(const char *path, long long side) {
    enum { NODES = 1000 };
    CUgraph graph;
    CUgraphExec exec;
    open_device();
    load_kernel(read_file(path), "diffusion");
    field = make_square(side);
    laplacian = make_square(side);
    CU(cuStreamCreate, (CUstream *, unsigned), &stream, CU_STREAM_DEFAULT);
    diffuse();
    synchronize();
    MEDIAN("diffusion_loop", 3, {
        for (int node = 0; node < NODES; ++node)
            diffuse();
        synchronize();
    });
    CU(cuStreamBeginCapture_v2, (CUstream, int), stream, 2);
    for (int node = 0; node < NODES; ++node)
        diffuse();
    CU(cuStreamEndCapture, (CUstream, CUgraph *), stream, &graph);
    CU(cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, unsigned long long), &exec, graph, 0);
    MEDIAN("diffusion_graph", 3, {
        CU(cuGraphLaunch, (CUgraphExec, CUstream), exec, stream);
        synchronize();
    });
}

static void bench_arguments(const char *path) {
    static view views[64];
    void *arguments[64];
    open_device();
    load_kernel(read_file(path), "takes_views");
    for (int i = 0; i < 64; ++i)
        arguments[i] = &views[i];
    double least = 1e9;
    for (int round = 0; round < 200; ++round) { /* each fits into the queue; see growth.py */
        double start = now();
        for (int i = 0; i < 200; ++i)
            CU(cuLaunchKernel,
               (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                CUstream, void **, void **),
               kernel, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL);
        double taken = (now() - start) / 200;
        least = taken < least ? taken : least;
        synchronize();
    }
    printf("launch_with_arguments %.4f\n", least);
}

enum { THREAD_ROUNDS = 8 };
static CUcontext shared_context;
static pthread_barrier_t together;

static void *launches(void *unused) {
    CUstream mine;
    (void)unused;
    CU(cuCtxSetCurrent, (CUcontext), shared_context);
    CU(cuStreamCreate, (CUstream *, unsigned), &mine, CU_STREAM_NON_BLOCKING);
    for (int round = 0; round < THREAD_ROUNDS; ++round) {
        pthread_barrier_wait(&together);
        for (int i = 0; i < 5000; ++i)
            launch(mine);
        CU(cuStreamSynchronize, (CUstream), mine);
        pthread_barrier_wait(&together);
    }
    return NULL;
}

/* The first round is for warming up; of the others the shortest counts. */
static void bench_threads(const char *path, int count) {
    pthread_t threads[64];
    double least = 1e12;
    open_device();
    load(read_file(path));
    CU(cuCtxGetCurrent, (CUcontext *), &shared_context);
    a.shape = n;
    a.stride = 4;
    CU(cuMemAlloc_v2, (CUdeviceptr *, size_t), &a.data, 1 << 20);
    launch(NULL);
    synchronize();
    pthread_barrier_init(&together, NULL, (unsigned)count + 1);
    for (int i = 0; i < count; ++i)
        pthread_create(&threads[i], NULL, launches, NULL);
    for (int round = 0; round < THREAD_ROUNDS; ++round) {
        pthread_barrier_wait(&together);
        double start = now();
        pthread_barrier_wait(&together);
        double taken = now() - start;
        least = round > 0 && taken < least ? taken : least;
    }
    printf("launch_by_threads %.4f\n", least / 5000 / count);
    for (int i = 0; i < count; ++i)
        pthread_join(threads[i], NULL);
}

static void bench_copies(void) {
    size_t size = (size_t)256 << 20;
    void *host;
    CUdeviceptr device;
    open_device();
    CU(cuMemAllocHost_v2, (void **, size_t), &host, size);
    CU(cuMemAlloc_v2, (CUdeviceptr *, size_t), &device, size);
    memset(host, 1, size);
    for (int out = 0; out < 2; ++out) {
        double best = 1e30;
        for (int round = 0; round < ROUNDS; ++round) {
            double start = now();
            if (out)
                CU(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t), host, device, size);
            else
                CU(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t), device, host, size);
            synchronize();
            double time = now() - start;
            best = time < best ? time : best;
        }
        printf("%s %.4f\n", out ? "to_host" : "to_device", (double)size / best);
    }
}

static void bench_first(const char *path) {
    float out[256];
    open_device();
    load(read_file(path));
    a.shape = n;
    a.stride = 4;
    CU(cuMemAlloc_v2, (CUdeviceptr *, size_t), &a.data, 1 << 20);
    launch(NULL);
    CU(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t), out, a.data, sizeof out);
    printf("first_result %.4f\n", out[5] == out[5] ? 1.0 : 0.0);
}

/* ---- the processor: a switch saves what the calling convention says is the callee's, and no more
 * ---- */
#if defined(__x86_64__)
__asm__(".text\n.globl swap_stacks\n.type swap_stacks,@function\nswap_stacks:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
enum { SAVED = 6 };
#elif defined(__aarch64__)
__asm__(".text\n.globl swap_stacks\n.type swap_stacks,%function\nswap_stacks:\n"
        "sub sp,sp,#160\nstp x19,x20,[sp]\nstp x21,x22,[sp,#16]\nstp x23,x24,[sp,#32]\n"
        "stp x25,x26,[sp,#48]\nstp x27,x28,[sp,#64]\nstp x29,x30,[sp,#80]\n"
        "stp d8,d9,[sp,#96]\nstp d10,d11,[sp,#112]\nstp d12,d13,[sp,#128]\nstp d14,d15,[sp,#144]\n"
        "mov x9,sp\nstr x9,[x0]\nmov sp,x1\n"
        "ldp x19,x20,[sp]\nldp x21,x22,[sp,#16]\nldp x23,x24,[sp,#32]\nldp x25,x26,[sp,#48]\n"
        "ldp x27,x28,[sp,#64]\nldp x29,x30,[sp,#80]\nldp d8,d9,[sp,#96]\nldp d10,d11,[sp,#112]\n"
        "ldp d12,d13,[sp,#128]\nldp d14,d15,[sp,#144]\nadd sp,sp,#160\nret\n");
enum { SAVED = 20 };
#endif

#if defined(__x86_64__) || defined(__aarch64__)
void swap_stacks(void **from, void *to);
static void *main_stack, *fiber_stack;

static void fiber(void) {
    for (;;)
        swap_stacks(&fiber_stack, main_stack);
}

static void bench_switch(void) {
    enum { SIZE = 1 << 16, COUNT = 2000000 };
    void **top = (void **)((char *)aligned_alloc(64, SIZE) + SIZE - 64);
#if defined(__x86_64__)
    *--top = NULL; /* as if called: the stack is odd by one word at entry */
    *--top = (void *)fiber;
    top -= SAVED;
    memset(top, 0, SAVED * sizeof *top);
#else
    top -= SAVED;
    memset(top, 0, SAVED * sizeof *top);
    top[11] = (void *)fiber; /* x30 */
#endif
    fiber_stack = top;
    double start = now();
    for (int i = 0; i < COUNT; ++i)
        swap_stacks(&main_stack, fiber_stack);
    printf("fiber_switch %.4f\n", 1e3 * (now() - start) / COUNT / 2);
}
#else
static void bench_switch(void) {}
#endif

static void bench_loop(void) {
    enum { N = 1 << 14, TIMES = 20000 };
    static float memory[3][N];
    float *x = memory[0], *y = memory[1], *restrict z = memory[2];
    __asm__ volatile("" : "+r"(x), "+r"(y), "+r"(z)); /* the compiler may not know what they hold */
    double start = now();
    for (int t = 0; t < TIMES; ++t) {
        for (int i = 0; i < N; ++i)
            z[i] = x[i] + y[i];
        __asm__ volatile("" ::"r"(z) : "memory");
    }
    printf("inlined_loop %.4f\n", 1e3 * (now() - start) / TIMES / N);
}

int main(int count, char **words) {
    if (count == 3 && !strcmp(words[1], "driver"))
        bench_driver(words[2]);
    else if (count == 4 && !strcmp(words[1], "diffusion"))
        bench_diffusion(words[2], atoll(words[3]));
    else if (count == 3 && !strcmp(words[1], "arguments"))
        bench_arguments(words[2]);
    else if (count == 4 && !strcmp(words[1], "threads"))
        bench_threads(words[2], atoi(words[3]));
    else if (count == 3 && !strcmp(words[1], "first"))
        bench_first(words[2]);
    else if (count == 2 && !strcmp(words[1], "copies"))
        bench_copies();
    else if (count == 2 && !strcmp(words[1], "cpu"))
        bench_switch(), bench_loop();
    else
        return 2;
    return 0;
}

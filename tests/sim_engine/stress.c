/* Everything at once, from several threads, for the sanitizers: stress IMAGE THREADS ROUNDS. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "driver/driver_calls.h"

#define DECLARE(name, version, parameters, arguments) CUresult cu##name parameters;
NL_DRIVER_CALLS(DECLARE)
int harness_open(int devices);
int harness_take_fault(char *buffer, size_t size);

#define CHECK(call) check(call, #call, __LINE__)
static void check(CUresult status, const char *call, int line) {
    char text[1500] = "";
    if (status == CUDA_SUCCESS)
        return;
    harness_take_fault(text, sizeof text);
    fprintf(stderr, "line %d: %s: %d %s\n", line, call, status, text);
    exit(1);
}
#define REQUIRE(condition) CHECK((condition) ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN)

static CUcontext context;
static CUmodule module;
static char *image;
static int rounds;
static int called;

static CUfunction find(const char *name) {
    CUfunction function;
    CHECK(cuModuleGetFunction(&function, module, name));
    return function;
}

static void launch(CUfunction function, unsigned grid, unsigned block, CUdeviceptr data, long n,
                   long m, CUstream stream) {
    void *params[] = {&data, &n, &m};
    CHECK(cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 4096, stream, params, NULL));
}

static void count_call(void *data) {
    __atomic_add_fetch((int *)data, 1, __ATOMIC_RELAXED);
}

static void order(CUstream first, CUstream second) {
    CUevent event;
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK(cuEventRecord(event, first));
    CHECK(cuStreamWaitEvent(second, event, 0));
    CHECK(cuEventDestroy(event));
}

static void faults(CUdeviceptr data, CUstream stream) {
    static const struct {
        const char *kernel;
        long n;
        CUresult status;
    } all[] = {{"k_asserts", 40, CUDA_ERROR_ASSERT},
               {"k_touch", 24, CUDA_ERROR_ILLEGAL_ADDRESS},
               {"k_touch_synced", 24, CUDA_ERROR_ILLEGAL_ADDRESS},
               {"k_divergent", 0, CUDA_ERROR_LAUNCH_TIMEOUT},
               {"k_recurse", 4000, CUDA_ERROR_LAUNCH_FAILED}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char text[1500];
        launch(find(all[i].kernel), 4, 32, data, all[i].n, 3, stream);
        REQUIRE(cuStreamSynchronize(stream) == all[i].status);
        REQUIRE(harness_take_fault(text, sizeof text) && strstr(text, "block ("));
        CHECK(cuStreamSynchronize(stream));
    }
}

static void *work(void *argument) {
    long seed = (long)argument;
    CUstream first, second;
    CUdeviceptr data, more;
    static const int count = 8192;
    int *host = malloc((size_t)count * 4), calls = 0;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreateWithPriority(&first, (unsigned)seed & 1, 0));
    CHECK(cuStreamCreateWithPriority(&second, CU_STREAM_NON_BLOCKING, -1));
    CHECK(cuMemAlloc(&data, (size_t)count * 4));
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < count; i++)
            host[i] = i;
        CHECK(cuMemcpyHtoDAsync(data, host, (size_t)count * 4, first));
        launch(find("k_reverse"), 16, 128, data, 0, 0, first);
        order(first, second);
        launch(find("k_reverse"), 16, 128, data, 0, 0, second);
        launch(find("k_reduce"), 4, 256, data + 16384, 0, 0, second);
        CHECK(cuLaunchHostFunc(second, count_call, &calls));
        CHECK(cuLaunchHostFunc(first, count_call, &called));
        CHECK(cuMemAllocAsync(&more, 100000, second));
        CHECK(cuMemsetD8Async(more, 0, 100000, second));
        launch(find("k_active"), 2, 64, more, 0, 0, second);
        launch(find("k_leave"), 2, 64, more, 1, 1, second);
        launch(find("k_locked"), 8, 32, more + 65536, 0, 0, second);
        launch(find("k_heap"), 1, 32, more, 500, 1, second);
        CHECK(cuMemFreeAsync(more, second));
        order(second, first);
        CHECK(cuMemcpyDtoHAsync(host, data, 2048 * 4, first));
        for (int i = 0; i < 2048; i++)
            REQUIRE(host[i] == i);
        REQUIRE(calls == round + 1);
        long n = 3;
        void *params[] = {&data, &n, &n};
        CHECK(cuLaunchCooperativeKernel(find("k_cooperate"), 4, 1, 1, 64, 1, 1, 0, first, params));
        if (round % 8 == seed % 8)
            faults(data, first);
        CHECK(cuStreamSynchronize(first));
        if (round % 16 == 3) {
            CUmodule mine;
            CUfunction function;
            CHECK(cuModuleLoadData(&mine, image));
            CHECK(cuModuleGetFunction(&function, mine, "k_vadd"));
            launch(function, 10, 100, data, 1000, 0, NULL);
            CHECK(cuModuleUnload(mine));
        }
    }
    CHECK(cuStreamDestroy(first));
    CHECK(cuStreamDestroy(second));
    CHECK(cuMemFree(data));
    free(host);
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 3 ? atoi(argv[2]) : 4;
    rounds = argc > 3 ? atoi(argv[3]) : 20;
    FILE *file = fopen(argv[1], "rb");
    REQUIRE(file != NULL);
    fseek(file, 0, SEEK_END);
    unsigned long long size = (unsigned long long)ftell(file);
    rewind(file);
    image = malloc(size + 16);
    memcpy(image, "NLSIMG01", 8);
    memcpy(image + 8, &size, 8);
    REQUIRE(fread(image + 16, 1, size, file) == size);
    fclose(file);
    REQUIRE(freopen("/dev/null", "w", stdout) != NULL);
    CHECK(harness_open(1));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, image));
    pthread_t all[64];
    for (long i = 0; i < threads; i++)
        pthread_create(&all[i], NULL, work, (void *)i);
    for (int i = 0; i < threads; i++)
        pthread_join(all[i], NULL);
    CHECK(cuCtxSynchronize());
    REQUIRE(__atomic_load_n(&called, __ATOMIC_RELAXED) == threads * rounds);
    CHECK(cuDevicePrimaryCtxRelease(0));
    free(image);
    fprintf(stderr, "done\n");
    return 0;
}

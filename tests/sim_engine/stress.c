/* Uses all parts of the engine at once, from several threads, for the sanitizers:
 * stress IMAGE THREADS ROUNDS CHECKED INSTRUMENTED. CHECKED and INSTRUMENTED are images of
 * checked.cu. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "driver/checks.h"
#include "driver/driver_calls.h"

#define DECLARE(name, version, parameters, arguments) CUresult cu##name parameters;
NL_DRIVER_CALLS(DECLARE)
int harness_open(int devices);
int harness_take_fault(char *buffer, size_t size);
void harness_set_checks(unsigned mask, unsigned long long seed, unsigned limit_ms);
void harness_set_compiler(nl_checks_compile_fn compile);

#define CHECK(call) require_success(call, #call, __LINE__)
static void require_success(CUresult status, const char *call, int line) {
    char text[1500] = "";
    if (status == CUDA_SUCCESS)
        return;
    harness_take_fault(text, sizeof text);
    fprintf(stderr, "line %d: %s: %d %s\n", line, call, status, text);
    exit(1);
}
#define REQUIRE(condition) CHECK((condition) ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN)

static CUcontext context;
static CUmodule module, checked;
static char *image, *instrumented;
static size_t instrumented_size;
static int rounds;
static int called;

static CUfunction find_checked(int index) {
    char name[40];
    CUfunction function;
    snprintf(name, sizeof name, "nl_sim_kernel_%d", index);
    CHECK(cuModuleGetFunction(&function, checked, name));
    return function;
}

/* Returns a copy of the image that was compiled beforehand. */
static int give_instrumented(const void *plain, size_t size, uint32_t mask, void **twin, char *log,
                             size_t log_size) {
    (void)plain, (void)size, (void)mask, (void)log, (void)log_size;
    *twin = malloc(instrumented_size);
    memcpy(*twin, instrumented, instrumented_size);
    return 0;
}

static CUfunction find_kernel(const char *name) {
    CUfunction function;
    CHECK(cuModuleGetFunction(&function, module, name));
    return function;
}

static void launch_kernel(CUfunction function, unsigned grid, unsigned block, CUdeviceptr data, long n,
                   long m, CUstream stream) {
    void *params[] = {&data, &n, &m};
    CHECK(cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 4096, stream, params, NULL));
}

static void count_call(void *data) {
    __atomic_add_fetch((int *)data, 1, __ATOMIC_RELAXED);
}

static void order_streams(CUstream first, CUstream second) {
    CUevent event;
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK(cuEventRecord(event, first));
    CHECK(cuStreamWaitEvent(second, event, 0));
    CHECK(cuEventDestroy(event));
}

static void check_faults(CUdeviceptr data, CUstream stream) {
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
        launch_kernel(find_kernel(all[i].kernel), 4, 32, data, all[i].n, 3, stream);
        REQUIRE(cuStreamSynchronize(stream) == all[i].status);
        REQUIRE(harness_take_fault(text, sizeof text) && strstr(text, "block ("));
        CHECK(cuStreamSynchronize(stream));
    }
}

/* Launches kernels and checks their reports: correct kernels in several orders, and one kernel for
 * each mistake. */
static void check_reports(long seed, CUdeviceptr data, CUstream stream) {
    static const struct {
        int kernel;
        unsigned grid;
        long n;
        const char *message;
    } mistakes[] = {{1, 4, 8192 - 3 * 64, "but data points to 8192 elements"},
                    {2, 1, 0, "checked.cu, line 3"},
                    {3, 2, 60, "checked.cu, line 42): block ("},
                    {4, 2, 50, "where threads 50-63 never came"},
                    {5, 2, 7, "not done after 0.1 s, the limit"},
                    {6, 1, 0, "divides the integer"}};
    enum { ALL = NL_CHECK_DEBUG, BLOCKS = 6 };
    int host[BLOCKS * 64], sum = 0, found;
    for (int i = 0; i < BLOCKS * 64; i++)
        sum += host[i] = i * (int)(seed + 1) % 100;
    for (int order = 0; order < 3; order++) {
        harness_set_checks(order < 2 ? ALL : NL_CHECK_NONE, (unsigned long long)(order * seed), 60000);
        CHECK(cuMemcpyHtoDAsync(data, host, sizeof host, stream));
        CHECK(cuMemsetD8Async(data + 2048 * 4, 0, 1024, stream));
        launch_kernel(find_checked(0), BLOCKS, 64, data, 2048, BLOCKS, stream);
        CHECK(cuMemcpyDtoHAsync(&found, data + (2048 + BLOCKS + 1) * 4, 4, stream));
        CHECK(cuStreamSynchronize(stream));
        REQUIRE(found == sum);
    }
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        char text[1500] = "";
        int endless = mistakes[i].kernel == 5;
        harness_set_checks(ALL, i % 2 ? (unsigned long long)seed : 0, endless ? 100 : 60000);
        CHECK(cuMemsetD32Async(data, 7, 8192, stream));
        launch_kernel(find_checked(mistakes[i].kernel), mistakes[i].grid, 64, data, mistakes[i].n, 0, stream);
        REQUIRE(cuStreamSynchronize(stream) != CUDA_SUCCESS);
        REQUIRE(harness_take_fault(text, sizeof text));
        if (!strstr(text, mistakes[i].message)) {
            fprintf(stderr, "expected \"%s\" in: %s\n", mistakes[i].message, text);
            exit(1);
        }
    }
    harness_set_checks(0, 0, 0);
}

static void *run_rounds(void *argument) {
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
        launch_kernel(find_kernel("k_reverse"), 16, 128, data, 0, 0, first);
        order_streams(first, second);
        launch_kernel(find_kernel("k_reverse"), 16, 128, data, 0, 0, second);
        launch_kernel(find_kernel("k_reduce"), 4, 256, data + 16384, 0, 0, second);
        CHECK(cuLaunchHostFunc(second, count_call, &calls));
        CHECK(cuLaunchHostFunc(first, count_call, &called));
        CHECK(cuMemAllocAsync(&more, 100000, second));
        CHECK(cuMemsetD8Async(more, 0, 100000, second));
        launch_kernel(find_kernel("k_active"), 2, 64, more, 0, 0, second);
        launch_kernel(find_kernel("k_leave"), 2, 64, more, 1, 1, second);
        launch_kernel(find_kernel("k_locked"), 8, 32, more + 65536, 0, 0, second);
        launch_kernel(find_kernel("k_heap"), 1, 32, more, 500, 1, second);
        CHECK(cuMemFreeAsync(more, second));
        order_streams(second, first);
        CHECK(cuMemcpyDtoHAsync(host, data, 2048 * 4, first));
        for (int i = 0; i < 2048; i++)
            REQUIRE(host[i] == i);
        REQUIRE(calls == round + 1);
        long n = 3;
        void *params[] = {&data, &n, &n};
        CHECK(cuLaunchCooperativeKernel(find_kernel("k_cooperate"), 4, 1, 1, 64, 1, 1, 0, first, params));
        if (round % 8 == seed % 8)
            check_faults(data, first);
        if (round % 8 == (seed + 3) % 8)
            check_reports(seed, data, first);
        CHECK(cuStreamSynchronize(first));
        if (round % 16 == 3) {
            CUmodule mine;
            CUfunction function;
            CHECK(cuModuleLoadDataEx(&mine, image, 0, NULL, NULL));
            CHECK(cuModuleGetFunction(&function, mine, "k_vadd"));
            launch_kernel(function, 10, 100, data, 1000, 0, NULL);
            CHECK(cuModuleUnload(mine));
        }
    }
    CHECK(cuStreamDestroy(first));
    CHECK(cuStreamDestroy(second));
    CHECK(cuMemFree(data));
    free(host);
    return NULL;
}

/* Returns the bytes of a file after `space` unused bytes. */
static char *read_file(const char *name, size_t space, size_t *size) {
    FILE *file = fopen(name, "rb");
    REQUIRE(file != NULL);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(space + *size);
    REQUIRE(fread(bytes + space, 1, *size, file) == *size);
    fclose(file);
    return bytes;
}

int main(int argc, char **argv) {
    size_t size, plain_size;
    REQUIRE(argc == 6);
    int threads = atoi(argv[2]);
    rounds = atoi(argv[3]);
    image = read_file(argv[1], 16, &size);
    memcpy(image, "NLSIMG01", 8);
    memcpy(image + 8, &size, 8);
    char *plain = read_file(argv[4], 0, &plain_size);
    instrumented = read_file(argv[5], 0, &instrumented_size);
    REQUIRE(freopen("/dev/null", "w", stdout) != NULL);
    CHECK(harness_open(1));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadDataEx(&module, image, 0, NULL, NULL));
    CHECK(cuModuleLoadDataEx(&checked, plain, 0, NULL, NULL));
    harness_set_compiler(give_instrumented);
    pthread_t all[64];
    for (long i = 0; i < threads; i++)
        pthread_create(&all[i], NULL, run_rounds, (void *)i);
    for (int i = 0; i < threads; i++)
        pthread_join(all[i], NULL);
    CHECK(cuCtxSynchronize());
    REQUIRE(__atomic_load_n(&called, __ATOMIC_RELAXED) == threads * rounds);
    CHECK(cuModuleUnload(checked));
    CHECK(cuDevicePrimaryCtxRelease(0));
    free(image);
    free(plain);
    free(instrumented);
    fprintf(stderr, "done\n");
    return 0;
}

/* Measures the floor of driver calls: the same calls made from C, without Python.
 *
 * This library is loaded into the measuring process: each of numbalite's rounds is followed by a
 * round of these calls, in the same context and on the same processor. (A separate process is not
 * comparable: a launch takes 3.2 us at one moment and 4.5 at another, for seconds.) Built by: cc
 * -O3 -shared -fPIC
 * -Icext driver.c -o driver.so -ldl -pthread */
#include <pthread.h>

#include "floor.h"

enum { PAGE = 4096, NODES = 1000, MAX_THREADS = 64, MAX_VIEWS = 64 };

static CUstream stream;

/* ---- add3(view, view, view, int) */
static CUfunction add3;
static char *add3_image;
static view vector = {0, 1000, 4};

static void launch_into(CUstream where) {
    static int n = 1000;
    void *arguments[] = {&vector, &vector, &vector, &n};
    run_kernel(add3, 4, 256, where, arguments);
}

static void launch(void) {
    launch_into(NULL);
}

static void launch_and_wait(void) {
    launch_into(NULL);
    wait_for_device();
}

static void load_module(void) {
    (void)load_kernel(add3_image, "add3");
}

/* ---- kernels takes_views(view, ...) with increasing numbers of arguments */
static CUfunction takes_views[MAX_VIEWS], chosen;

static void launch_with_views(void) {
    static view views[MAX_VIEWS];
    static void *arguments[MAX_VIEWS];
    if (!arguments[0])
        for (int i = 0; i < MAX_VIEWS; ++i)
            arguments[i] = &views[i];
    run_kernel(chosen, 1, 32, NULL, arguments);
}

/* ---- memory */
static void copy_to_device(void) {
    static char page[PAGE];
    CUdeviceptr q;
    CU(cuMemAllocAsync, (CUdeviceptr *, size_t, CUstream), &q, PAGE, NULL);
    CU(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t), q, page, PAGE);
    wait_for_device();
    CU(cuMemFreeAsync, (CUdeviceptr, CUstream), q, NULL);
}

static void copy_to_host(void) {
    static char page[PAGE];
    CU(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t), page, vector.data, PAGE);
}

/* Allocates from the driver's pool, because cuMemAlloc and cuMemFree wait for the device: 60 us in
 * a process that has used it for long. */
static void allocate_and_free(void) {
    CUdeviceptr q;
    CU(cuMemAllocAsync, (CUdeviceptr *, size_t, CUstream), &q, 1 << 20, NULL);
    CU(cuMemFreeAsync, (CUdeviceptr, CUstream), q, NULL);
}

/* ---- diffusion(square, square) */
typedef struct square {
    CUdeviceptr data;
    long long shape[2], strides[2];
} square;
static square field, laplacian;
static CUfunction diffusion;
static CUgraphExec thousand;

/* The memory contains nonzero numbers, because copying zeros can be faster. */
static square make_square(long long side) {
    square s = {0, {side, side}, {side * (long long)sizeof(float), sizeof(float)}};
    size_t count = (size_t)(side * side);
    float *values = malloc(count * sizeof *values);
    if (!values)
        exit(1);
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
       diffusion, tiles, tiles, 1, 8, 8, 1, 0, stream, arguments, NULL);
}

static void diffuse_thousand(void) {
    CU(cuGraphLaunch, (CUgraphExec, CUstream), thousand, stream);
}

static void capture_thousand(void) {
    CUgraph graph;
    CU(cuStreamBeginCapture_v2, (CUstream, int), stream, 2);
    for (int node = 0; node < NODES; ++node)
        diffuse();
    CU(cuStreamEndCapture, (CUstream, CUgraph *), stream, &graph);
    CU(cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, unsigned long long), &thousand, graph,
       0);
}

/* ---- Launches by several threads, each on a separate stream. */
static CUcontext shared_context;
static pthread_barrier_t together;
static int launches_each;

static void *launch_many(void *unused) {
    CUstream mine;
    (void)unused;
    CU(cuCtxSetCurrent, (CUcontext), shared_context);
    CU(cuStreamCreate, (CUstream *, unsigned), &mine, CU_STREAM_NON_BLOCKING);
    launch_into(mine);
    CU(cuStreamSynchronize, (CUstream), mine);
    pthread_barrier_wait(&together);
    for (int i = 0; i < launches_each; ++i)
        launch_into(mine);
    CU(cuStreamSynchronize, (CUstream), mine);
    pthread_barrier_wait(&together);
    CU(cuStreamDestroy_v2, (CUstream), mine);
    return NULL;
}

double launch_by_threads(int count, int launches) {
    pthread_t threads[MAX_THREADS];
    CU(cuCtxGetCurrent, (CUcontext *), &shared_context);
    launches_each = launches;
    pthread_barrier_init(&together, NULL, (unsigned)count + 1);
    for (int i = 0; i < count; ++i)
        pthread_create(&threads[i], NULL, launch_many, NULL);
    pthread_barrier_wait(&together);
    double start = microseconds_now();
    pthread_barrier_wait(&together);
    double taken = microseconds_now() - start;
    for (int i = 0; i < count; ++i)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&together);
    return taken / launches / count;
}

/* ---- for the process that measures */
void open_floor(const char *cubin_of_add3) {
    open_device();
    add3_image = read_file(cubin_of_add3);
    add3 = load_kernel(add3_image, "add3");
    CU(cuMemAlloc_v2, (CUdeviceptr *, size_t), &vector.data, 1 << 20);
    CU(cuStreamCreate, (CUstream *, unsigned), &stream, CU_STREAM_DEFAULT);
}

void open_views(const char *cubin, int number) {
    takes_views[number] = load_kernel(read_file(cubin), "takes_views");
}

void choose_views(int number) {
    chosen = takes_views[number];
}

void open_diffusion(const char *cubin, int side) {
    diffusion = load_kernel(read_file(cubin), "diffusion");
    field = make_square(side);
    laplacian = make_square(side);
    diffuse();
    wait_for_device();
    capture_thousand();
}

static const struct {
    const char *name;
    void (*call)(void);
    int waits; /* the measured time includes the wait for all calls */
} works[] = {
    {"launch", launch, 0},
    {"launch_and_wait", launch_and_wait, 0},
    {"load_module", load_module, 0},
    {"launch_with_views", launch_with_views, 0},
    {"copy_to_device", copy_to_device, 0},
    {"copy_to_host", copy_to_host, 0},
    {"allocate_and_free", allocate_and_free, 0},
    {"diffuse", diffuse, 1},
    {"diffuse_thousand", diffuse_thousand, 1},
};

/* Returns the microseconds of a call, averaged over `count` calls; negative if no function has that
 * name. */
double time_calls(const char *name, int count) {
    for (size_t i = 0; i < sizeof works / sizeof *works; ++i) {
        if (strcmp(works[i].name, name))
            continue;
        double start = microseconds_now();
        for (int k = 0; k < count; ++k)
            works[i].call();
        if (works[i].waits)
            wait_for_device();
        double taken = microseconds_now() - start;
        wait_for_device();
        return taken / count;
    }
    return -1;
}

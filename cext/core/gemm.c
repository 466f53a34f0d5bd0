/* core/gemm: handles, and calls. cuBLAS wants one thread at a time for a handle: one lock covers
 * finding it and the call, which only puts work into the stream. */
#include "core/gemm.h"

#include <string.h>
#include "base/lock.h"
#include "driver/cublas.h"

enum { MOST_HANDLES = 32 };

typedef struct slot {
    cublasHandle_t handle; /* NULL: free */
    nl_device *device;
    CUstream stream;
    uint64_t generation; /* of the device */
    uint64_t used;       /* when it was last used */
} slot;

static slot slots[MOST_HANDLES];
static uint64_t clock_of_use;
static nl_mutex lock = NL_MUTEX_INIT;

static const struct {
    int type, compute;
} types[NL_DTYPE_COUNT] = {
    [NL_FLOAT16] = {CUDA_R_16F, CUBLAS_COMPUTE_32F},
    [NL_FLOAT32] = {CUDA_R_32F, CUBLAS_COMPUTE_32F}, /* not TF32 */
    [NL_FLOAT64] = {CUDA_R_64F, CUBLAS_COMPUTE_64F},
    [NL_COMPLEX64] = {CUDA_C_32F, CUBLAS_COMPUTE_32F},
    [NL_COMPLEX128] = {CUDA_C_64F, CUBLAS_COMPUTE_64F},
};

int nl_gemm_has(nl_dtype dtype) {
    return types[dtype].compute != 0;
}

/* The device has lost what a handle of an earlier generation holds: it is forgotten. */
static slot *find_lock_held(const nl_device *dev, CUstream stream) {
    for (int i = 0; i < MOST_HANDLES; i++) {
        slot *s = &slots[i];
        if (s->handle && s->device == dev && s->generation != dev->generation)
            s->handle = NULL;
        if (s->handle && s->device == dev && s->stream == stream)
            return s;
    }
    return NULL;
}

int nl_gemm_is_ready(const nl_device *dev, CUstream stream) {
    nl_mutex_lock(&lock);
    int found = find_lock_held(dev, stream) != NULL;
    nl_mutex_unlock(&lock);
    return found;
}

/* A free slot, or that of the device's handle which was not used for longest, taken from its
 * stream. */
static slot *make_lock_held(nl_device *dev, CUstream stream, nl_error *err) {
    cublasHandle_t handle = NULL;
    slot *place = NULL, *oldest = NULL;
    for (int i = 0; i < MOST_HANDLES; i++) {
        slot *s = &slots[i];
        if (!s->handle)
            place = s;
        else if (s->device == dev && (!oldest || s->used < oldest->used))
            oldest = s;
    }
    if (!place && oldest) {
        place = oldest;
        handle = place->handle;
    }
    if (!place) {
        nl_error_set(err, NL_ERR_RUNTIME, "all %d handles of cuBLAS are other devices'",
                     MOST_HANDLES);
        return NULL;
    }
    if (!handle && NL_BLAS(err, Create_v2, &handle) < 0)
        return NULL;
    if (NL_BLAS(err, SetStream_v2, handle, stream) < 0) {
        place->handle = NULL;
        nl_blas.Destroy_v2(handle);
        return NULL;
    }
    *place = (slot){handle, dev, stream, dev->generation, 0};
    return place;
}

static int call_lock_held(slot *s, const nl_gemm *g, nl_error *err) {
    /* Aligned as cuBLAS's complex numbers, which it loads whole. */
    static const struct {
        _Alignas(16) double twice[2];
        _Alignas(8) float single[2];
    } one = {{1, 0}, {1, 0}}, zero = {{0, 0}, {0, 0}};
    int type = types[g->dtype].type, compute = types[g->dtype].compute;
    int wide = compute == CUBLAS_COMPUTE_64F;
    const void *alpha = wide ? (const void *)one.twice : one.single;
    const void *beta = wide ? (const void *)zero.twice : zero.single;
    const void *a = (const void *)(uintptr_t)g->a.address;
    const void *b = (const void *)(uintptr_t)g->b.address;
    void *c = (void *)(uintptr_t)g->c.address;
    s->used = ++clock_of_use;
    if (g->count == 1)
        return NL_BLAS(err, GemmEx_64, s->handle, g->a.transposed, g->b.transposed, g->m, g->n,
                       g->k, alpha, a, type, g->a.lead, b, type, g->b.lead, beta, c, type,
                       g->c.lead, compute, CUBLAS_GEMM_DEFAULT);
    return NL_BLAS(err, GemmStridedBatchedEx_64, s->handle, g->a.transposed, g->b.transposed, g->m,
                   g->n, g->k, alpha, a, type, g->a.lead, g->a.step, b, type, g->b.lead, g->b.step,
                   beta, c, type, g->c.lead, g->c.step, g->count, compute, CUBLAS_GEMM_DEFAULT);
}

int nl_gemm_run(nl_device *dev, CUstream stream, const nl_gemm *g, nl_error *err) {
    nl_mutex_lock(&lock);
    slot *s = find_lock_held(dev, stream);
    if (!s)
        s = make_lock_held(dev, stream, err);
    int result = s ? call_lock_held(s, g, err) : -1;
    nl_mutex_unlock(&lock);
    return result;
}

/* core/gemm: the call that a product is, which only puts work into the stream. */
#include "core/gemm.h"

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

static int call(cublasHandle_t handle, const nl_gemm *g, nl_error *err) {
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
    if (g->count == 1)
        return NL_BLAS(err, GemmEx_64, handle, g->a.transposed, g->b.transposed, g->m, g->n, g->k,
                       alpha, a, type, g->a.lead, b, type, g->b.lead, beta, c, type, g->c.lead,
                       compute, CUBLAS_GEMM_DEFAULT);
    return NL_BLAS(err, GemmStridedBatchedEx_64, handle, g->a.transposed, g->b.transposed, g->m,
                   g->n, g->k, alpha, a, type, g->a.lead, g->a.step, b, type, g->b.lead, g->b.step,
                   beta, c, type, g->c.lead, g->c.step, g->count, compute, CUBLAS_GEMM_DEFAULT);
}

int nl_gemm_run(nl_device *dev, CUstream stream, const nl_gemm *g, const nl_workspace *workspace,
                nl_error *err) {
    nl_handle *handle = NULL;
    if (nl_handle_enter_with(NL_CUBLAS, dev, stream, workspace, &handle, err) < 0)
        return -1;
    int result = call(handle->number, g, err);
    nl_handle_leave(NL_CUBLAS, handle);
    return result;
}

/* core/gemm: calls cuBLAS for a matrix product. The call only submits work to the stream. */
#include "core/gemm.h"

int nl_gemm_cuda_type(nl_dtype dtype) {
    switch (dtype) {
    case NL_FLOAT16:
        return CUDA_R_16F;
    case NL_FLOAT32:
        return CUDA_R_32F;
    case NL_FLOAT64:
        return CUDA_R_64F;
    case NL_COMPLEX64:
        return CUDA_C_32F;
    case NL_COMPLEX128:
        return CUDA_C_64F;
    default:
        return -1;
    }
}

int nl_gemm_supports(int type, int result) {
    int narrow = type == CUDA_R_16F || type == CUDA_R_16BF;
    return type >= 0 && (type == result || (narrow && result == CUDA_R_32F));
}

static int call_gemm(cublasHandle_t handle, const nl_gemm *g, nl_error *err) {
    /* Aligned like cuBLAS's complex numbers, which cuBLAS loads with one instruction. */
    static const struct {
        _Alignas(16) double twice[2];
        _Alignas(8) float single[2];
    } one = {{1, 0}, {1, 0}}, zero = {{0, 0}, {0, 0}};
    int type = g->type, result = g->result;
    int wide = type == CUDA_R_64F || type == CUDA_C_64F;
    int compute = wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F; /* not TF32 */
    const void *alpha = wide ? (const void *)one.twice : one.single;
    const void *beta = wide ? (const void *)zero.twice : zero.single;
    const void *a = (const void *)(uintptr_t)g->a.address;
    const void *b = (const void *)(uintptr_t)g->b.address;
    void *c = (void *)(uintptr_t)g->c.address;
    if (g->count == 1)
        return NL_BLAS(err, GemmEx_64, handle, g->a.transposed, g->b.transposed, g->m, g->n, g->k,
                       alpha, a, type, g->a.lead, b, type, g->b.lead, beta, c, result, g->c.lead,
                       compute, CUBLAS_GEMM_DEFAULT);
    return NL_BLAS(err, GemmStridedBatchedEx_64, handle, g->a.transposed, g->b.transposed, g->m,
                   g->n, g->k, alpha, a, type, g->a.lead, g->a.step, b, type, g->b.lead, g->b.step,
                   beta, c, result, g->c.lead, g->c.step, g->count, compute, CUBLAS_GEMM_DEFAULT);
}

int nl_gemm_run(nl_device *dev, CUstream stream, const nl_gemm *g, const nl_workspace *workspace,
                nl_error *err) {
    nl_handle *handle = NULL;
    if (nl_handle_lock_with_workspace(NL_CUBLAS, dev, stream, workspace, &handle, err) < 0)
        return -1;
    nl_error second;
    int result = call_gemm(handle->number, g, err);
    int left = nl_handle_unlock(NL_CUBLAS, handle, result < 0 ? &second : err);
    return result < 0 ? result : left;
}

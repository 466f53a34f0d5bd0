/* core/gemm: computes matrix products with cuBLAS. */
#ifndef NL_CORE_GEMM_H
#define NL_CORE_GEMM_H

#include "core/device.h"
#include "core/dtype.h"
#include "core/handle.h"

/* A matrix, or a batch of matrices with a constant stride. Element (i, j) of a matrix has the index
 * i + j * lead, or i * lead + j if the matrix is transposed. `step` is the stride between matrices
 * in elements; if it is 0, all products use the same matrix. */
typedef struct nl_gemm_matrix {
    CUdeviceptr address;
    int64_t lead, step;
    int transposed;
} nl_gemm_matrix;

/* Describes `count` matrix products c = a b, with shapes (m, n) = (m, k) (k, n). c must not be
 * transposed. */
typedef struct nl_gemm {
    int type, result; /* cudaDataType of a and b, and of c */
    int64_t m, n, k, count;
    nl_gemm_matrix a, b, c;
} nl_gemm;

/* Returns the cudaDataType of a dtype that cuBLAS can multiply, or -1. */
int nl_gemm_cuda_type(nl_dtype dtype);
/* Returns whether products of `type` with results of type `result` are supported. Sums are computed
 * in the precision of the result, or in float for 16-bit results. */
int nl_gemm_supports(int type, int result);
/* Enqueues the products in the stream. The device must be bound and the library open. Call this
 * function without the interpreter's lock, unless nl_handle_exists returns 1. */
int nl_gemm_run(nl_device *dev, CUstream stream, const nl_gemm *g, const nl_workspace *workspace,
                nl_error *err);

#endif

/* core/gemm: matrix products with cuBLAS. */
#ifndef NL_CORE_GEMM_H
#define NL_CORE_GEMM_H

#include "core/device.h"
#include "core/dtype.h"
#include "core/handle.h"

/* One matrix, or several at equal distances. Element (i, j) is at index i + j * lead, if transposed
 * at i * lead + j. `step`: elements from one matrix to the next, 0 to use the same matrix again. */
typedef struct nl_gemm_matrix {
    CUdeviceptr address;
    int64_t lead, step;
    int transposed;
} nl_gemm_matrix;

/* c = a b, with shapes (m, n) = (m, k) (k, n), `count` times. c must not be transposed. */
typedef struct nl_gemm {
    int type, result; /* cudaDataType of a and b, and of c */
    int64_t m, n, k, count;
    nl_gemm_matrix a, b, c;
} nl_gemm;

/* Returns the cudaDataType of a dtype that cuBLAS can multiply, or -1. */
int nl_gemm_type(nl_dtype dtype);
/* Returns whether products of `type` with results of type `result` are supported. Sums are computed
 * in the precision of the result; for 16-bit results in float. */
int nl_gemm_has(int type, int result);
/* Runs in stream order. The device must be bound and the library open. Call without the
 * interpreter's lock, unless nl_handle_is_ready. */
int nl_gemm_run(nl_device *dev, CUstream stream, const nl_gemm *g, const nl_workspace *workspace,
                nl_error *err);

#endif

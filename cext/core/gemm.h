/* core/gemm: products of matrices by cuBLAS. */
#ifndef NL_CORE_GEMM_H
#define NL_CORE_GEMM_H

#include "core/device.h"
#include "core/dtype.h"
#include "core/handle.h"

/* One matrix, or many at equal distances: element (i, j) at i + j * lead, or transposed at
 * i * lead + j; `step` elements from one matrix to the next, 0 for the same one again. */
typedef struct nl_gemm_matrix {
    CUdeviceptr address;
    int64_t lead, step;
    int transposed;
} nl_gemm_matrix;

/* c = a b, (m, n) = (m, k) (k, n), `count` times; c is not transposed. */
typedef struct nl_gemm {
    int type, result; /* cudaDataType of a and b, and of c */
    int64_t m, n, k, count;
    nl_gemm_matrix a, b, c;
} nl_gemm;

/* The cudaDataType of a dtype that has products, or -1. */
int nl_gemm_type(nl_dtype dtype);
/* Are there products of one cudaDataType that are another? The sums are made in the result's
 * precision, those of 16 bits in float's. */
int nl_gemm_has(int type, int result);
/* In the stream's order; the device is bound and the library open. Call without the interpreter's
 * lock, unless nl_handle_is_ready. */
int nl_gemm_run(nl_device *dev, CUstream stream, const nl_gemm *g, const nl_workspace *workspace,
                nl_error *err);

#endif

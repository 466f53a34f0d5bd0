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
    nl_dtype dtype;
    int64_t m, n, k, count;
    nl_gemm_matrix a, b, c;
} nl_gemm;

/* Is there such a product of matrices for the dtype? */
int nl_gemm_has(nl_dtype dtype);
/* In the stream's order; the device is bound and the library open. Call without the interpreter's
 * lock, unless nl_handle_is_ready. */
int nl_gemm_run(nl_device *dev, CUstream stream, const nl_gemm *g, const nl_workspace *workspace,
                nl_error *err);

#endif

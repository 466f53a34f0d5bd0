/* sim/driver/cublas: implements cuBLAS on the CPU: a matrix product is a host function in its
 * stream. Matrices are in column-major order, as in cuBLAS: element (i, j) has the index i + j *
 * ld. */
#include "sim/driver/cublas.h"

#include <complex.h>
#include <stdlib.h>
#include "base/half.h"
#include "base/mem.h"
#include "driver/driver.h"
#include "sim/engine/memory.h"
#include "sim/engine/shadow.h"

/* the open driver table, which enqueues products in streams */
static const nl_driver *driver;

typedef struct product {
    int op_a, op_b, type, result;
    int64_t m, n, k, lda, ldb, ldc, count;
    long long stride_a, stride_b, stride_c; /* stride between matrices in elements */
    const char *a, *b;
    char *c;
} product;

/* Computes one column of the result at a time. If `a` is not transposed, adds up columns of `a`; if
 * `a` is transposed, multiplies its contiguous rows with the column of b. Partial sums of a few
 * products are added to `total`, so that the rounding error does not grow with the number of
 * products. */
#define SAME(x) (x)
#define HALF_OUT(x) nl_half_from_double((double)(x))
#define HALF_IN(x) ((float)nl_half_to_double(x))
#define BFLOAT_OUT(x) nl_half_bfloat16_from_double((double)(x))
#define DEFINE(name, stored, result, number, total, in, out) \
    static void name(const product *p, const stored *a, const stored *b, result *c) { \
        int64_t of_b = p->op_b == CUBLAS_OP_N ? 1 : p->ldb, \
                next_b = p->op_b == CUBLAS_OP_N ? p->ldb : 1; \
        int64_t of_a = p->op_a == CUBLAS_OP_N ? 1 : p->lda, \
                next_a = p->op_a == CUBLAS_OP_N ? p->lda : 1; \
        enum { ROWS = 64, TERMS = 64 }; \
        for (int64_t j = 0; j < p->n; j++) \
            for (int64_t i = 0; i < p->m; i += ROWS) { \
                number sum[ROWS] = {0}; \
                total all[ROWS] = {0}; \
                int64_t rows = p->m - i < ROWS ? p->m - i : ROWS; \
                for (int64_t l = 0; l < p->k; l++) { \
                    if (l % TERMS == 0) \
                        for (int64_t r = 0; r < rows; r++) { \
                            all[r] += sum[r]; \
                            sum[r] = 0; \
                        } \
                    number y = in(b[l * of_b + j * next_b]); \
                    const stored *x = a + i * of_a + l * next_a; \
                    if (of_a == 1 && rows == ROWS) { /* the compiler's vectors */ \
                        for (int64_t r = 0; r < ROWS; r++) \
                            sum[r] += in(x[r]) * y; \
                    } else { \
                        for (int64_t r = 0; r < rows; r++) \
                            sum[r] += in(x[r * of_a]) * y; \
                    } \
                } \
                for (int64_t r = 0; r < rows; r++) \
                    c[i + r + j * p->ldc] = out(all[r] + sum[r]); \
            } \
    }
DEFINE(of_half, uint16_t, uint16_t, float, double, HALF_IN, HALF_OUT)
DEFINE(of_half_wide, uint16_t, float, float, double, HALF_IN, SAME)
DEFINE(of_bfloat, uint16_t, uint16_t, float, double, nl_half_bfloat16_to_float, BFLOAT_OUT)
DEFINE(of_bfloat_wide, uint16_t, float, float, double, nl_half_bfloat16_to_float, SAME)
DEFINE(of_float, float, float, float, double, SAME, SAME)
DEFINE(of_double, double, double, double, double, SAME, SAME)
DEFINE(of_complex, float complex, float complex, float complex, double complex, SAME, SAME)
DEFINE(of_double_complex, double complex, double complex, double complex, double complex, SAME,
       SAME)

static size_t element_size(int type) {
    switch (type) {
    case CUDA_R_16F:
    case CUDA_R_16BF:
        return sizeof(uint16_t);
    case CUDA_R_32F:
        return sizeof(float);
    case CUDA_C_64F:
        return sizeof(double complex);
    default:
        return sizeof(double); /* also for complex64 */
    }
}

static void multiply_matrix(const product *p, int64_t i) {
#define CASE(code, made, name, stored, result) \
    case (code) << 8 | (made): \
        name(p, (const stored *)p->a + i * p->stride_a, (const stored *)p->b + i * p->stride_b, \
             (result *)p->c + i * p->stride_c); \
        break;
    switch (p->type << 8 | p->result) {
        CASE(CUDA_R_16F, CUDA_R_16F, of_half, uint16_t, uint16_t)
        CASE(CUDA_R_16F, CUDA_R_32F, of_half_wide, uint16_t, float)
        CASE(CUDA_R_16BF, CUDA_R_16BF, of_bfloat, uint16_t, uint16_t)
        CASE(CUDA_R_16BF, CUDA_R_32F, of_bfloat_wide, uint16_t, float)
        CASE(CUDA_R_32F, CUDA_R_32F, of_float, float, float)
        CASE(CUDA_R_64F, CUDA_R_64F, of_double, double, double)
        CASE(CUDA_C_32F, CUDA_C_32F, of_complex, float complex, float complex)
        CASE(CUDA_C_64F, CUDA_C_64F, of_double_complex, double complex, double complex)
    }
}

/* Marks the columns of the results as written, for the checks. */
static void mark_results_written(const product *p) {
    size_t size = element_size(p->result);
    if (!nl_sim_shadow_is_recorded()) {
        nl_sim_memory_mark_all_written();
        return;
    }
    for (int64_t i = 0; i < p->count; i++)
        for (int64_t j = 0; j < p->n; j++)
            nl_sim_shadow_set((uintptr_t)(p->c + (i * p->stride_c + j * p->ldc) * (int64_t)size),
                              (size_t)p->m * size, NL_SIM_THERE | NL_SIM_WRITTEN);
}

static void run_product(void *data) {
    product *p = data;
    for (int64_t i = 0; i < p->count; i++)
        multiply_matrix(p, i);
    mark_results_written(p);
    nl_mem_free(p);
}

static int Create_v2(cublasHandle_t *handle) {
    nl_error err;
    *handle = (uintptr_t)nl_mem_zalloc(sizeof(CUstream), &err);
    return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

static int SetStream_v2(cublasHandle_t handle, CUstream stream) {
    int capturing = 0;
    if (driver->StreamIsCapturing(stream, &capturing) != CUDA_SUCCESS)
        return CUBLAS_STATUS_EXECUTION_FAILED;
    *(CUstream *)handle = stream;
    return CUBLAS_STATUS_SUCCESS;
}

static int SetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t size) {
    (void)handle, (void)workspace, (void)size; /* no workspace is needed */
    return CUBLAS_STATUS_SUCCESS;
}

static int GemmStridedBatchedEx_64(cublasHandle_t handle, int op_a, int op_b, int64_t m, int64_t n,
                                   int64_t k, const void *alpha, const void *a, int a_type,
                                   int64_t lda, long long stride_a, const void *b, int b_type,
                                   int64_t ldb, long long stride_b, const void *beta, void *c,
                                   int c_type, int64_t ldc, long long stride_c, int64_t count,
                                   int compute, int algo) {
    nl_error err;
    int capturing = 0;
    CUstream stream = *(CUstream *)handle;
    (void)alpha, (void)beta, (void)b_type, (void)compute, (void)algo;
    if (lda < (op_a == CUBLAS_OP_N ? m : k) || ldb < (op_b == CUBLAS_OP_N ? k : n) || ldc < m)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (driver->StreamIsCapturing(stream, &capturing) != CUDA_SUCCESS || capturing)
        /* products cannot be captured, because the graph would have to store their parameters */
        return CUBLAS_STATUS_NOT_SUPPORTED;
    product *p = nl_mem_alloc(sizeof *p, &err);
    if (!p)
        return CUBLAS_STATUS_ALLOC_FAILED;
    *p = (product){op_a, op_b,  a_type,   c_type,   m,        n, k, lda, ldb,
                   ldc,  count, stride_a, stride_b, stride_c, a, b, c};
    if (driver->LaunchHostFunc(stream, run_product, p) == CUDA_SUCCESS)
        return CUBLAS_STATUS_SUCCESS;
    nl_mem_free(p);
    return CUBLAS_STATUS_EXECUTION_FAILED;
}

static int GemmEx_64(cublasHandle_t handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                     const void *alpha, const void *a, int a_type, int64_t lda, const void *b,
                     int b_type, int64_t ldb, const void *beta, void *c, int c_type, int64_t ldc,
                     int compute, int algo) {
    return GemmStridedBatchedEx_64(handle, op_a, op_b, m, n, k, alpha, a, a_type, lda, 0, b, b_type,
                                   ldb, 0, beta, c, c_type, ldc, 0, 1, compute, algo);
}

void nl_sim_cublas_fill(nl_cublas *table, const nl_driver *calls) {
    driver = calls;
#define NL_FILL(name, parameters) table->name = name;
    NL_CUBLAS_CALLS(NL_FILL)
#undef NL_FILL
}

/* driver/cublas_calls: the list of cuBLAS calls that C code makes, as X(name, (parameters)). `name`
 * lacks the prefix "cublas". cuBLAS 12.0 has all of these functions. The functions return a
 * cublasStatus_t. */
#ifndef NL_CUBLAS_CALLS_H
#define NL_CUBLAS_CALLS_H

#include <stddef.h>
#include <stdint.h>
#include "driver/cuda_abi.h"

typedef uintptr_t cublasHandle_t; /* uintptr_t is used for the handles of all libraries */

/* cudaDataType_t, cublasComputeType_t, cublasOperation_t, cublasGemmAlgo_t */
enum {
    CUDA_R_32F = 0,
    CUDA_R_64F = 1,
    CUDA_R_16F = 2,
    CUDA_C_32F = 4,
    CUDA_C_64F = 5,
    CUDA_R_16BF = 14
};
enum { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_64F = 70 };
enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
enum { CUBLAS_GEMM_DEFAULT = -1 };
enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_NOT_SUPPORTED = 15
};

#define NL_CUBLAS_CALLS(X) \
    X(Create_v2, (cublasHandle_t * handle)) \
    X(SetStream_v2, (cublasHandle_t handle, CUstream stream)) \
    X(SetWorkspace_v2, (cublasHandle_t handle, void *workspace, size_t size)) \
    X(GemmEx_64, \
      (cublasHandle_t handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, \
       const void *alpha, const void *a, int a_type, int64_t lda, const void *b, int b_type, \
       int64_t ldb, const void *beta, void *c, int c_type, int64_t ldc, int compute, int algo)) \
    X(GemmStridedBatchedEx_64, \
      (cublasHandle_t handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, \
       const void *alpha, const void *a, int a_type, int64_t lda, long long stride_a, \
       const void *b, int b_type, int64_t ldb, long long stride_b, const void *beta, void *c, \
       int c_type, int64_t ldc, long long stride_c, int64_t count, int compute, int algo))

typedef struct nl_cublas {
#define NL_DECLARE(name, parameters) int(*name) parameters;
    NL_CUBLAS_CALLS(NL_DECLARE)
#undef NL_DECLARE
} nl_cublas;

#endif

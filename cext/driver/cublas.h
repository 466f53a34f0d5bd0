/* driver/cublas: the table of cuBLAS's calls. It is filled once, on first need: from the library,
 * or by a driver that computes itself. */
#ifndef NL_DRIVER_CUBLAS_H
#define NL_DRIVER_CUBLAS_H

#include "base/error.h"
#include "driver/cublas_calls.h"

extern nl_cublas nl_blas;

int nl_cublas_is_open(void);
/* path: of libcublas, not read where the driver fills the table. Loading takes its time: call
 * without the interpreter's lock. 0, also if the table is filled already, or -1. */
int nl_cublas_open(const char *path, nl_error *err);

/* A status of the call "cublasGemmEx" as NL_ERR_CUDA and -1, or 0. */
int nl_cublas_check(int status, const char *call, nl_error *err);
#define NL_BLAS(err, name, ...) nl_cublas_check(nl_blas.name(__VA_ARGS__), "cublas" #name, (err))

#endif

/* driver/cudalib: CUDA's libraries above the driver (cuBLAS, cuFFT, cuSOLVER, cuSPARSE), opened by
 * dlopen when they are first needed. This is the one place that loads them.
 *
 * Most of their functions are called by name, with words: each takes pointers and whole numbers
 * only and returns a status; the ABIs of Linux on x86-64 and AArch64 pass every one of those as a
 * word of eight bytes, in registers or on the stack, so one C type is enough to call them all. What
 * C calls itself, cuBLAS's products, is a table with types (driver/cublas_calls.h), which a driver
 * that computes itself fills. */
#ifndef NL_DRIVER_CUDALIB_H
#define NL_DRIVER_CUDALIB_H

#include <stdint.h>
#include "base/error.h"
#include "driver/cublas_calls.h"

typedef enum { NL_CUBLAS, NL_CUFFT, NL_CUSOLVER, NL_CUSPARSE, NL_CUDALIB_COUNT } nl_cudalib;

/* -1 for a name that is none of "cublas", "cufft", "cusolver" and "cusparse". */
int nl_cudalib_of(const char *name);
/* "INVALID_VALUE", of the library's status; "unknown status" for another number. */
const char *nl_cudalib_status(nl_cudalib library, int status);
/* A status of the call "cublasGemmEx" as NL_ERR_CUDA and -1, or 0. */
int nl_cudalib_check(nl_cudalib library, int status, const char *call, nl_error *err);

/* Finds, once, what makes handles, and fills the table of cuBLAS. path: of the library, not read
 * where the driver fills the table. Loading takes its time: call without the interpreter's lock. 0,
 * also if it is open already, or -1 with NL_ERR_SUPPORT. */
int nl_cudalib_open(nl_cudalib library, const char *path, nl_error *err);
int nl_cudalib_is_open(nl_cudalib library);
/* A handle of an open library, for the current context; its stream is the default one at first.
 * cuFFT has no handles. */
int nl_cudalib_create(nl_cudalib library, uintptr_t *handle, nl_error *err);
int nl_cudalib_set_stream(nl_cudalib library, uintptr_t handle, CUstream stream, nl_error *err);

extern nl_cublas nl_blas;
#define NL_BLAS(err, name, ...) \
    nl_cudalib_check(NL_CUBLAS, nl_blas.name(__VA_ARGS__), "cublas" #name, (err))

#define NL_CUDALIB_WORDS 24 /* the most parameters that a function has */

typedef int (*nl_cudalib_function)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                   uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                   uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                   uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                   uintptr_t);

/* A function of the library at `path`, which stays loaded. 0, or -1 with NL_ERR_SUPPORT. */
int nl_cudalib_find(const char *path, const char *name, nl_cudalib_function *out, nl_error *err);
/* Calls it with the words; those that it does not take are not looked at. Its status. */
int nl_cudalib_call(nl_cudalib_function function, const uintptr_t words[NL_CUDALIB_WORDS]);

#endif

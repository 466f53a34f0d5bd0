/* driver/cudalib: loads the CUDA libraries above the driver (cuBLAS, cuFFT, cuSOLVER, cuSPARSE)
 * with dlopen at first use. No other file loads these libraries.
 *
 * Python code calls most of their functions by name. The functions of these libraries have only
 * pointers and integers as parameters, and return a status. The Linux ABIs of x86-64 and AArch64
 * pass each such argument as a value of eight bytes, in a register or on the stack, so one C
 * function type is enough for all functions. The cuBLAS functions that C code calls are in a typed
 * table (driver/cublas_calls.h), which the simulator fills with its own functions. */
#ifndef NL_DRIVER_CUDALIB_H
#define NL_DRIVER_CUDALIB_H

#include <stdint.h>
#include "base/error.h"
#include "driver/cublas_calls.h"

typedef enum { NL_CUBLAS, NL_CUFFT, NL_CUSOLVER, NL_CUSPARSE, NL_CUDALIB_COUNT } nl_cudalib;

/* Returns the number of a library, or -1 for any name except "cublas", "cufft", "cusolver" and
 * "cusparse". */
int nl_cudalib_from_name(const char *name);
/* Returns the name of the library's status, as "INVALID_VALUE", or "unknown status". */
const char *nl_cudalib_status_name(nl_cudalib library, int status);
/* Returns 0 for status 0. For any other status, fills err (NL_ERR_CUDA) and returns -1. `call` is
 * the function's name, as "cublasGemmEx". */
int nl_cudalib_check(nl_cudalib library, int status, const char *call, nl_error *err);

/* Opens a library: finds the functions that create its handles and, for cuBLAS, fills the typed
 * table. Each library is opened only once. `path` is the path of the library; it is ignored if the
 * driver fills the table. Loading is slow: call nl_cudalib_open without the interpreter's lock.
 * Returns 0 (also if the library is open already) or -1 with NL_ERR_SUPPORT. */
int nl_cudalib_open(nl_cudalib library, const char *path, nl_error *err);
int nl_cudalib_is_open(nl_cudalib library);
/* Creates a handle of an open library for the current context, with the default stream. cuFFT has
 * no handles. */
int nl_cudalib_create(nl_cudalib library, uintptr_t *handle, nl_error *err);
int nl_cudalib_set_stream(nl_cudalib library, uintptr_t handle, CUstream stream, nl_error *err);

extern nl_cublas nl_cudalib_blas;
#define NL_BLAS(err, name, ...) \
    nl_cudalib_check(NL_CUBLAS, nl_cudalib_blas.name(__VA_ARGS__), "cublas" #name, (err))

#define NL_CUDALIB_WORDS 24 /* maximum number of parameters of a library function */

typedef int (*nl_cudalib_function)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                   uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                   uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                   uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                   uintptr_t);

/* Finds a function of the library at `path`, which stays loaded. Returns 0, or -1 with
 * NL_ERR_SUPPORT. */
int nl_cudalib_find_function(const char *path, const char *name, nl_cudalib_function *out,
                             nl_error *err);
/* Calls the function and returns its status. Arguments beyond the function's parameters are
 * ignored. */
int nl_cudalib_call_function(nl_cudalib_function function, const uintptr_t words[NL_CUDALIB_WORDS]);

#endif

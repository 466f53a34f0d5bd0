/* base/error: the error type of all C code below Python.
 *
 * A function that can fail returns 0 or -1 and fills an nl_error of its caller. No error is stored
 * per thread or printed; only py/error.c converts an nl_error to an exception. */
#ifndef NL_BASE_ERROR_H
#define NL_BASE_ERROR_H

#include <stddef.h>
#include "base/fault.h"

typedef enum {
    NL_ERR_NONE = 0,
    NL_ERR_MEMORY,   /* MemoryError: host memory */
    NL_ERR_VALUE,    /* ValueError */
    NL_ERR_TYPE,     /* TypeError */
    NL_ERR_OVERFLOW, /* OverflowError */
    NL_ERR_INDEX,    /* IndexError */
    NL_ERR_RUNTIME,  /* RuntimeError */
    NL_ERR_SUPPORT,  /* CudaSupportError: a component is not installed or too old */
    NL_ERR_CUDA,     /* CudaAPIError: code and call are set */
    NL_ERR_NVRTC,    /* NVRTC failed, but not because of the user's source: code and call are set */
    NL_ERR_KERNEL,   /* KernelError: an error in a kernel, described by `fault` */
    NL_ERR_TIMEOUT,  /* KernelTimeout: a kernel ran longer than a limit */
} nl_error_kind;

typedef struct nl_error {
    nl_error_kind kind;
    int code;        /* CUresult or nvrtcResult, or 0 */
    char call[48];   /* the name of the failed call, as "cuMemAlloc", or "" */
    char text[1456]; /* a complete sentence for the user, always NUL-terminated */
    nl_fault fault;  /* set only with NL_ERR_KERNEL */
} nl_error;

/* Sets the kind and the text of an error (printf format, truncated to fit) and returns -1, so that
 * callers can write `return nl_error_set(err, NL_ERR_VALUE, "...", ...);`. */
int nl_error_set(nl_error *err, nl_error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Makes an NL_ERR_KERNEL error from err->fault, which the caller must have filled. Returns -1. */
int nl_error_fault(nl_error *err);

/* Sets *err to an NL_ERR_MEMORY error for a request of `size` bytes. Returns -1. */
int nl_error_no_memory(nl_error *err, size_t size);

/* Inserts "prefix: " before the error's text, so that a caller can add the name of the kernel or
 * the parameter. */
void nl_error_prefix(nl_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

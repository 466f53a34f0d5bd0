/* base/error: the one error channel below Python.
 *
 * A function that can fail returns 0 or -1 and fills an nl_error that its caller owns. Nothing is
 * thread-local and nothing is printed; py/error.c alone turns an nl_error into an exception. */
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
    NL_ERR_SUPPORT,  /* CudaSupportError: something is not installed or too old */
    NL_ERR_CUDA,     /* CudaAPIError: code and call are set */
    NL_ERR_NVRTC,    /* NVRTC failed other than by the user's source: code and call are set */
    NL_ERR_KERNEL,   /* KernelError: a kernel made a mistake, of which `fault` tells */
    NL_ERR_TIMEOUT,  /* KernelTimeout: a kernel ran longer than a limit */
} nl_error_kind;

typedef struct nl_error {
    nl_error_kind kind;
    int code;        /* CUresult or nvrtcResult, 0 where it has no meaning */
    char call[48];   /* "cuMemAlloc": the call that failed, or "" */
    char text[1456]; /* a full sentence for the user, always NUL-terminated */
    nl_fault fault;  /* with NL_ERR_KERNEL; otherwise not even set */
} nl_error;

/* Sets kind and text (printf-style, truncated to fit) and returns -1, so that a failure reads
 * `return nl_error_set(err, NL_ERR_VALUE, "...", ...);`. */
int nl_error_set(nl_error *err, nl_error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* NL_ERR_KERNEL, after err->fault has been filled: makes the text of it; returns -1. */
int nl_error_fault(nl_error *err);

/* NL_ERR_MEMORY for a request of `size` bytes; returns -1. */
int nl_error_no_memory(nl_error *err, size_t size);

/* Puts "prefix: " before the text, for callers that know more (which kernel, which parameter). */
void nl_error_prefix(nl_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

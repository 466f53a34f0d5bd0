/* driver/nvrtc: the run-time compiler, loaded on first need from a path or from where the system
 * looks. Process-wide, stays loaded. */
#ifndef NL_DRIVER_NVRTC_H
#define NL_DRIVER_NVRTC_H

#include "base/error.h"
#include "driver/cuda_abi.h"

/* Loads NVRTC 12.0 or newer from `path`, or with NULL from the usual names. Once loaded it stays,
 * and asking again gives its version, whatever the path. */
int nl_nvrtc_open(const char *path, int *major, int *minor, nl_error *err);
/* Compute capabilities it compiles for, as 75, 90, ...; at most `capacity` are written. */
int nl_nvrtc_archs(int *archs, int capacity, int *count, nl_error *err);

typedef struct nl_nvrtc_source {
    const char *text, *name;
    int header_count;
    const char *const *headers, *const *include_names;
    int option_count;
    const char *const *options;
    int expression_count;
    const char *const *expressions;
} nl_nvrtc_source;

/* Everything is owned by the result and NUL-terminated; what the compiler did not make is NULL. */
typedef struct nl_nvrtc_result {
    nvrtcResult status; /* NVRTC_SUCCESS, or the source's or the options' fault: see the log */
    char *log;
    char *cubin, *ltoir, *ptx;
    size_t cubin_size, ltoir_size, ptx_size; /* ptx_size counts the NUL */
    int lowered_count;
    char **lowered; /* per expression */
} nl_nvrtc_result;

/* 0 with result->status set, or -1 where the failure is not the source's. Takes its time: call
 * without the interpreter's lock. Clear the result in either case. */
int nl_nvrtc_compile(const nl_nvrtc_source *source, nl_nvrtc_result *result, nl_error *err);
void nl_nvrtc_result_clear(nl_nvrtc_result *result);

#endif

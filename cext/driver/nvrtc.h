/* driver/nvrtc: loads the run-time compiler NVRTC at first use, from a given path or the system's
 * library search path. NVRTC is loaded once per process and stays loaded. */
#ifndef NL_DRIVER_NVRTC_H
#define NL_DRIVER_NVRTC_H

#include "base/error.h"
#include "driver/cuda_abi.h"

/* Loads NVRTC 12.0 or newer from `path`, or, if NULL, by its usual names. If NVRTC is already
 * loaded, ignores the path and returns the version. */
int nl_nvrtc_open(const char *path, int *major, int *minor, nl_error *err);
/* Writes the compute capabilities that NVRTC supports, as 75, 90, ..., to `archs`, which has space
 * for `capacity` numbers. Sets *count to the number of compute capabilities. */
int nl_nvrtc_list_archs(int *archs, int capacity, int *count, nl_error *err);
/* Writes the headers that NVRTC 13.3 and newer contain into `folder`. The function takes about a
 * second: call it without the interpreter's lock. Returns NL_ERR_SUPPORT for versions of NVRTC
 * before 13.3. */
int nl_nvrtc_install_headers(const char *folder, nl_error *err);

typedef struct nl_nvrtc_source {
    const char *text, *name;
    int header_count;
    const char *const *headers, *const *include_names;
    int option_count;
    const char *const *options;
    int expression_count;
    const char *const *expressions;
} nl_nvrtc_source;

/* The result owns its members, which are NUL-terminated. Outputs that the compiler did not write
 * are NULL. */
typedef struct nl_nvrtc_result {
    nvrtcResult status; /* NVRTC_SUCCESS, or an error in the source or the options, which the log
                         * describes */
    char *log;
    char *cubin, *ltoir, *ptx;
    size_t cubin_size, ltoir_size, ptx_size; /* ptx_size includes the NUL */
    int lowered_count;
    char **lowered; /* lowered (mangled) name of each name expression */
} nl_nvrtc_result;

/* Returns 0 with result->status set, or -1 for a failure not caused by the source. Compiling is
 * slow: call nl_nvrtc_compile without the interpreter's lock. The caller must clear the result in
 * both cases. */
int nl_nvrtc_compile(const nl_nvrtc_source *source, nl_nvrtc_result *result, nl_error *err);
void nl_nvrtc_result_clear(nl_nvrtc_result *result);

#endif

/* driver/cudalib: loads and calls the CUDA libraries above the driver. A loaded library is never
 * closed, because its work may be in progress. */
#include "driver/cudalib.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "base/lock.h"
#include "driver/driver.h"

/* ---- the libraries ---- */

#define GENERAL \
    [1] = "NOT_INITIALIZED", [2] = "ALLOC_FAILED", [3] = "INVALID_VALUE", [4] = "ARCH_MISMATCH", \
    [5] = "MAPPING_ERROR", [6] = "EXECUTION_FAILED", [7] = "INTERNAL_ERROR", \
    [8] = "MATRIX_TYPE_NOT_SUPPORTED"

enum { MAX_STATUSES = 20 };

static const struct {
    const char *name, *word; /* `name` of the library, and `word`, the prefix of its status names */
    const char *create, *set_stream;
    const char *statuses[MAX_STATUSES];
} libraries[NL_CUDALIB_COUNT] = {
    [NL_CUBLAS] = {"cublas",
                   "CUBLAS",
                   "cublasCreate_v2",
                   "cublasSetStream_v2",
                   {[1] = "NOT_INITIALIZED",
                    [3] = "ALLOC_FAILED",
                    [7] = "INVALID_VALUE",
                    [8] = "ARCH_MISMATCH",
                    [11] = "MAPPING_ERROR",
                    [13] = "EXECUTION_FAILED",
                    [14] = "INTERNAL_ERROR",
                    [15] = "NOT_SUPPORTED"}},
    [NL_CUFFT] = {"cufft",
                  "CUFFT",
                  NULL,
                  NULL,
                  {[1] = "INVALID_PLAN",
                   [2] = "ALLOC_FAILED",
                   [4] = "INVALID_VALUE",
                   [5] = "INTERNAL_ERROR",
                   [6] = "EXEC_FAILED",
                   [7] = "SETUP_FAILED",
                   [8] = "INVALID_SIZE",
                   [9] = "UNALIGNED_DATA",
                   [11] = "INVALID_DEVICE",
                   [13] = "NO_WORKSPACE",
                   [14] = "NOT_IMPLEMENTED",
                   [16] = "NOT_SUPPORTED",
                   [17] = "MISSING_DEPENDENCY",
                   [18] = "NVRTC_FAILURE",
                   [19] = "NVJITLINK_FAILURE"}},
    [NL_CUSOLVER] = {"cusolver",
                     "CUSOLVER",
                     "cusolverDnCreate",
                     "cusolverDnSetStream",
                     {GENERAL, [9] = "NOT_SUPPORTED"}},
    [NL_CUSPARSE] =
        {"cusparse",
         "CUSPARSE",
         "cusparseCreate",
         "cusparseSetStream",
         {GENERAL, [9] = "ZERO_PIVOT", [10] = "NOT_SUPPORTED", [11] = "INSUFFICIENT_RESOURCES"}},
};

int nl_cudalib_from_name(const char *name) {
    for (int i = 0; i < NL_CUDALIB_COUNT; ++i)
        if (strcmp(libraries[i].name, name) == 0)
            return i;
    return -1;
}

const char *nl_cudalib_status_name(nl_cudalib library, int status) {
    const char *found =
        status >= 0 && status < MAX_STATUSES ? libraries[library].statuses[status] : NULL;
    return found != NULL ? found : "unknown status";
}

int nl_cudalib_check(nl_cudalib library, int status, const char *call, nl_error *err) {
    if (status == 0)
        return 0;
    nl_error_set(err, NL_ERR_CUDA, "%s failed (%s_STATUS_%s)", call, libraries[library].word,
                 nl_cudalib_status_name(library, status));
    err->code = status;
    snprintf(err->call, sizeof err->call, "%s", call);
    return -1;
}

/* ---- loading ---- */

int nl_cudalib_find_function(const char *path, const char *name, nl_cudalib_function *out,
                             nl_error *err) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *reason = dlerror();
        return nl_error_set(err, NL_ERR_SUPPORT, "a CUDA library cannot be loaded (%s)",
                            reason != NULL ? reason : path);
    }
    void *symbol = dlsym(library, name);
    if (symbol == NULL)
        return nl_error_set(err, NL_ERR_SUPPORT, "%s has no %s: a newer version has it", path,
                            name);
    memcpy(out, &symbol, sizeof symbol);
    return 0;
}

int nl_cudalib_call_function(nl_cudalib_function function, const uintptr_t w[NL_CUDALIB_WORDS]) {
    return function(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12],
                    w[13], w[14], w[15], w[16], w[17], w[18], w[19], w[20], w[21], w[22], w[23]);
}

/* ---- opening ---- */

nl_cublas nl_cudalib_blas;
static struct {
    int (*create)(uintptr_t *handle);
    int (*set_stream)(uintptr_t handle, CUstream stream);
    uint64_t is_open; /* set when all functions of the library have been found */
} opened[NL_CUDALIB_COUNT];
static nl_mutex opening = NL_MUTEX_INIT;

/* Finds a function, and stores its address in a function pointer of any type. */
static int load_function(const char *path, const char *name, void *place, nl_error *err) {
    nl_cudalib_function found = NULL;
    if (nl_cudalib_find_function(path, name, &found, err) < 0)
        return -1;
    memcpy(place, &found, sizeof found);
    return 0;
}

static int load_cublas(const char *path, nl_error *err) {
    nl_cublas table = {0};
    if (nl_cu.FillCublas) {
        nl_cu.FillCublas(&table, &nl_cu);
    } else {
#define NL_LOAD(name, parameters) \
    if (load_function(path, "cublas" #name, &table.name, err) < 0) \
        return -1;
        NL_CUBLAS_CALLS(NL_LOAD)
#undef NL_LOAD
    }
    nl_cudalib_blas = table;
    opened[NL_CUBLAS].create = table.Create_v2;
    opened[NL_CUBLAS].set_stream = table.SetStream_v2;
    return 0;
}

static int load_handle_functions(nl_cudalib library, const char *path, nl_error *err) {
    const char *create = libraries[library].create;
    if (create == NULL)
        return 0;
    if (load_function(path, create, &opened[library].create, err) < 0)
        return -1;
    return load_function(path, libraries[library].set_stream, &opened[library].set_stream, err);
}

int nl_cudalib_open(nl_cudalib library, const char *path, nl_error *err) {
    int result = 0;
    nl_mutex_lock(&opening);
    if (!opened[library].is_open) {
        result = library == NL_CUBLAS ? load_cublas(path, err)
                                      : load_handle_functions(library, path, err);
        if (result == 0)
            nl_atomic_store(&opened[library].is_open, 1);
    }
    nl_mutex_unlock(&opening);
    return result;
}

int nl_cudalib_is_open(nl_cudalib library) {
    return nl_atomic_load(&opened[library].is_open) != 0;
}

int nl_cudalib_create(nl_cudalib library, uintptr_t *handle, nl_error *err) {
    int status = opened[library].create(handle);
    return nl_cudalib_check(library, status, libraries[library].create, err);
}

int nl_cudalib_set_stream(nl_cudalib library, uintptr_t handle, CUstream stream, nl_error *err) {
    int status = opened[library].set_stream(handle, stream);
    return nl_cudalib_check(library, status, libraries[library].set_stream, err);
}

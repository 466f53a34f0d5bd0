/* driver/cublas: loading the library. It stays loaded. */
#include "driver/cublas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "base/lock.h"
#include "driver/driver.h"

nl_cublas nl_blas;
static nl_mutex opening = NL_MUTEX_INIT;
static uint64_t is_open; /* set when the table is whole */

static int load(const char *path, nl_cublas *table, nl_error *err) {
    const char *missing = NULL;
    void *symbol, *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *reason = dlerror();
        return nl_error_set(err, NL_ERR_SUPPORT, "cuBLAS cannot be loaded (%s)",
                            reason ? reason : path);
    }
#define NL_FIND(name, parameters) \
    symbol = dlsym(library, "cublas" #name); \
    if (!symbol) \
        missing = "cublas" #name; \
    memcpy(&table->name, &symbol, sizeof symbol);
    NL_CUBLAS_CALLS(NL_FIND)
#undef NL_FIND
    if (!missing)
        return 0;
    dlclose(library);
    return nl_error_set(err, NL_ERR_SUPPORT, "%s has no %s: cuBLAS 12.0 or newer is needed", path,
                        missing);
}

int nl_cublas_is_open(void) {
    return nl_atomic_load(&is_open) != 0;
}

int nl_cublas_open(const char *path, nl_error *err) {
    nl_cublas table = {0};
    int result = 0;
    nl_mutex_lock(&opening);
    if (!is_open) {
        if (nl_cu.FillCublas)
            nl_cu.FillCublas(&table, &nl_cu);
        else
            result = load(path, &table, err);
        if (result == 0) {
            nl_blas = table;
            nl_atomic_store(&is_open, 1);
        }
    }
    nl_mutex_unlock(&opening);
    return result;
}

static const char *name_of(int status) {
    switch (status) {
    case 1:
        return "CUBLAS_STATUS_NOT_INITIALIZED";
    case 3:
        return "CUBLAS_STATUS_ALLOC_FAILED";
    case 7:
        return "CUBLAS_STATUS_INVALID_VALUE";
    case 8:
        return "CUBLAS_STATUS_ARCH_MISMATCH";
    case 11:
        return "CUBLAS_STATUS_MAPPING_ERROR";
    case 13:
        return "CUBLAS_STATUS_EXECUTION_FAILED";
    case 14:
        return "CUBLAS_STATUS_INTERNAL_ERROR";
    case 15:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
        return "an unknown status";
    }
}

int nl_cublas_check(int status, const char *call, nl_error *err) {
    if (status == CUBLAS_STATUS_SUCCESS)
        return 0;
    nl_error_set(err, NL_ERR_CUDA, "%s failed (%s)", call, name_of(status));
    err->code = status;
    snprintf(err->call, sizeof err->call, "%s", call);
    return -1;
}

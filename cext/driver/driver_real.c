/* driver/driver_real: fills the driver table from libcuda.
 *
 * The library is opened with dlopen, so that numbalite can be imported and can simulate without a
 * driver. Each function is requested by name and by the CUDA version whose signature this project
 * uses. The driver then returns the function with that signature, even if newer functions exist
 * (cuMemAlloc of version 3.2 is cuMemAlloc_v2 in the driver's headers). A function that an older
 * driver lacks becomes a stub that returns CUDA_ERROR_NOT_SUPPORTED. */
#include "driver/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define OLDEST_DRIVER 11040
/* CU_GET_PROC_ADDRESS_LEGACY_STREAM: stream 0 is the legacy default stream. */
#define PROC_LEGACY_STREAM 1

typedef CUresult (*proc_address_11030)(const char *name, void **function, int version,
                                       unsigned long long flags);
typedef CUresult (*proc_address_12000)(const char *name, void **function, int version,
                                       unsigned long long flags, int *found);

typedef struct {
    proc_address_11030 before_12;
    proc_address_12000 since_12;
} resolver;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define NL_STUB(name, version, parameters, arguments) \
    static CUresult missing_##name parameters { \
        return CUDA_ERROR_NOT_SUPPORTED; \
    }
NL_DRIVER_CALLS(NL_STUB)
#undef NL_STUB
#pragma GCC diagnostic pop

/* Copies a function pointer by memcpy, because ISO C has no cast from an object pointer to a
 * function pointer; POSIX guarantees the same representation. */
static void copy_function_pointer(void *to, const void *from) {
    memcpy(to, from, sizeof(void *));
}

static void find_symbol(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    copy_function_pointer(function, &symbol);
}

static void *get_proc_address(const resolver *from, const char *name, int version) {
    void *function = NULL;
    CUresult status;
    int found = 0;
    if (from->since_12 != NULL) {
        status = from->since_12(name, &function, version, PROC_LEGACY_STREAM, &found);
    } else {
        status = from->before_12(name, &function, version, PROC_LEGACY_STREAM);
    }
    return status == CUDA_SUCCESS ? function : NULL;
}

static int set_old_driver_error(int version, nl_error *err) {
    char found[64] = "";
    if (version != 0) {
        snprintf(found, sizeof found, " (this one is for CUDA %d.%d)", version / 1000,
                 version % 1000 / 10);
    }
    return nl_error_set(err, NL_ERR_SUPPORT,
                        "the NVIDIA driver is too old%s: "
                        "numbalite needs a driver for CUDA 11.4 or newer, that is 470 or newer; "
                        "without it, NUMBALITE_DRIVER=sim runs kernels on the CPU",
                        found);
}

/* The message includes dlerror's text, unless it is the usual "cannot open shared object file". */
static void *open_library(nl_error *err) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library != NULL)
        return library;
    const char *reason = dlerror();
    nl_error_set(err, NL_ERR_SUPPORT,
                 "no CUDA driver was found (%s): "
                 "install NVIDIA's driver for the GPU, or in a container start it with the GPUs; "
                 "without a GPU, NUMBALITE_DRIVER=sim runs kernels on the CPU",
                 reason != NULL ? reason : "libcuda.so.1 is missing");
    return NULL;
}

int nl_driver_real_fill(nl_driver *table, nl_error *err) {
    CUresult (*get_version)(int *) = NULL;
    resolver from = {NULL, NULL};
    int version = 0;
    void *library = open_library(err); /* the library is never closed, because the driver does not
                                        * support that */
    if (library == NULL)
        return -1;
    find_symbol(library, "cuDriverGetVersion", &get_version);
    if (get_version == NULL || get_version(&version) != CUDA_SUCCESS)
        version = 0;
    find_symbol(library, "cuGetProcAddress_v2", &from.since_12);
    if (from.since_12 == NULL)
        find_symbol(library, "cuGetProcAddress", &from.before_12);
    if (from.since_12 == NULL && from.before_12 == NULL)
        return set_old_driver_error(version, err);
    if (version < OLDEST_DRIVER)
        return set_old_driver_error(version, err);

#define NL_FILL(name, since, parameters, arguments) \
    { \
        void *function = get_proc_address(&from, "cu" #name, since); \
        table->name = missing_##name; \
        if (function != NULL) \
            copy_function_pointer(&table->name, &function); \
    }
    NL_DRIVER_CALLS(NL_FILL)
#undef NL_FILL
    table->kind = "cuda";
    table->TakeFault = NULL;
    table->SetChecks = NULL;
    table->SetProcessChecks = NULL;
    table->Checks = NULL;
    table->TakeVerdict = NULL;
    table->OpenProfile = NULL;
    table->TakeProfile = NULL;
    table->CloseProfile = NULL;
    table->SetCaller = NULL;
    table->StreamNumber = NULL;
    table->HostKnows = NULL;
    table->FillCublas = NULL;
    table->watches_freed = table->ends_waits = 0;
    table->memory_is_host = table->loads_host_code = 0;
    return 0;
}

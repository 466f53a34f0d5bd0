/* driver/nvrtc: loads NVRTC and compiles sources. */
#include "driver/nvrtc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "base/lock.h"
#include "base/mem.h"
#include "driver/nvrtc_calls.h"

#define OLDEST_MAJOR 12
/* The text of this message is the same as in numbalite/compilers/toolkit.py. */
#define INSTALL \
    "pip install \"cuda-toolkit[nvrtc,cudart,crt]>=13.3,==13.*\" (for a driver older than 580 " \
    "\"cuda-toolkit[nvrtc,cudart,cccl]==12.*\")"

static struct {
#define NL_DECLARE(name, parameters) nvrtcResult(*name) parameters;
    NL_NVRTC_CALLS(NL_DECLARE)
#undef NL_DECLARE
    const char *(*GetErrorString)(nvrtcResult status);
    /* NULL before NVRTC 13.3 */
    nvrtcResult (*InstallBundledHeaders)(const char *folder, int flags, const char **log);
} nvrtc;

static nl_mutex open_lock = NL_MUTEX_INIT;
static uint64_t is_open;
static int open_major, open_minor;

static int check_status(nvrtcResult status, const char *call, nl_error *err) {
    if (status == NVRTC_SUCCESS)
        return 0;
    if (status == NVRTC_ERROR_OUT_OF_MEMORY) {
        return nl_error_set(err, NL_ERR_MEMORY, "%s: the compiler ran out of host memory", call);
    }
    nl_error_set(err, NL_ERR_NVRTC, "%s failed with %s (%d)", call, nvrtc.GetErrorString(status),
                 (int)status);
    err->code = status;
    snprintf(err->call, sizeof err->call, "%s", call);
    return -1;
}

#define NVRTC(err, name, ...) check_status(nvrtc.name(__VA_ARGS__), "nvrtc" #name, (err))

static void *load_library(const char *path, nl_error *err) {
    static const char *const usual[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"};
    void *library = NULL;
    if (path != NULL) {
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    } else {
        for (size_t i = 0; library == NULL && i < sizeof usual / sizeof usual[0]; ++i) {
            library = dlopen(usual[i], RTLD_NOW | RTLD_LOCAL);
        }
    }
    if (library == NULL) {
        const char *reason = dlerror();
        nl_error_set(err, NL_ERR_SUPPORT,
                     "the compiler NVRTC cannot be loaded (%s): " INSTALL
                     ", or install the CUDA toolkit",
                     reason != NULL ? reason : "not found");
    }
    return library;
}

static int find_functions(void *library, nl_error *err) {
    const char *missing = NULL;
    void *symbol;
#define NL_FIND(name, parameters) \
    symbol = dlsym(library, "nvrtc" #name); \
    if (symbol == NULL) \
        missing = "nvrtc" #name; \
    memcpy(&nvrtc.name, &symbol, sizeof symbol);
    NL_NVRTC_CALLS(NL_FIND)
    NL_FIND(GetErrorString, )
#undef NL_FIND
    symbol = dlsym(library, "nvrtcInstallBundledHeaders");
    memcpy(&nvrtc.InstallBundledHeaders, &symbol, sizeof symbol);
    if (missing == NULL)
        return 0;
    return nl_error_set(err, NL_ERR_SUPPORT,
                        "the NVRTC that was found has no %s: numbalite needs NVRTC %d.0 or newer "
                        "(" INSTALL ")",
                        missing, OLDEST_MAJOR);
}

static int open_library_lock_held(const char *path, nl_error *err) {
    int major = 0, minor = 0;
    if (is_open)
        return 0;
    void *library = load_library(path, err);
    if (library == NULL)
        return -1;
    if (find_functions(library, err) < 0 || NVRTC(err, Version, &major, &minor) < 0)
        goto fail;
    if (major < OLDEST_MAJOR) {
        nl_error_set(err, NL_ERR_SUPPORT,
                     "NVRTC %d.%d is too old: numbalite needs %d.0 or newer (" INSTALL ")", major,
                     minor, OLDEST_MAJOR);
        goto fail;
    }
    open_major = major;
    open_minor = minor;
    nl_atomic_store(&is_open, 1);
    return 0;
fail:
    dlclose(library);
    return -1;
}

static void reset_lock_in_child(void) {
    nl_mutex_init(&open_lock);
}

int nl_nvrtc_open(const char *path, int *major, int *minor, nl_error *err) {
    nl_thread_call_in_child(reset_lock_in_child);
    nl_mutex_lock(&open_lock);
    int status = open_library_lock_held(path, err);
    nl_mutex_unlock(&open_lock);
    if (status < 0)
        return -1;
    *major = open_major;
    *minor = open_minor;
    return 0;
}

static int ensure_open(nl_error *err) {
    int major, minor;
    return nl_atomic_load(&is_open) ? 0 : nl_nvrtc_open(NULL, &major, &minor, err);
}

int nl_nvrtc_list_archs(int *archs, int capacity, int *count, nl_error *err) {
    int found = 0;
    if (ensure_open(err) < 0 || NVRTC(err, GetNumSupportedArchs, &found) < 0)
        return -1;
    int *all = nl_mem_alloc((size_t)(found > 0 ? found : 1) * sizeof *all, err);
    if (all == NULL)
        return -1;
    int status = NVRTC(err, GetSupportedArchs, all);
    if (status == 0) {
        *count = found < capacity ? found : capacity;
        memcpy(archs, all, (size_t)*count * sizeof *all);
    }
    nl_mem_free(all);
    return status;
}

int nl_nvrtc_install_headers(const char *folder, nl_error *err) {
    const char *log = NULL;
    if (ensure_open(err) < 0)
        return -1;
    if (nvrtc.InstallBundledHeaders == NULL) {
        return nl_error_set(err, NL_ERR_SUPPORT, "NVRTC %d.%d contains no headers: 13.3 is needed",
                            open_major, open_minor);
    }
    nvrtcResult status = nvrtc.InstallBundledHeaders(folder, 0, &log);
    if (check_status(status, "nvrtcInstallBundledHeaders", err) < 0) {
        if (log != NULL)
            nl_error_prefix(err, "%.900s", log);
        return -1;
    }
    return 0;
}

typedef nvrtcResult (*size_call)(nvrtcProgram program, size_t *size);
typedef nvrtcResult (*text_call)(nvrtcProgram program, char *text);

/* Reads one output of a program into NUL-terminated memory. A missing output is not an error,
 * because the options determine which outputs exist. */
static int read_output(nvrtcProgram program, size_call get_size, text_call get, char **out,
                       size_t *size, nl_error *err) {
    size_t bytes = 0;
    if (get_size(program, &bytes) != NVRTC_SUCCESS || bytes == 0)
        return 0;
    char *text = nl_mem_alloc(bytes + 1, err);
    if (text == NULL)
        return -1;
    if (get(program, text) != NVRTC_SUCCESS) {
        nl_mem_free(text);
        return 0;
    }
    text[bytes] = '\0';
    *out = text;
    *size = bytes;
    return 0;
}

static int read_lowered_names(nvrtcProgram program, const nl_nvrtc_source *source,
                              nl_nvrtc_result *result, nl_error *err) {
    if (source->expression_count == 0)
        return 0;
    result->lowered = nl_mem_zalloc((size_t)source->expression_count * sizeof(char *), err);
    if (result->lowered == NULL)
        return -1;
    result->lowered_count = source->expression_count;
    for (int i = 0; i < source->expression_count; ++i) {
        const char *name = NULL;
        if (NVRTC(err, GetLoweredName, program, source->expressions[i], &name) < 0) {
            nl_error_prefix(err, "%.300s", source->expressions[i]);
            return -1;
        }
        result->lowered[i] = nl_mem_strdup(name, err);
        if (result->lowered[i] == NULL)
            return -1;
    }
    return 0;
}

/* Returns whether a status is an error in the user's source or options, which the log describes. */
static int is_source_fault(nvrtcResult status) {
    return status == NVRTC_ERROR_COMPILATION || status == NVRTC_ERROR_INVALID_OPTION;
}

static int run_compiler(nvrtcProgram program, const nl_nvrtc_source *source,
                        nl_nvrtc_result *result, nl_error *err) {
    size_t log_size = 0;
    for (int i = 0; i < source->expression_count; ++i) {
        if (NVRTC(err, AddNameExpression, program, source->expressions[i]) < 0)
            return -1;
    }
    result->status = nvrtc.CompileProgram(program, source->option_count, source->options);
    if (read_output(program, nvrtc.GetProgramLogSize, nvrtc.GetProgramLog, &result->log, &log_size,
                    err) < 0) {
        return -1;
    }
    if (is_source_fault(result->status))
        return 0;
    if (check_status(result->status, "nvrtcCompileProgram", err) < 0) {
        if (result->log != NULL && result->log[0] != '\0')
            nl_error_prefix(err, "%.900s", result->log);
        return -1;
    }
    if (read_output(program, nvrtc.GetCUBINSize, nvrtc.GetCUBIN, &result->cubin,
                    &result->cubin_size, err) < 0 ||
        read_output(program, nvrtc.GetLTOIRSize, nvrtc.GetLTOIR, &result->ltoir,
                    &result->ltoir_size, err) < 0 ||
        read_output(program, nvrtc.GetPTXSize, nvrtc.GetPTX, &result->ptx, &result->ptx_size, err) <
            0) {
        return -1;
    }
    return read_lowered_names(program, source, result, err);
}

int nl_nvrtc_compile(const nl_nvrtc_source *source, nl_nvrtc_result *result, nl_error *err) {
    nvrtcProgram program = NULL;
    memset(result, 0, sizeof *result);
    if (ensure_open(err) < 0)
        return -1;
    if (NVRTC(err, CreateProgram, &program, source->text, source->name, source->header_count,
              source->headers, source->include_names) < 0) {
        return -1;
    }
    int status = run_compiler(program, source, result, err);
    nvrtc.DestroyProgram(&program);
    return status;
}

void nl_nvrtc_result_clear(nl_nvrtc_result *result) {
    for (int i = 0; i < result->lowered_count; ++i)
        nl_mem_free(result->lowered[i]);
    nl_mem_free(result->lowered);
    nl_mem_free(result->log);
    nl_mem_free(result->cubin);
    nl_mem_free(result->ltoir);
    nl_mem_free(result->ptx);
    memset(result, 0, sizeof *result);
}

/* driver/nvjitlink: loads nvJitLink, and links inputs to a cubin or returns the linker's log. */
#include "driver/nvjitlink.h"

#include <dlfcn.h>
#include <string.h>
#include "base/mem.h"
#include "driver/nvjitlink_calls.h"

typedef struct {
#define NL_DECLARE(name, parameters) nvJitLinkResult(*name) parameters;
    NL_NVJITLINK_CALLS(NL_DECLARE)
#undef NL_DECLARE
} calls;

static int load_library(const char *path, calls *linker, nl_error *err) {
    const char *missing = NULL;
    void *symbol, *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *reason = dlerror();
        return nl_error_set(err, NL_ERR_SUPPORT, "the linker nvJitLink cannot be loaded (%s)",
                            reason != NULL ? reason : path);
    }
#define NL_FIND(name, parameters) \
    symbol = dlsym(library, "nvJitLink" #name); \
    if (symbol == NULL) \
        missing = "nvJitLink" #name; \
    memcpy(&linker->name, &symbol, sizeof symbol);
    NL_NVJITLINK_CALLS(NL_FIND)
#undef NL_FIND
    if (missing == NULL)
        return 0;
    dlclose(library);
    return nl_error_set(err, NL_ERR_SUPPORT, "%s has no %s", path, missing);
}

static int read_log(const calls *linker, nvJitLinkHandle handle, nl_nvjitlink_result *result,
                    nl_error *err) {
    size_t size = 0;
    if (handle == NULL || linker->GetErrorLogSize(handle, &size) != 0 || size == 0)
        return 0;
    result->log = nl_mem_zalloc(size + 1, err);
    if (result->log == NULL)
        return -1;
    if (linker->GetErrorLog(handle, result->log) != 0)
        result->log[0] = '\0';
    return 0;
}

/* Links the inputs. The status of the first failed call becomes result->status. */
static int run_linker(const calls *linker, nvJitLinkHandle handle, int count,
                      const nl_nvjitlink_input *inputs, nl_nvjitlink_result *result,
                      nl_error *err) {
    for (int i = 0; i < count && result->status == 0; ++i)
        result->status =
            linker->AddData(handle, inputs[i].type, inputs[i].data, inputs[i].size, inputs[i].name);
    if (result->status == 0)
        result->status = linker->Complete(handle);
    if (result->status == 0)
        result->status = linker->GetLinkedCubinSize(handle, &result->cubin_size);
    if (result->status != 0)
        return 0;
    result->cubin = nl_mem_alloc(result->cubin_size > 0 ? result->cubin_size : 1, err);
    if (result->cubin == NULL)
        return -1;
    result->status = linker->GetLinkedCubin(handle, result->cubin);
    return 0;
}

int nl_nvjitlink_link(const char *path, int option_count, const char **options, int input_count,
                      const nl_nvjitlink_input *inputs, nl_nvjitlink_result *result,
                      nl_error *err) {
    calls linker = {0};
    nvJitLinkHandle handle = NULL;
    memset(result, 0, sizeof *result);
    if (load_library(path, &linker, err) < 0)
        return -1;
    int status = 0;
    result->status = linker.Create(&handle, (uint32_t)option_count, options);
    if (result->status == 0)
        status = run_linker(&linker, handle, input_count, inputs, result, err);
    if (status == 0 && result->status != 0)
        status = read_log(&linker, handle, result, err);
    if (handle != NULL)
        linker.Destroy(&handle);
    return status;
}

void nl_nvjitlink_result_clear(nl_nvjitlink_result *result) {
    nl_mem_free(result->log);
    nl_mem_free(result->cubin);
    memset(result, 0, sizeof *result);
}

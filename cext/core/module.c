/* core/module: loads images. The message of a failed load contains the assembler's log, because for
 * PTX only the log contains the reason. */
#include "core/module.h"

#include <stdint.h>
#include <string.h>
#include "base/mem.h"
#include "core/stop.h"

static uint64_t live;

size_t nl_module_live(void) {
    return nl_atomic_load(&live);
}

static int load_image(nl_module *module, const void *image, nl_error *err) {
    char log[1024] = "";
    int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    if (NL_CU(err, ModuleLoadDataEx, &module->handle, image, 2, options, values) == 0)
        return 0;
    log[sizeof log - 1] = '\0';
    if (log[0] != '\0') {
        size_t used = strlen(err->text), available = sizeof err->text - used - 1;
        if (available > 1) {
            err->text[used] = '\n';
            strncpy(err->text + used + 1, log, available - 1);
            err->text[sizeof err->text - 1] = '\0';
        }
    }
    return -1;
}

int nl_module_load(nl_device *dev, const void *image, size_t size, nl_module **out, nl_error *err) {
    if (size == 0)
        return nl_error_set(err, NL_ERR_VALUE, "an empty image cannot be loaded");
    if (nl_device_bind(dev, err) < 0)
        return -1;
    nl_module *module = nl_mem_zalloc(sizeof *module, err);
    if (module == NULL)
        return -1;
    if (load_image(module, image, err) < 0) {
        nl_mem_free(module);
        return -1;
    }
    module->references = 1;
    module->device = dev;
    module->generation = nl_atomic_load(&dev->generation);
    nl_atomic_add(&live, 1);
    *out = module;
    return 0;
}

void nl_module_retain(nl_module *module) {
    nl_atomic_add(&module->references, 1);
}

static void destroy_module(void *thing) {
    nl_module *module = thing;
    if (nl_device_bind_for_release(module->device, module->generation)) {
        CUresult status = nl_cu.CtxSynchronize();
        nl_driver_print_failure(status, "cuCtxSynchronize");
        nl_stop_remove_module(module->stop);
        /* if the wait failed, a kernel of the module may still be running */
        if (!nl_driver_is_ended_wait(status))
            nl_driver_print_failure(nl_cu.ModuleUnload(module->handle), "cuModuleUnload");
    } else {
        nl_stop_remove_module(module->stop);
    }
    nl_atomic_sub(&live, 1);
    nl_mem_free(module);
}

void nl_module_release(nl_module *module) {
    if (module == NULL || nl_atomic_sub(&module->references, 1) != 1)
        return;
    if (!nl_device_postpone_release(&module->later, destroy_module, module))
        destroy_module(module);
}

/* Adds the symbol's name to the error, because the driver's message does not contain the name. */
static int add_symbol_to_error(const char *lowered, nl_error *err) {
    nl_error_prefix(err, "%.200s", lowered);
    return -1;
}

int nl_module_find_function(nl_module *module, const char *lowered, CUfunction *out,
                            nl_error *err) {
    if (nl_device_check_generation(module->device, module->generation, err) < 0)
        return -1;
    if (nl_device_bind(module->device, err) < 0)
        return -1;
    if (NL_CU(err, ModuleGetFunction, out, module->handle, lowered) == 0)
        return 0;
    return add_symbol_to_error(lowered, err);
}

int nl_module_find_global(nl_module *module, const char *lowered, CUdeviceptr *address,
                          size_t *size, nl_error *err) {
    if (nl_device_check_generation(module->device, module->generation, err) < 0)
        return -1;
    if (nl_device_bind(module->device, err) < 0)
        return -1;
    if (NL_CU(err, ModuleGetGlobal, address, size, module->handle, lowered) == 0)
        return 0;
    return add_symbol_to_error(lowered, err);
}

static int find_record_address(nl_module *module, const char *lowered, size_t size,
                               CUdeviceptr *address, nl_error *err) {
    size_t bytes;
    *address = 0;
    if (*lowered == '\0')
        return 0;
    if (nl_module_find_global(module, lowered, address, &bytes, err) < 0)
        return -1;
    return bytes >= size
               ? 0
               : nl_error_set(err, NL_ERR_VALUE, "%.200s is too small for a record", lowered);
}

int nl_module_set_stop(nl_module *module, const char *flag, const char *failure, const char *sites,
                       size_t size, nl_error *err) {
    nl_stop_records records = {.sites = sites, .size = size};
    if (find_record_address(module, flag, nl_stop_record_size(), &records.flag, err) < 0 ||
        find_record_address(module, failure, nl_stop_failure_size(), &records.failure, err) < 0)
        return -1;
    return nl_stop_add_module(module->device, &records, &module->stop, err);
}

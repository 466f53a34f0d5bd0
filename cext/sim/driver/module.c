/* sim/driver/module: loads images, which are shared libraries; loading an image twice creates two
 * modules with separate variables. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "sim/driver/module.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/library.h"
#include "base/lock.h"
#include "base/mem.h"
#include "sim/debuginfo/elf.h"
#include "sim/driver/handle.h"
#include "sim/driver/variables.h"
#include "sim/engine/limits.h"
#include "sim/engine/memory.h"
#include "sim/engine/ops.h"

typedef struct global {
    void *address;
    struct global *next;
} global;

struct nl_sim_module {
    nl_sim_context *context;
    void *base;
    void *bytes; /* the bytes of the shared library, from which the symbol table is read */
    nl_sim_object object;
    nl_sim_function *functions;
    global *globals;
    int is_debug;
    int is_python;                    /* its kernels' bodies are Python */
    int traps_reals;                  /* uses the processor's exceptions (reals.h) */
    uint32_t checks;                  /* mask of the checks for which the module was compiled */
    nl_sim_module *twins, *next_twin; /* twins: modules of the same source, compiled for other
                                       * checks */
    /* for a twin: pairs of a variable of the twin and the same variable of the original module */
    nl_sim_variables *variables;
};

/* lock: protects the lists of all modules; loader_lock: held while a thread opens or closes a
 * library */
static nl_mutex lock = NL_MUTEX_INIT, loader_lock = NL_MUTEX_INIT;

/* Loading */

static void write_log(char *log, size_t size, const char *text) {
    if (log && size)
        snprintf(log, size, "%s", text ? text : "");
}

/* Returns a data object of the given size that this image itself defines (not a library on which it
 * depends). */
static const void *find_object(const nl_sim_module *m, const char *symbol, size_t size) {
    const void *address = dlsym(m->object.handle, symbol);
    Dl_info info;
    if (!address || !dladdr(address, &info) || info.dli_fbase != m->base)
        return NULL;
#ifdef __GLIBC__
    const ElfW(Sym) *entry = NULL;
    if (dladdr1(address, &info, (void **)&entry, RTLD_DL_SYMENT) && entry && entry->st_size != size)
        return NULL;
#endif
    (void)size;
    return address;
}

static CUresult open_library(nl_sim_module *m, char *log, size_t log_size) {
    nl_mutex_lock(&loader_lock);
    m->object.handle = nl_library_open(m->bytes, m->object.size);
    nl_mutex_unlock(&loader_lock);
    if (!m->object.handle) {
        write_log(log, log_size, dlerror());
        return CUDA_ERROR_INVALID_IMAGE;
    }
    nl_sim_image_init_fn init =
        (nl_sim_image_init_fn)(uintptr_t)dlsym(m->object.handle, "nl_sim_image_init");
    Dl_info info;
    if (!init || !dladdr((void *)(uintptr_t)init, &info)) {
        write_log(log, log_size, "the image does not define nl_sim_image_init");
        return CUDA_ERROR_INVALID_IMAGE;
    }
    m->base = info.dli_fbase;
    nl_sim_elf_extent(m->bytes, m->object.size, &m->object.low, &m->object.high,
                      &m->object.locals_size);
    m->object.low += (uintptr_t)m->base;
    m->object.high += (uintptr_t)m->base;
    m->is_debug = dlsym(m->object.handle, "nl_sim_debug") != NULL;
    m->is_python = dlsym(m->object.handle, "nl_sim_python") != NULL;
    m->traps_reals = dlsym(m->object.handle, "nl_sim_traps_reals") != NULL;
    const char *const *names = find_object(m, "nl_sim_names", sizeof *names);
    m->object.names = names ? *names : NULL;
    const unsigned *checks = find_object(m, "nl_sim_checks", sizeof *checks);
    m->checks = checks ? *checks : 0;
    init(&nl_sim_ops_of_engine);
    return CUDA_SUCCESS;
}

static void destroy_module(nl_sim_module *m);

/* Loads a module without registering its handle. */
static CUresult load_image(nl_sim_context *context, const void *image, nl_sim_module **out,
                           char *log, size_t log_size) {
    nl_sim_image_header header;
    const char *bytes = (const char *)image + sizeof header;
    memcpy(&header, image, sizeof header.magic);
    if (memcmp(header.magic, NL_SIM_IMAGE_MAGIC, sizeof header.magic) != 0) {
        write_log(log, log_size, "this is no image for the CPU simulator");
        return CUDA_ERROR_INVALID_IMAGE;
    }
    memcpy(&header, image, sizeof header);
    nl_sim_module *m = nl_mem_zalloc(sizeof *m, NULL);
    if (!m || header.size > PTRDIFF_MAX || !(m->bytes = nl_mem_alloc(header.size, NULL))) {
        nl_mem_free(m);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    m->context = context;
    m->object.size = header.size;
    memcpy(m->bytes, bytes, header.size);
    m->object.bytes = m->bytes;
    CUresult status = CUDA_ERROR_INVALID_IMAGE;
    if (nl_sim_elf_is_valid(m->bytes, m->object.size))
        status = open_library(m, log, log_size);
    else
        write_log(log, log_size, "the image contains no shared object for this machine");
    if (status == CUDA_SUCCESS)
        *out = m;
    else
        destroy_module(m);
    return status;
}

CUresult nl_sim_module_load(nl_sim_context *context, const void *image, nl_sim_module **out,
                            char *log, size_t log_size) {
    nl_sim_module *m;
    CUresult status = load_image(context, image, &m, log, log_size);
    if (status != CUDA_SUCCESS)
        return status;
    if (nl_sim_handle_add(NL_SIM_HANDLE_MODULE, context->device, m) < 0) {
        destroy_module(m);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = m;
    return CUDA_SUCCESS;
}

nl_sim_context *nl_sim_module_context(const nl_sim_module *module) {
    return module->context;
}

void nl_sim_module_destroy(nl_sim_module *m) {
    while (m->twins) {
        nl_sim_module *twin = m->twins;
        m->twins = twin->next_twin;
        destroy_module(twin);
    }
    destroy_module(m);
}

/* Frees a function after a delay, so that its address is not reused immediately: a thread that
 * still uses the address as a handle then receives an error, instead of launching another kernel
 * with its arguments. */
static void delay_free_function(nl_sim_function *f) {
    enum { RETIRED = 512 };
    static void *retired[RETIRED];
    static uint64_t count;
    free(nl_atomic_swap_pointer(&retired[nl_atomic_add(&count, 1) % RETIRED], f));
}

static void destroy_module(nl_sim_module *m) {
    while (m->functions) {
        nl_sim_function *f = m->functions;
        m->functions = f->next;
        (void)nl_sim_handle_remove(NL_SIM_HANDLE_FUNCTION, f);
        delay_free_function(f);
    }
    while (m->globals) {
        global *g = m->globals;
        m->globals = g->next;
        (void)nl_sim_memory_unregister(NL_SIM_MEMORY_GLOBAL, g->address);
        nl_mem_free(g);
    }
    if (m->object.handle) {
        nl_mutex_lock(&loader_lock);
        nl_library_close(m->object.handle);
        nl_mutex_unlock(&loader_lock);
    }
    nl_sim_variables_destroy(m->variables);
    nl_mem_free(m->bytes);
    nl_mem_free(m);
}

/* Symbols */

int nl_sim_module_max_threads(const nl_sim_function *f) {
    unsigned bound = f->kernel->max_threads;
    return bound > 0 && bound < NL_SIM_BLOCK_THREADS ? (int)bound : NL_SIM_BLOCK_THREADS;
}

/* maximum number of other kernels; kernels are exported as nl_sim_kernel_0, 1, ... if the image
 * compiler numbers them */
enum { MAX_OTHERS = 256 };

static size_t collect_other_kernels(const nl_sim_module *m, const nl_sim_kernel *self,
                                    const char **names) {
    size_t count = 0;
    for (int i = 0; count < MAX_OTHERS; i++) {
        char symbol[40];
        snprintf(symbol, sizeof symbol, "nl_sim_kernel_%d", i);
        const nl_sim_kernel *kernel = find_object(m, symbol, sizeof *kernel);
        if (!kernel)
            break;
        if (kernel != self)
            names[count++] = kernel->name;
    }
    return count;
}

static nl_sim_function *new_function(nl_sim_module *m, const nl_sim_kernel *kernel,
                                     const char *symbol) {
    const char *others[MAX_OTHERS];
    nl_sim_function *f = nl_mem_alloc_permanent(sizeof *f + strlen(symbol) + 1);
    if (!f)
        return NULL;
    strcpy(f->symbol, symbol);
    f->kernel = kernel;
    f->module = m;
    f->context = m->context;
    f->carveout = -1;
    size_t count = collect_other_kernels(m, kernel, others);
    /* Shared variables of functions that kernels call are counted for every kernel, so this size is
     * an upper bound. */
    size_t shared = nl_sim_elf_shared_size(m->bytes, m->object.size, kernel->name, others, count);
    f->static_shared = shared < NL_SIM_SHARED_DEFAULT ? (int)shared : NL_SIM_SHARED_DEFAULT;
    f->max_dynamic_shared = NL_SIM_SHARED_DEFAULT - f->static_shared;
    if (nl_sim_handle_add(NL_SIM_HANDLE_FUNCTION, m->context->device, f) < 0) {
        free(f);
        return NULL;
    }
    f->next = m->functions;
    m->functions = f;
    return f;
}

/* Twins */

static nl_sim_module *find_twin_lock_held(const nl_sim_module *m, uint32_t mask) {
    nl_sim_module *twin = m->twins;
    while (twin && twin->checks != mask)
        twin = twin->next_twin;
    return twin;
}

static CUresult make_twin(nl_sim_module *m, uint32_t mask, nl_checks_compile_fn compile,
                          nl_sim_module **out, char *log, size_t log_size) {
    void *image = NULL;
    nl_sim_module *twin = NULL;
    if (!compile) {
        write_log(log, log_size, "no compiler of kernels for checks was set (SetProcessChecks)");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (compile(m->bytes, m->object.size, mask, &image, log, log_size) < 0)
        return CUDA_ERROR_INVALID_SOURCE;
    CUresult status = load_image(m->context, image, &twin, log, log_size);
    free(image);
    if (status != CUDA_SUCCESS)
        return status;
    twin->checks = mask;
    twin->variables = nl_sim_variables_create(&m->object, &twin->object);
    if (!twin->variables) {
        destroy_module(twin);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    nl_mutex_lock(&lock);
    /* another thread has loaded the twin while this thread compiled it */
    nl_sim_module *other = find_twin_lock_held(m, mask);
    if (!other) {
        twin->next_twin = m->twins;
        m->twins = twin;
    }
    nl_mutex_unlock(&lock);
    if (other)
        destroy_module(twin);
    *out = other ? other : twin;
    return CUDA_SUCCESS;
}

CUresult nl_sim_module_find_twin(nl_sim_function *function, uint32_t mask,
                                 nl_checks_compile_fn compile, nl_sim_function **out, char *log,
                                 size_t log_size) {
    if (function->module->checks == mask) {
        *out = function;
        return CUDA_SUCCESS;
    }
    nl_mutex_lock(&lock);
    nl_sim_module *twin = find_twin_lock_held(function->module, mask);
    nl_mutex_unlock(&lock);
    CUresult status = CUDA_SUCCESS;
    if (!twin)
        status = make_twin(function->module, mask, compile, &twin, log, log_size);
    if (status == CUDA_SUCCESS)
        status = nl_sim_module_function(twin, function->symbol, out);
    return status;
}

uint32_t nl_sim_module_get_checks(const nl_sim_module *m) {
    return m->checks;
}

int nl_sim_module_traps_reals(const nl_sim_module *m) {
    return m->traps_reals;
}

const nl_sim_object *nl_sim_module_get_object(const nl_sim_module *m) {
    return &m->object;
}

int nl_sim_module_is_debug(const nl_sim_module *m) {
    return m->is_debug;
}

int nl_sim_module_is_python(const nl_sim_module *m) {
    return m->is_python;
}

const nl_sim_parameters *nl_sim_module_parameters(const nl_sim_function *f) {
    char symbol[48];
    unsigned index;
    if (sscanf(f->symbol, "nl_sim_kernel_%u", &index) != 1)
        return NULL;
    snprintf(symbol, sizeof symbol, "nl_sim_parameters_%u", index);
    return find_object(f->module, symbol, sizeof(nl_sim_parameters));
}

nl_sim_variables *nl_sim_module_variables(const nl_sim_module *m) {
    return m->variables;
}

CUresult nl_sim_module_function(nl_sim_module *m, const char *symbol, nl_sim_function **out) {
    CUresult status = CUDA_SUCCESS;
    nl_mutex_lock(&lock);
    nl_sim_function *f = m->functions;
    while (f && strcmp(f->symbol, symbol) != 0)
        f = f->next;
    if (!f) {
        const nl_sim_kernel *kernel = find_object(m, symbol, sizeof *kernel);
        if (!kernel)
            status = CUDA_ERROR_NOT_FOUND;
        else if (kernel->abi != NL_SIM_ABI)
            status = CUDA_ERROR_INVALID_IMAGE;
        else if (!(f = new_function(m, kernel, symbol)))
            status = CUDA_ERROR_OUT_OF_MEMORY;
    }
    nl_mutex_unlock(&lock);
    if (status == CUDA_SUCCESS)
        *out = f;
    return status;
}

nl_sim_function *nl_sim_module_find_function(nl_sim_module *m, const nl_sim_kernel *kernel) {
    for (int i = 0;; i++) {
        char symbol[40];
        nl_sim_function *f;
        snprintf(symbol, sizeof symbol, "nl_sim_kernel_%d", i);
        const nl_sim_kernel *found = find_object(m, symbol, sizeof *found);
        if (!found)
            return NULL;
        if (found->run_thread == kernel->run_thread)
            return nl_sim_module_function(m, symbol, &f) == CUDA_SUCCESS ? f : NULL;
    }
}

/* Registers a variable's memory, so that copies to and from the variable are accepted. */
static CUresult register_global(nl_sim_module *m, const nl_sim_global *found) {
    for (global *g = m->globals; g; g = g->next) {
        if (g->address == found->address)
            return CUDA_SUCCESS;
    }
    global *g = nl_mem_alloc(sizeof *g, NULL);
    if (!g)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = nl_sim_memory_register(NL_SIM_MEMORY_GLOBAL, m->context->device,
                                             found->address, (size_t)found->size);
    if (status != CUDA_SUCCESS) {
        nl_mem_free(g);
        return status;
    }
    *g = (global){found->address, m->globals};
    m->globals = g;
    return CUDA_SUCCESS;
}

CUresult nl_sim_module_global(nl_sim_module *m, const char *symbol, void **address, size_t *size) {
    const nl_sim_global *found = find_object(m, symbol, sizeof *found);
    if (!found)
        return CUDA_ERROR_NOT_FOUND;
    if (found->abi != NL_SIM_ABI)
        return CUDA_ERROR_INVALID_IMAGE;
    nl_mutex_lock(&lock);
    CUresult status = register_global(m, found);
    nl_mutex_unlock(&lock);
    if (status != CUDA_SUCCESS)
        return status;
    *address = found->address;
    *size = (size_t)found->size;
    return CUDA_SUCCESS;
}

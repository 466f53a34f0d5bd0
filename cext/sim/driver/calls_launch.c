/* sim/driver/calls_launch: implements launches: the driver's checks, the copy of the arguments, and
 * the handling of faults. */
#include "sim/driver/calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/lock.h"
#include "sim/check/check.h"
#include "sim/driver/checked.h"
#include "sim/driver/exec.h"
#include "sim/driver/function.h"
#include "sim/driver/handle.h"
#include "sim/driver/lasterror.h"
#include "sim/driver/stream.h"
#include "sim/driver/streamclock.h"
#include "sim/driver/variables.h"
#include "sim/engine/fault.h"
#include "sim/engine/grid.h"
#include "sim/engine/heap.h"
#include "sim/engine/limits.h"
#include "sim/engine/memory.h"
#include "sim/engine/nested.h"
#include "sim/engine/worker.h"

typedef struct shape {
    nl_sim_dim grid, block;
    unsigned shared;
    int cooperative;
    nl_sim_dim cluster; /* cluster size; all zeros means the kernel's cluster size, or no
                         * clusters */
} shape;

typedef struct launch_op {
    nl_sim_op op;
    char caller[NL_SIM_CALLER]; /* the user's source line; "": unavailable */
    nl_sim_job job;
    nl_checks checks;
    /* the function that runs: the launched function, or its twin that was compiled for these
     * checks */
    nl_sim_function *function;
    size_t words; /* of the arguments */
    void **pointers;
    uintptr_t arguments[]; /* the values of the arguments, then the pointers to them */
} launch_op;

/* Adds the source line of the launch to a fault that has no line in the kernel. */
static void add_launch_line(nl_fault *fault, const launch_op *l) {
    if (!fault->at.file[0])
        snprintf(fault->launch, sizeof fault->launch, "%s", l->caller);
}

/* Returns the number (from 1) of the parameter that contains this word of the arguments, or 0 if
 * there is none. */
static unsigned parameter_of_word(const launch_op *l, size_t word) {
    const char *at = (const char *)(l->arguments + word);
    for (unsigned i = 0; i < l->job.kernel->param_count; i++) {
        const char *low = l->pointers[i];
        if (at >= low && at < low + l->job.kernel->params[i].size)
            return i + 1;
    }
    return 0;
}

/* Reports that a kernel has written past the bounds of an allocation whose address is in its
 * arguments. */
static void check_guard_bytes(const launch_op *l, nl_sim_stream *stream) {
    char damage[NL_SIM_MEMORY_TEXT], parameter[48] = "";
    nl_fault fault;
    size_t word;
    if (!nl_sim_memory_check_guards(l->arguments, l->words, damage, &word))
        return;
    int checked = (l->checks.mask & NL_CHECK_MEMORY) != 0;
    unsigned number = parameter_of_word(l, word);
    if (number)
        snprintf(parameter, sizeof parameter, ", the memory of parameter %u", number);
    nl_fault_init(&fault, NL_CHECK_MEMORY, NL_FAULT_HEAD_KERNEL,
                  nl_sim_fault_kernel_name(l->job.kernel));
    nl_fault_set_text(
        &fault, "%s%s%s", damage, parameter,
        checked ? "" : "; run it under `with cuda.checks():` to see the thread and the line");
    add_launch_line(&fault, l);
    nl_sim_stream_set_failed(stream, CUDA_ERROR_ILLEGAL_ADDRESS, &fault);
}

/* Runs the grid of a launch. `function` is NULL if the kernel was launched by a kernel. On failure,
 * job->fault is set. */
static CUresult run_grid(const launch_op *l, nl_sim_job *job, const nl_sim_function *function,
                         nl_sim_stream *stream) {
    int plain = !l->checks.mask && !l->checks.shuffled;
    const nl_sim_module *module = l->function->module;
    job->is_python = nl_sim_module_is_python(module);
    if (plain)
        return nl_sim_grid_run(job);
    return nl_sim_checked_run(
        &(nl_sim_checked){.checks = &l->checks,
                          .image = nl_sim_module_get_object(module),
                          .parameters = function ? nl_sim_module_parameters(function) : NULL,
                          .traps_reals = nl_sim_module_traps_reals(module),
                          .stream = stream},
        job);
}

/* Runs the launch `c`, which was made by a kernel. A fault is stored in l->job, the job of the
 * host's launch. */
static CUresult run_child_launch(launch_op *l, nl_sim_child *c, nl_sim_child **pending,
                                 nl_sim_stream *stream) {
    nl_sim_function *f = nl_sim_module_find_function(l->function->module, &c->kernel);
    nl_sim_job *job = calloc(1, sizeof *job);
    if (!job) {
        nl_fault_init(&l->job.fault, 0, NL_FAULT_HEAD_KERNEL, c->kernel.name);
        nl_fault_set_text(&l->job.fault, "there is no memory to run it");
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    job->launch = c->launch;
    job->kernel = &c->kernel;
    job->image = l->job.image;
    job->history = f ? &f->history : &c->history;
    job->stack_size = l->job.stack_size;
    job->overlap = l->job.overlap;
    job->depth = c->depth;
    nl_sim_job_open(job);
    nl_sim_stream_set_running_job(stream, job);
    CUresult status = run_grid(l, job, f, stream);
    nl_sim_stream_set_running_job(stream, NULL);
    nl_sim_nested_take_pending(job, pending);
    if (status != CUDA_SUCCESS) {
        l->job.fault = job->fault;
        size_t length = strlen(l->job.fault.what);
        snprintf(l->job.fault.what + length, sizeof l->job.fault.what - length,
                 "; %s launched it at %s, line %d", c->parent, c->site.file, c->site.line);
    }
    nl_sim_job_close(job);
    free(job);
    return status;
}

/* Applies the time limit to kernels that launch each other forever. */
static CUresult check_time_limit(launch_op *l, const nl_sim_child *c) {
    uint64_t limit = l->checks.mask & NL_CHECK_HANG ? l->checks.limit_ms : 0;
    if (!limit || nl_clock_ns() - l->job.started < limit * 1000000)
        return CUDA_SUCCESS;
    nl_fault_init(&l->job.fault, NL_CHECK_HANG, NL_FAULT_HEAD_KERNEL,
                  nl_sim_fault_kernel_name(l->job.kernel));
    nl_fault_set_text(&l->job.fault,
                      "the launches of its kernels still run after %g s, the limit: "
                      "%s launches %s at %s, line %d",
                      (double)limit / 1000, c->parent, c->kernel.name, c->site.file, c->site.line);
    return CUDA_ERROR_LAUNCH_TIMEOUT;
}

/* Runs all launches that the kernels of a grid have made, and recursively the launches of these
 * launches. The grid is complete when all these launches have ended. */
static CUresult run_child_launches(launch_op *l, CUresult status, nl_sim_stream *stream) {
    nl_sim_child *pending = NULL, *c;
    nl_sim_nested_take_pending(&l->job, &pending);
    while ((c = nl_sim_nested_pop(&pending))) {
        if (status == CUDA_SUCCESS)
            status = check_time_limit(l, c);
        if (status == CUDA_SUCCESS)
            status = run_child_launch(l, c, &pending, stream);
        free(c);
    }
    return status;
}

static void run_launch(nl_sim_op *op, nl_sim_stream *stream) {
    launch_op *l = (launch_op *)op;
    nl_sim_job_open(&l->job);
    l->job.overlap = op->overlap;
    nl_sim_stream_set_running_job(stream, &l->job);
    if (!(l->checks.mask & NL_CHECK_ACCESSES)) {
        nl_sim_memory_mark_all_written();
        nl_sim_heap_mark_all_written();
    }
    nl_sim_variables *variables = nl_sim_module_variables(l->function->module);
    if (variables)
        nl_sim_variables_copy_to_twin(variables);
    CUresult status = run_grid(l, &l->job, l->function, stream);
    if (l->job.children)
        status = run_child_launches(l, status, stream);
    if (variables)
        nl_sim_variables_copy_from_twin(variables);
    nl_sim_stream_set_running_job(stream, NULL);
    if (status != CUDA_SUCCESS) {
        add_launch_line(&l->job.fault, l);
        nl_sim_stream_set_failed(stream, status, &l->job.fault);
    }
    check_guard_bytes(l, stream);
    nl_sim_job_close(&l->job);
}

/* Checks */

/* Returns an error if the launch and the kernel specify different cluster sizes. */
static CUresult check_cluster(const nl_sim_function *f, const shape *s) {
    const nl_sim_dim *c = &s->cluster, *own = &f->kernel->cluster, *g = &s->grid;
    unsigned blocks = c->x * c->y * c->z;
    if (!c->x)
        return CUDA_SUCCESS;
    if (own->x && (own->x != c->x || own->y != c->y || own->z != c->z))
        return CUDA_ERROR_INVALID_VALUE;
    unsigned most = f->any_cluster || own->x ? NL_SIM_CLUSTER_BLOCKS_MOST : NL_SIM_CLUSTER_BLOCKS;
    if (!c->y || !c->z || c->x > most || c->y > most || c->z > most || blocks > most ||
        g->x % c->x || g->y % c->y || g->z % c->z)
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    return CUDA_SUCCESS;
}

static CUresult check_launch_shape(const nl_sim_function *f, const shape *s) {
    const nl_sim_dim *g = &s->grid, *b = &s->block;
    NL_SIM_REQUIRE(g->x && g->y && g->z && b->x && b->y && b->z);
    NL_SIM_REQUIRE(g->x <= NL_SIM_GRID_X && g->y <= NL_SIM_GRID_Y && g->z <= NL_SIM_GRID_Z);
    NL_SIM_REQUIRE(b->x <= NL_SIM_BLOCK_X && b->y <= NL_SIM_BLOCK_Y && b->z <= NL_SIM_BLOCK_Z);
    unsigned threads = b->x * b->y * b->z;
    NL_SIM_REQUIRE(threads <= (unsigned)nl_sim_module_max_threads(f));
    NL_SIM_REQUIRE(s->shared <= nl_atomic_load32_relaxed((const uint32_t *)&f->max_dynamic_shared));
    NL_SIM_REQUIRE((size_t)s->shared + (size_t)f->static_shared <= NL_SIM_SHARED_OPTIN);
    CUresult status = check_cluster(f, s);
    if (status != CUDA_SUCCESS || !s->cooperative)
        return status;
    uint64_t blocks = (uint64_t)g->x * g->y * g->z;
    uint64_t fit =
        (uint64_t)nl_sim_calls_module_occupancy(f, (int)threads, s->shared) * nl_sim_worker_limit();
    return blocks > fit ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE : CUDA_SUCCESS;
}

/* Arguments */

/* Returns the size of the parameter block in bytes. */
static size_t block_size(const nl_sim_kernel *kernel) {
    size_t at = 0;
    for (unsigned i = 0; i < kernel->param_count; i++) {
        size_t align = kernel->params[i].align;
        at = (at + align - 1) / align * align + kernel->params[i].size;
    }
    return at;
}

/* Returns the packed arguments of `extra`, which contains pairs of a tag and a pointer: tag 0 ends
 * the list, tag 1 is for the block, tag 2 for the address of the block's size. */
static const char *find_packed_arguments(void **extra, size_t needed) {
    const char *block = NULL;
    size_t size = 0;
    for (; extra && extra[0]; extra += 2) {
        if ((uintptr_t)extra[0] == 1)
            block = extra[1];
        else if ((uintptr_t)extra[0] == 2)
            size = *(const size_t *)extra[1];
        else
            return NULL;
    }
    return size >= needed ? block : NULL;
}

enum { MAX_ALIGN = 64 }; /* maximum alignment of a parameter */

/* Copies the arguments to a new launch operation. Returns NULL with *status set on failure. */
static launch_op *make_launch(const nl_sim_kernel *kernel, void **params, void **extra,
                              CUresult *status) {
    size_t bytes = block_size(kernel), count = kernel->param_count;
    const char *packed = params ? NULL : find_packed_arguments(extra, bytes);
    *status = CUDA_ERROR_INVALID_VALUE;
    if (count && !params && !packed)
        return NULL;
    size_t words = (bytes + MAX_ALIGN + sizeof(uintptr_t) - 1) / sizeof(uintptr_t);
    launch_op *l = malloc(sizeof *l + (words + count) * sizeof(uintptr_t));
    *status = CUDA_ERROR_OUT_OF_MEMORY;
    if (!l)
        return NULL;
    memset(l, 0, offsetof(launch_op, job.fault));
    memset(l->arguments, 0, words * sizeof(uintptr_t));
    l->words = words;
    l->pointers = (void **)(l->arguments + words);
    char *base = (char *)(((uintptr_t)l->arguments + MAX_ALIGN - 1) / MAX_ALIGN * MAX_ALIGN);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const nl_sim_param *p = &kernel->params[i];
        at = (at + p->align - 1) / p->align * p->align;
        memcpy(base + at, params ? params[i] : packed + at, p->size);
        l->pointers[i] = base + at;
        at += p->size;
    }
    *status = CUDA_SUCCESS;
    return l;
}

static nl_sim_op *copy_launch(const nl_sim_op *op) {
    const launch_op *from = (const launch_op *)op;
    CUresult status;
    launch_op *l = make_launch(from->job.kernel, from->pointers, NULL, &status);
    if (!l)
        return NULL;
    l->op.run = run_launch;
    l->op.copy = copy_launch;
    l->op.flags = from->op.flags;
    l->op.name = from->op.name;
    memcpy(l->caller, from->caller, sizeof l->caller);
    l->job.kernel = from->job.kernel;
    l->job.image = from->job.image;
    l->job.history = from->job.history;
    l->job.stack_size = from->job.stack_size;
    l->job.launch = from->job.launch;
    l->job.launch.args = l->pointers;
    l->checks = from->checks;
    l->function = from->function;
    return &l->op;
}

/* Returns the size of a fiber's stack: the minimum for C code on the CPU, plus the stack limit that
 * the program has set. */
static size_t stack_size(const nl_sim_context *context) {
    size_t asked = context->stack_limit;
    return NL_SIM_STACK_MIN + (asked > NL_SIM_STACK_MIN / 4 ? asked : 0);
}

/* Returns the function to run if `f` is launched with these checks: `f` itself, or its twin that
 * was compiled for these checks. Returns NULL with *status set on failure. */
static nl_sim_function *find_checked_twin(nl_sim_function *f, const nl_checks *checks,
                                          CUresult *status) {
    char log[900] = "";
    nl_fault fault;
    uint32_t mask = nl_checks_of_image(checks->mask);
    nl_sim_function *twin = NULL;
    if (!mask && !nl_sim_module_get_checks(f->module))
        return f;
    *status = CUDA_ERROR_OUT_OF_MEMORY;
    nl_fault_init(&fault, 0, NL_FAULT_HEAD_NONE, nl_sim_fault_kernel_name(f->kernel));
    if (mask && nl_sim_memory_enable_shadow(nl_sim_heap_enable_shadow) < 0) {
        nl_fault_set_text(&fault,
                          "kernels cannot be checked: no address space for the shadow memory "
                          "(a limit of the process, or of the system)");
        nl_sim_lasterror_store_fault(0, &fault);
        return NULL;
    }
    *status = nl_sim_module_find_twin(f, mask, nl_sim_check_get_compiler(), &twin, log, sizeof log);
    if (*status == CUDA_SUCCESS)
        return twin;
    nl_fault_set_text(&fault, "kernel %s cannot be %s: %s", fault.kernel,
                      mask ? "checked" : "compiled",
                      *status == CUDA_ERROR_OUT_OF_MEMORY ? "there is not enough memory" : log);
    nl_sim_lasterror_store_fault(0, &fault);
    return NULL;
}

/* Creates the launch operation, with a copy of the arguments. Returns NULL with *status set on
 * failure. */
static launch_op *create_launch(nl_sim_function *f, const shape *given, size_t stack, void **params,
                                void **extra, CUresult *status) {
    shape whole = *given, *s = &whole;
    if (!s->cluster.x)
        s->cluster = f->kernel->cluster;
    *status = check_launch_shape(f, s);
    if (*status != CUDA_SUCCESS)
        return NULL;
    nl_checks checks = *nl_sim_check_of_thread();
    checks.mask = nl_checks_of_launch(checks.mask, nl_sim_module_is_debug(f->module));
    if (!(f = find_checked_twin(f, &checks, status)))
        return NULL;
    launch_op *l = make_launch(f->kernel, params, extra, status);
    if (!l)
        return NULL;
    l->op.run = run_launch;
    l->op.copy = copy_launch;
    l->op.flags = NL_SIM_OP_LAUNCH;
    l->op.name = nl_sim_fault_kernel_name(f->kernel);
    if ((checks.mask & NL_CHECK_STREAM) && nl_sim_streamclock_open() == 0)
        l->op.flags |= NL_SIM_OP_WATCHED;
    l->checks = checks;
    l->function = f;
    l->job.kernel = f->kernel;
    l->job.image = nl_sim_module_get_object(f->module);
    l->job.history = &f->history;
    l->job.stack_size = stack;
    l->job.launch = (nl_sim_launch){.grid = s->grid,
                                    .block = s->block,
                                    .shared_bytes = s->shared,
                                    .cooperative = (unsigned)s->cooperative,
                                    .args = l->pointers,
                                    .cluster = s->cluster};
    return l;
}

static CUresult launch_function(CUfunction handle, const shape *s, CUstream stream_handle,
                                void **params, void **extra) {
    NL_SIM_BEGIN_IN(context);
    CUresult status;
    nl_sim_function *f = nl_sim_calls_module_function(handle);
    if (!f)
        return CUDA_ERROR_INVALID_HANDLE;
    NL_SIM_STREAM(stream, context, stream_handle);
    if (f->context != stream->context)
        return CUDA_ERROR_INVALID_HANDLE;
    launch_op *l = create_launch(f, s, stack_size(context), params, extra, &status);
    if (!l)
        return status;
    nl_sim_streamclock_get_caller(l->caller);
    nl_sim_stream_issue(stream, &l->op);
    return CUDA_SUCCESS;
}

static CUresult sim_LaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared, CUstream stream, void **params,
                                 void **extra) {
    shape s = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, 0, {0, 0, 0}};
    return launch_function(function, &s, stream, params, extra);
}

static CUresult sim_LaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                            unsigned grid_z, unsigned block_x, unsigned block_y,
                                            unsigned block_z, unsigned shared, CUstream stream,
                                            void **params) {
    shape s = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, 1, {0, 0, 0}};
    return launch_function(function, &s, stream, params, NULL);
}

static CUresult sim_LaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params,
                                   void **extra) {
    NL_SIM_BEGIN();
    NL_SIM_REQUIRE(config && (config->attrs || !config->numAttrs));
    shape s = {{config->gridDimX, config->gridDimY, config->gridDimZ},
               {config->blockDimX, config->blockDimY, config->blockDimZ},
               config->sharedMemBytes,
               0,
               {0, 0, 0}};
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *a = &config->attrs[i];
        if (a->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
            s.cooperative = a->value.cooperative != 0;
        else if (a->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            s.cluster =
                (nl_sim_dim){a->value.clusterDim.x, a->value.clusterDim.y, a->value.clusterDim.z};
    }
    return launch_function(function, &s, config->hStream, params, extra);
}

static CUresult sim_GraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                 const CUDA_KERNEL_NODE_PARAMS_v1 *p) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(p);
    CUresult status;
    nl_sim_function *f = nl_sim_calls_module_function(p->func);
    if (!f || !nl_sim_handle_is_registered(NL_SIM_HANDLE_EXEC, exec))
        return CUDA_ERROR_INVALID_HANDLE;
    const launch_op *old = (const launch_op *)nl_sim_exec_find_operation((nl_sim_exec *)exec, node);
    NL_SIM_REQUIRE(old && old->op.run == run_launch);
    shape s = {{p->gridDimX, p->gridDimY, p->gridDimZ},
               {p->blockDimX, p->blockDimY, p->blockDimZ},
               p->sharedMemBytes,
               (int)old->job.launch.cooperative,
               old->job.launch.cluster};
    launch_op *l = create_launch(f, &s, stack_size(context), p->kernelParams, p->extra, &status);
    if (!l)
        return status;
    memcpy(l->caller, old->caller, sizeof l->caller);
    nl_sim_exec_replace_operation((nl_sim_exec *)exec, node, &l->op);
    return CUDA_SUCCESS;
}

void nl_sim_calls_launch_fill(nl_driver *table) {
    table->LaunchKernel = sim_LaunchKernel;
    table->GraphExecKernelNodeSetParams = sim_GraphExecKernelNodeSetParams;
    table->LaunchKernelEx = sim_LaunchKernelEx;
    table->LaunchCooperativeKernel = sim_LaunchCooperativeKernel;
}

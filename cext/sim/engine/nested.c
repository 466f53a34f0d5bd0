/* sim/engine/nested: copies and stores the launches that kernels make. A launch with invalid
 * parameters is reported as a fault of the calling thread. On a GPU, a launch with invalid
 * parameters would only set an error code, which few kernels check. */
#include "sim/engine/nested.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/lock.h"
#include "sim/engine/fault.h"
#include "sim/engine/limits.h"
#include "sim/engine/worker.h"

enum { MAX_LEVELS = 24, MAX_ALIGN = 64 };

static int is_size_within(nl_sim_dim size, unsigned x, unsigned y, unsigned z) {
    return size.x && size.y && size.z && size.x <= x && size.y <= y && size.z <= z;
}

/* Writes the error of a launch to `text`; returns 0 if the launch is valid. */
static int describe_invalid_launch(const nl_sim_nested *n, unsigned depth, char *text,
                                   size_t size) {
    const nl_sim_dim *g = &n->grid, *b = &n->block;
    uint64_t threads = (uint64_t)b->x * b->y * b->z;
    if (!is_size_within(*g, NL_SIM_GRID_X, NL_SIM_GRID_Y, NL_SIM_GRID_Z))
        return snprintf(
            text, size,
            "launches %s with a grid of (%u,%u,%u) blocks, which exceeds the limits of GPUs",
            n->name, g->x, g->y, g->z);
    if (!is_size_within(*b, NL_SIM_BLOCK_X, NL_SIM_BLOCK_Y, NL_SIM_BLOCK_Z) ||
        threads > NL_SIM_MAX_THREADS)
        return snprintf(text, size,
                        "launches %s with blocks of (%u,%u,%u) threads: "
                        "the limit is %d threads",
                        n->name, b->x, b->y, b->z, NL_SIM_MAX_THREADS);
    if (n->shared_bytes > NL_SIM_SHARED_OPTIN)
        return snprintf(text, size,
                        "launches %s with %llu bytes of dynamic shared memory: "
                        "the limit is %d bytes",
                        n->name, n->shared_bytes, NL_SIM_SHARED_OPTIN);
    if (depth > MAX_LEVELS)
        return snprintf(text, size, "launches %s, one level deeper than the %d that CUDA allows",
                        n->name, MAX_LEVELS);
    return 0;
}

static size_t align_offset(size_t at, size_t align) {
    return (at + align - 1) / align * align;
}

static nl_sim_child *copy_launch(const nl_sim_nested *n) {
    const nl_sim_kernel *kernel = n->kernel;
    size_t count = kernel->param_count, bytes = MAX_ALIGN;
    for (size_t i = 0; i < count; i++)
        bytes = align_offset(bytes, kernel->params[i].align) + kernel->params[i].size;
    nl_sim_child *c = calloc(1, sizeof *c + count * sizeof(void *) + bytes);
    if (!c)
        return NULL;
    uintptr_t at = align_offset((uintptr_t)(c->args + count), MAX_ALIGN);
    for (size_t i = 0; i < count; i++) {
        at = align_offset(at, kernel->params[i].align);
        c->args[i] = memcpy((void *)at, n->args[i], kernel->params[i].size);
        at += kernel->params[i].size;
    }
    c->kernel = *kernel;
    c->kernel.name = n->name;
    c->launch = (nl_sim_launch){.grid = n->grid,
                                .block = n->block,
                                .shared_bytes = (unsigned)n->shared_bytes,
                                .args = c->args};
    c->is_tail = n->is_tail;
    c->site = n->site;
    return c;
}

void nl_sim_nested_launch(const nl_sim_nested *n, unsigned thread) {
    nl_sim_worker *w = nl_sim_worker_current;
    nl_sim_job *job = w->job;
    char text[300];
    unsigned depth = job->depth + !n->is_tail; /* a tail launch has the same depth as its parent */
    if (w->replaying)
        return;
    if (describe_invalid_launch(n, depth, text, sizeof text))
        nl_sim_fault_raise(w, CUDA_ERROR_INVALID_VALUE, 0, text, thread, n->site);
    nl_sim_child *c = copy_launch(n);
    if (!c)
        nl_sim_fault_raise(w, CUDA_ERROR_OUT_OF_MEMORY, 0, "no memory for a launch", thread,
                           n->site);
    c->depth = depth;
    c->parent = nl_sim_fault_kernel_name(w->kernel);
    nl_mutex_lock(&job->lock);
    c->next = job->children;
    job->children = c;
    nl_mutex_unlock(&job->lock);
}

void nl_sim_nested_take_pending(nl_sim_job *job, nl_sim_child **pending) {
    for (int tails = 1; tails >= 0; tails--) {
        /* the newest launch is first in the list, so inserting each at the front restores the
         * launch order */
        for (nl_sim_child **at = &job->children; *at;) {
            nl_sim_child *c = *at;
            if (c->is_tail != tails) {
                at = &c->next;
                continue;
            }
            *at = c->next;
            c->next = *pending;
            *pending = c;
        }
    }
}

nl_sim_child *nl_sim_nested_pop(nl_sim_child **pending) {
    nl_sim_child *c = *pending;
    if (c)
        *pending = c->next;
    return c;
}

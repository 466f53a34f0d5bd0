/* driver/timed: while a profile is open, replaces the launching calls of the table by calls that
 * record an event before and after the launch. */
#include "driver/timed.h"

#include <stdio.h>
#include "base/lock.h"
#include "base/mem.h"
#include "driver/driver.h"

enum { SHARED_BYTES = 1, LOCAL_BYTES = 3, REGISTERS = 4 }; /* CUfunction_attribute */

typedef struct launch {
    CUevent start, end;
    nl_profile *profile;
    struct launch *next;
} launch;

typedef struct session {
    uint64_t token, outer; /* outer: token of the thread's profile that encloses this profile */
    launch *first, **last;
    struct session *next;
} session;

static nl_mutex lock = NL_MUTEX_INIT;
static session *sessions;
static uint64_t last_token;
static nl_driver inner;                  /* the driver table with its original functions */
static NL_THREAD_LOCAL uint64_t current; /* token of the thread's innermost open profile */

static session *find_session_lock_held(uint64_t token) {
    session *s = sessions;
    while (s && s->token != token)
        s = s->next;
    return s;
}

/* Launches */

static void destroy_launch(launch *l) {
    if (l->start)
        (void)inner.EventDestroy(l->start);
    if (l->end)
        (void)inner.EventDestroy(l->end);
    nl_mem_free(l->profile);
    nl_mem_free(l);
}

static int is_capturing(CUstream stream) {
    int status = 0;
    return inner.StreamIsCapturing(stream, &status) != CUDA_SUCCESS || status != 0;
}

static void describe_kernel(nl_profile *p, CUfunction function, size_t shared) {
    const char *name = NULL;
    if (inner.FuncGetName(&name, function) != CUDA_SUCCESS || !name)
        name = "kernel"; /* drivers before CUDA 12.3 */
    snprintf(p->kernel, sizeof p->kernel, "%s", name);
    (void)inner.FuncGetAttribute(&p->measured.registers, REGISTERS, function);
    (void)inner.FuncGetAttribute(&p->measured.local_bytes, LOCAL_BYTES, function);
    (void)inner.FuncGetAttribute(&p->measured.static_shared_bytes, SHARED_BYTES, function);
    int threads = (int)(p->block[0] * p->block[1] * p->block[2]);
    (void)inner.OccupancyMaxActiveBlocksPerMultiprocessor(&p->measured.resident_blocks, function,
                                                          threads, shared);
    p->shared_bytes = shared;
}

/* Begins the timing of a launch; returns NULL if the launch is not timed. */
static launch *begin_timed_launch(CUfunction function, const unsigned *sizes, size_t shared,
                                  CUstream stream) {
    if (!current || is_capturing(stream))
        return NULL;
    launch *l = nl_mem_zalloc(sizeof *l, NULL);
    if (!l)
        return NULL;
    l->profile = nl_mem_zalloc(sizeof *l->profile, NULL);
    if (!l->profile || inner.EventCreate(&l->start, 0) != CUDA_SUCCESS ||
        inner.EventCreate(&l->end, 0) != CUDA_SUCCESS) {
        destroy_launch(l);
        return NULL;
    }
    for (int i = 0; i < 3; i++) {
        l->profile->grid[i] = sizes[i];
        l->profile->block[i] = sizes[3 + i];
    }
    describe_kernel(l->profile, function, shared);
    (void)inner.EventRecord(l->start, stream);
    return l;
}

static CUresult end_timed_launch(launch *l, CUstream stream, CUresult status) {
    if (!l)
        return status;
    if (status != CUDA_SUCCESS || inner.EventRecord(l->end, stream) != CUDA_SUCCESS) {
        destroy_launch(l);
        return status;
    }
    nl_mutex_lock(&lock);
    session *s = find_session_lock_held(current);
    if (s) {
        *s->last = l;
        s->last = &l->next;
    }
    nl_mutex_unlock(&lock);
    if (!s)
        destroy_launch(l);
    return status;
}

static CUresult timed_LaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared, CUstream stream,
                                   void **params, void **extra) {
    unsigned sizes[] = {grid_x, grid_y, grid_z, block_x, block_y, block_z};
    launch *l = begin_timed_launch(function, sizes, shared, stream);
    return end_timed_launch(l, stream,
                            inner.LaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y,
                                               block_z, shared, stream, params, extra));
}

static CUresult timed_LaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                              unsigned grid_z, unsigned block_x, unsigned block_y,
                                              unsigned block_z, unsigned shared, CUstream stream,
                                              void **params) {
    unsigned sizes[] = {grid_x, grid_y, grid_z, block_x, block_y, block_z};
    launch *l = begin_timed_launch(function, sizes, shared, stream);
    return end_timed_launch(l, stream,
                            inner.LaunchCooperativeKernel(function, grid_x, grid_y, grid_z, block_x,
                                                          block_y, block_z, shared, stream,
                                                          params));
}

static CUresult timed_LaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                                     void **params, void **extra) {
    unsigned sizes[] = {config->gridDimX,  config->gridDimY,  config->gridDimZ,
                        config->blockDimX, config->blockDimY, config->blockDimZ};
    launch *l = begin_timed_launch(function, sizes, config->sharedMemBytes, config->hStream);
    return end_timed_launch(l, config->hStream,
                            inner.LaunchKernelEx(config, function, params, extra));
}

static void replace_calls_lock_held(void) {
    inner = nl_cu;
    nl_atomic_store_entry(&nl_cu.LaunchKernel, timed_LaunchKernel);
    nl_atomic_store_entry(&nl_cu.LaunchCooperativeKernel, timed_LaunchCooperativeKernel);
    nl_atomic_store_entry(&nl_cu.LaunchKernelEx, timed_LaunchKernelEx);
}

/* Restores the table's original calls. Threads that have read a replaced entry may still call the
 * replacement, so `inner` stays valid. */
static void restore_calls_lock_held(void) {
    nl_atomic_store_entry(&nl_cu.LaunchKernel, inner.LaunchKernel);
    nl_atomic_store_entry(&nl_cu.LaunchCooperativeKernel, inner.LaunchCooperativeKernel);
    nl_atomic_store_entry(&nl_cu.LaunchKernelEx, inner.LaunchKernelEx);
}

/* Sessions */

uint64_t nl_timed_open(void) {
    session *s = nl_mem_zalloc(sizeof *s, NULL);
    if (!s)
        return 0;
    nl_mutex_lock(&lock);
    if (!sessions)
        replace_calls_lock_held();
    uint64_t token = s->token = ++last_token;
    s->last = &s->first;
    s->outer = current;
    s->next = sessions;
    sessions = s;
    nl_mutex_unlock(&lock);
    current = token;
    return token;
}

static launch *pop_launch(uint64_t token) {
    nl_mutex_lock(&lock);
    session *s = find_session_lock_held(token);
    launch *l = s ? s->first : NULL;
    if (l) {
        s->first = l->next;
        if (!s->first)
            s->last = &s->first;
    }
    nl_mutex_unlock(&lock);
    return l;
}

nl_profile *nl_timed_pop(uint64_t token) {
    launch *l = pop_launch(token);
    if (!l)
        return NULL;
    float milliseconds = 0;
    CUresult status = inner.EventSynchronize(l->end);
    if (status == CUDA_SUCCESS)
        status = inner.EventElapsedTime(&milliseconds, l->start, l->end);
    nl_profile *p = l->profile;
    l->profile = NULL;
    p->token = token;
    p->incomplete = status != CUDA_SUCCESS;
    p->measured.is_there = 1;
    p->measured.milliseconds = (double)milliseconds;
    destroy_launch(l);
    return p;
}

void nl_timed_close(uint64_t token) {
    launch *l;
    while ((l = pop_launch(token)))
        destroy_launch(l);
    nl_mutex_lock(&lock);
    session **at = &sessions;
    while (*at && (*at)->token != token)
        at = &(*at)->next;
    session *s = *at;
    if (s) {
        if (current == token)
            current = s->outer;
        *at = s->next;
        if (!sessions)
            restore_calls_lock_held();
    }
    nl_mutex_unlock(&lock);
    nl_mem_free(s);
}

/* core/wait: implements interruptible replacements of the driver's blocking calls. The replacement
 * of cuX is awaited_X. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "core/wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/mem.h"
#include "core/capture.h"

enum {
    DRAIN_NS = 500000000,
    NAP_NS = 100000,      /* time in nanoseconds between polls after a wait has taken longer than
                           * NL_INTERRUPT_NS */
    STAGED_BYTES = 65536, /* maximum size in bytes of a copy for which the driver stages pageable
                           * memory */
    LAUNCHES = 192,       /* number of launches of a thread after which the thread records an
                           * event */
    /* number of events per thread; a launch blocks in the driver if about 1024 launches are
     * queued */
    MARKS = 4,
};

static nl_driver inner; /* the original driver table, which the replacement functions call */
static int adapts_all;
static uint64_t ended;
static uint64_t process_limit; /* nanoseconds; 0: no limit */
static uint64_t has_unordered, resets;
typedef int (*stop_fn)(const nl_wait_end *end, char *text, size_t size);
static stop_fn stopper;
static int (*have_failed)(void);
static int (*take_failure)(nl_fault *fault);

static NL_THREAD_LOCAL struct {
    int held;
    int has_limit;  /* set if the thread has its own time limit */
    uint64_t limit; /* nanoseconds */
    /* time at which a wait first found unfinished work, or 0 after a wait that did not end early */
    uint64_t busy_since;
} here;

/* ------------------------------------------------------------------------------------ settings */

void nl_wait_adapt_every_table(void) {
    adapts_all = 1;
}

void nl_wait_hold_interrupts(void) {
    here.held++;
}

void nl_wait_release_interrupts(void) {
    here.held--;
}

void nl_wait_set_stopper(stop_fn stop) {
    nl_atomic_store_entry(&stopper, stop);
}

void nl_wait_set_failure_hooks(int (*have)(void), int (*take)(nl_fault *fault)) {
    nl_atomic_store_entry(&take_failure, take);
    nl_atomic_store_entry(&have_failed, have);
}

/* Converts the status of a completed wait to NL_STATUS_FAILED if an assert has failed. */
static CUresult status_after_wait(CUresult status) {
    int (*have)(void) = nl_atomic_load_entry(&have_failed);
    return status == CUDA_SUCCESS && have != NULL && have() ? NL_STATUS_FAILED : status;
}

static int was_wait_ended(CUresult status) {
    return status == NL_STATUS_FAILED || nl_driver_is_ended_wait(status);
}

static int awaited_TakeFault(nl_fault *fault) {
    int (*take)(nl_fault *) = nl_atomic_load_entry(&take_failure);
    if (take != NULL && take(fault))
        return 1;
    return inner.TakeFault != NULL && inner.TakeFault(fault);
}

void nl_wait_set_has_unordered(void) {
    nl_atomic_store(&has_unordered, 1);
}

void nl_wait_note_reset(void) {
    nl_atomic_add(&resets, 1);
}

static uint64_t to_nanoseconds(double seconds) {
    return (uint64_t)(seconds * 1e9);
}

void nl_wait_set_limit(double seconds) {
    here.has_limit = seconds >= 0;
    here.limit = here.has_limit ? to_nanoseconds(seconds) : 0;
    here.busy_since = 0;
}

void nl_wait_set_process_limit(double seconds) {
    nl_atomic_store(&process_limit, to_nanoseconds(seconds));
}

static uint64_t wait_limit_of_thread(void) {
    return here.has_limit ? here.limit : nl_atomic_load(&process_limit);
}

void nl_wait_end_all_waits(void) {
    nl_atomic_store(&ended, 1);
}

int nl_wait_was_any_ended(void) {
    return nl_atomic_load(&ended) != 0;
}

#ifdef __GLIBC__
static void exit_process(int status, void *Py_unused) {
    (void)Py_unused;
    fflush(NULL);
    _exit(status);
}

/* The driver has registered its exit functions before, so this exit function is called first. */
void nl_wait_register_exit(void) {
    if (inner.kind != NULL)
        (void)on_exit(exit_process, NULL);
}
#else
void nl_wait_register_exit(void) {}
#endif

/* ------------------------------------------------------------------------------------- waiting */

typedef CUresult query_fn(void *handle);

static CUresult query_stream(void *handle) {
    return inner.StreamQuery(handle);
}
static CUresult query_event(void *handle) {
    return inner.EventQuery(handle);
}

/* Returns whether an interrupt or a time limit can end a wait of this thread. Returns 0 for a
 * thread that captures a stream, because a driver query may invalidate the capture. */
static int can_end_wait(void) {
    return inner.kind != NULL && !here.held && nl_mutex_held == 0 &&
           (wait_limit_of_thread() || nl_interrupt_is_possible(0)) &&
           !nl_capture_is_active_in_thread();
}

static query_fn query_context;

static const char limit_passed[] =
    "the time limit has passed: the kernel runs on, because it was not compiled to be stopped; "
    "compile it with stoppable=True or set NUMBALITE_STOPPABLE=1";
static const char runs_on[] =
    "only the wait has ended: the kernel runs on, because it was not compiled to be stopped; "
    "compile it with stoppable=True or set NUMBALITE_STOPPABLE=1, then Ctrl-C stops it; "
    "the host memory that it uses stays allocated";

/* Ends a wait early: stops the kernels if possible, and formats the message. `elapsed` is the time
 * in nanoseconds since the wait began. */
static CUresult end_wait_early(query_fn *query, void *handle, uint64_t elapsed, int is_timeout) {
    char text[900];
    nl_wait_end end = {query, handle, query_context, elapsed, is_timeout};
    stop_fn stop = nl_atomic_load_entry(&stopper);
    nl_wait_hold_interrupts();
    int stopped = stop != NULL && stop(&end, text, sizeof text);
    nl_wait_release_interrupts();
    if (!stopped)
        nl_wait_end_all_waits();
    if (stopped)
        here.busy_since = 0;
    if (!is_timeout) {
        nl_interrupt_report(stopped ? text : runs_on);
        return NL_STATUS_INTERRUPTED;
    }
    nl_driver_describe_timeout(stopped ? text : limit_passed);
    return NL_STATUS_TIMEOUT;
}

static void sleep_briefly(uint64_t waited) {
    if (waited >= NL_INTERRUPT_NS)
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    else
        nl_thread_pause();
}

/* Polls until the query returns another status than CUDA_ERROR_NOT_READY, and returns that status,
 * or an NL_STATUS_... value if the wait ends early. */
static CUresult poll_until_done(query_fn *query, void *handle) {
    CUresult status;
    uint64_t begun = 0, asked = 0;
    while ((status = query(handle)) == CUDA_ERROR_NOT_READY) {
        uint64_t time = nl_clock_ns(), limit = wait_limit_of_thread();
        if (begun == 0) {
            if (nl_interrupt_is_pending())
                return NL_STATUS_INTERRUPTED;
            begun = asked = time;
            if (here.busy_since == 0)
                here.busy_since = time;
        }
        if (time - asked >= NL_INTERRUPT_NS) {
            asked = time;
            if (nl_interrupt_is_possible(0) && nl_interrupt_is_requested())
                return end_wait_early(query, handle, time - begun, 0);
        }
        if (limit && time - here.busy_since >= limit)
            return end_wait_early(query, handle, time - here.busy_since, 1);
        sleep_briefly(time - begun);
    }
    here.busy_since = 0;
    return status_after_wait(status);
}

static CUresult wait_for_stream(CUstream stream) {
    return can_end_wait() ? poll_until_done(query_stream, stream) : CUDA_SUCCESS;
}

int nl_wait_for_idle_stream(CUstream stream, nl_error *err) {
    CUresult status = wait_for_stream(stream);
    return was_wait_ended(status) ? nl_driver_check(status, "cuStreamQuery", err) : 0;
}

int nl_wait_until_idle(CUstream stream) {
    return !nl_driver_is_ended_wait(nl_cu.StreamSynchronize(stream));
}

/* ------------------------------------------------------------------- waits in a helper thread */

/* cuCtxSynchronize also waits for streams that are not ordered with the default stream, and no
 * driver query covers all streams. So a helper thread calls cuCtxSynchronize, and the waiting
 * thread polls the state of this job. The helper thread and the waiting thread each hold a
 * reference to the job; the last reference frees it. */
typedef struct {
    CUcontext context;
    uint64_t users, is_done;
    CUresult status;
} job;

static void release_helper_job(job *j) {
    if (nl_atomic_sub(&j->users, 1) == 1)
        nl_mem_free(j);
}

static void *synchronize_thread(void *data) {
    job *j = data;
    CUresult status = inner.CtxSetCurrent(j->context);
    j->status = status == CUDA_SUCCESS ? inner.CtxSynchronize() : status;
    nl_atomic_store(&j->is_done, 1);
    release_helper_job(j);
    return NULL;
}

static CUresult query_helper_job(void *data) {
    return nl_atomic_load(&((job *)data)->is_done) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static job *start_helper(void) {
    nl_error ignored;
    nl_thread thread;
    sigset_t all, before;
    job *j = nl_mem_zalloc(sizeof *j, &ignored);
    if (j == NULL || inner.CtxGetCurrent(&j->context) != CUDA_SUCCESS) {
        nl_mem_free(j);
        return NULL;
    }
    j->users = 2;
    sigfillset(&all);
    nl_thread_swap_signals(&all, &before);
    int status = nl_thread_start(&thread, synchronize_thread, j, 0, &ignored);
    nl_thread_set_signals(&before);
    if (status < 0) {
        nl_mem_free(j);
        return NULL;
    }
    nl_thread_detach(thread);
    return j;
}

static CUresult synchronize_with_helper(void) {
    job *j = start_helper();
    if (j == NULL)
        return CUDA_SUCCESS;
    CUresult result = poll_until_done(query_helper_job, j);
    if (result == CUDA_SUCCESS)
        result = j->status;
    release_helper_job(j);
    return result;
}

/* Returns whether all work of the current context is complete, on all its streams; for
 * core/stop. */
static CUresult query_context(void *Py_unused) {
    (void)Py_unused;
    CUresult status = inner.StreamQuery(NULL);
    job *j = status == CUDA_SUCCESS && nl_atomic_load(&has_unordered) ? start_helper() : NULL;
    if (j == NULL)
        return status;
    uint64_t begun = nl_clock_ns();
    while ((status = query_helper_job(j)) == CUDA_ERROR_NOT_READY &&
           nl_clock_ns() - begun < DRAIN_NS)
        sleep_briefly(NL_INTERRUPT_NS);
    release_helper_job(j);
    return status;
}

/* ------------------------------------------------------------------------------------ the calls */

static CUresult awaited_StreamSynchronize(CUstream stream) {
    CUresult status = wait_for_stream(stream);
    return nl_driver_is_ended_wait(status) ? status
                                           : status_after_wait(inner.StreamSynchronize(stream));
}

static CUresult awaited_EventSynchronize(CUevent event) {
    CUresult status = can_end_wait() ? poll_until_done(query_event, event) : CUDA_SUCCESS;
    return nl_driver_is_ended_wait(status) ? status
                                           : status_after_wait(inner.EventSynchronize(event));
}

/* The driver's own call is made last in every case, because it prints the output of printf in
 * kernels. */
static CUresult awaited_CtxSynchronize(void) {
    CUresult status = wait_for_stream(NULL);
    if (status == CUDA_SUCCESS && can_end_wait() && nl_atomic_load(&has_unordered))
        status = synchronize_with_helper();
    if (nl_driver_is_ended_wait(status))
        return status;
    status = inner.CtxSynchronize();
    if (status == CUDA_SUCCESS)
        nl_atomic_store(&ended, 0); /* now no kernel is running */
    return status_after_wait(status);
}

static int is_pageable(const void *host) {
    int type = 0, attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    void *values[] = {&type};
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)host;
    return inner.PointerGetAttributes(1, &attribute, values, address) != CUDA_SUCCESS || type == 0;
}

/* Waits for the stream's earlier work before a copy of pageable memory, which otherwise blocks in
 * the driver. */
static CUresult wait_before_copy(const void *host, CUstream stream) {
    return can_end_wait() && inner.StreamQuery(stream) == CUDA_ERROR_NOT_READY && is_pageable(host)
               ? poll_until_done(query_stream, stream)
               : CUDA_SUCCESS;
}

static CUresult awaited_MemcpyHtoD(CUdeviceptr to, const void *from, size_t size) {
    CUresult status = wait_for_stream(NULL);
    return was_wait_ended(status) ? status : status_after_wait(inner.MemcpyHtoD(to, from, size));
}

static CUresult awaited_MemcpyDtoH(void *to, CUdeviceptr from, size_t size) {
    CUresult status = wait_for_stream(NULL);
    return was_wait_ended(status) ? status : status_after_wait(inner.MemcpyDtoH(to, from, size));
}

static CUresult awaited_MemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t size,
                                        CUstream stream) {
    CUresult status = size > STAGED_BYTES ? wait_before_copy(from, stream) : CUDA_SUCCESS;
    return was_wait_ended(status) ? status : inner.MemcpyHtoDAsync(to, from, size, stream);
}

static CUresult awaited_MemcpyDtoHAsync(void *to, CUdeviceptr from, size_t size, CUstream stream) {
    CUresult status = wait_before_copy(to, stream);
    return was_wait_ended(status) ? status : inner.MemcpyDtoHAsync(to, from, size, stream);
}

static CUresult awaited_Memcpy3DAsync(const CUDA_MEMCPY3D *box, CUstream stream) {
    CUresult status = CUDA_SUCCESS;
    if (box->dstMemoryType == CU_MEMORYTYPE_HOST)
        status = wait_before_copy(box->dstHost, stream);
    else if (box->srcMemoryType == CU_MEMORYTYPE_HOST)
        status = wait_before_copy(box->srcHost, stream);
    return was_wait_ended(status) ? status : inner.Memcpy3DAsync(box, stream);
}

/* Waits before a driver call that frees memory, because such calls wait for the device. After an
 * interrupt, returns an error if a kernel is running; then the memory is leaked. */
static CUresult wait_before_release(void) {
    if (!can_end_wait())
        return CUDA_SUCCESS;
    if (nl_wait_was_any_ended())
        return inner.StreamQuery(NULL) == CUDA_ERROR_NOT_READY ? NL_STATUS_INTERRUPTED
                                                               : CUDA_SUCCESS;
    return poll_until_done(query_stream, NULL);
}

static CUresult awaited_MemFree(CUdeviceptr address) {
    CUresult status = wait_before_release();
    return nl_driver_is_ended_wait(status) ? status : inner.MemFree(address);
}

static CUresult awaited_MemFreeHost(void *memory) {
    CUresult status = wait_before_release();
    return nl_driver_is_ended_wait(status) ? status : inner.MemFreeHost(memory);
}

static CUresult awaited_MemHostUnregister(void *memory) {
    CUresult status = wait_before_release();
    return nl_driver_is_ended_wait(status) ? status : inner.MemHostUnregister(memory);
}

static CUresult awaited_ModuleUnload(CUmodule module) {
    CUresult status = wait_before_release();
    return nl_driver_is_ended_wait(status) ? status : inner.ModuleUnload(module);
}

/* ------------------------------------------------------------------------------------ launches */

/* A launch blocks in the driver if too many launches are queued, and a blocked launch cannot be
 * interrupted. So each thread records an event (a mark) after every LAUNCHES launches. Before it
 * records a mark, the thread waits for the mark that it recorded MARKS marks earlier. */
static NL_THREAD_LOCAL struct {
    uint64_t count, resets;
    /* number of created marks, number of recorded marks, index of the next mark */
    int made, recorded, next;
    CUevent marks[MARKS];
} queue;

static int create_queue_events(void) {
    uint64_t now = nl_atomic_load(&resets);
    if (queue.made && queue.resets == now)
        return 1;
    queue.resets = now; /* the marks belong to a context that was reset, and do not exist any
                         * more */
    queue.recorded = queue.next = 0;
    for (queue.made = 0; queue.made < MARKS; queue.made++)
        if (inner.EventCreate(&queue.marks[queue.made], CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
            queue.made = 0;
            return 0;
        }
    return 1;
}

static CUresult limit_queue_length(CUstream stream) {
    int captured = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!can_end_wait() || inner.StreamIsCapturing(stream, &captured) != CUDA_SUCCESS ||
        captured != CU_STREAM_CAPTURE_STATUS_NONE || !create_queue_events())
        return CUDA_SUCCESS;
    if (queue.recorded == MARKS) {
        CUresult status = poll_until_done(query_event, queue.marks[queue.next]);
        if (nl_driver_is_ended_wait(status))
            return status;
        queue.recorded--;
    }
    if (inner.EventRecord(queue.marks[queue.next], stream) == CUDA_SUCCESS) {
        queue.next = (queue.next + 1) % MARKS;
        queue.recorded++;
    }
    return CUDA_SUCCESS;
}

static inline CUresult count_launch_and_limit(CUstream stream) {
    return __builtin_expect(++queue.count % LAUNCHES == 0, 0) ? limit_queue_length(stream)
                                                              : CUDA_SUCCESS;
}

static CUresult awaited_LaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                     unsigned grid_z, unsigned block_x, unsigned block_y,
                                     unsigned block_z, unsigned shared, CUstream stream,
                                     void **params, void **extra) {
    CUresult status = count_launch_and_limit(stream);
    return status ? status
                  : inner.LaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                       shared, stream, params, extra);
}

static CUresult awaited_LaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                                       void **params, void **extra) {
    CUresult status = count_launch_and_limit(config->hStream);
    return status ? status : inner.LaunchKernelEx(config, function, params, extra);
}

static CUresult awaited_GraphLaunch(CUgraphExec exec, CUstream stream) {
    CUresult status = count_launch_and_limit(stream);
    return status ? status : inner.GraphLaunch(exec, stream);
}

void nl_wait_adapt_table(nl_driver *table) {
    if (table->ends_waits && !adapts_all)
        return;
    inner = *table;
    table->ends_waits = 0;
    table->TakeFault = awaited_TakeFault;
    table->StreamSynchronize = awaited_StreamSynchronize;
    table->EventSynchronize = awaited_EventSynchronize;
    table->CtxSynchronize = awaited_CtxSynchronize;
    table->MemcpyHtoD = awaited_MemcpyHtoD;
    table->MemcpyDtoH = awaited_MemcpyDtoH;
    table->MemcpyHtoDAsync = awaited_MemcpyHtoDAsync;
    table->MemcpyDtoHAsync = awaited_MemcpyDtoHAsync;
    table->Memcpy3DAsync = awaited_Memcpy3DAsync;
    table->MemFree = awaited_MemFree;
    table->MemFreeHost = awaited_MemFreeHost;
    table->MemHostUnregister = awaited_MemHostUnregister;
    table->ModuleUnload = awaited_ModuleUnload;
    table->LaunchKernel = awaited_LaunchKernel;
    table->LaunchKernelEx = awaited_LaunchKernelEx;
    table->GraphLaunch = awaited_GraphLaunch;
}

/* core/hostloop: handles faults of host code, and runs the loops of the parallel target.
 *
 * A loop is cut into chunks. The calling thread and the pool threads that join it (base/threads)
 * claim chunks of the loop until all chunks are claimed. Several Python threads may run loops at
 * the same time. A loop inside a chunk runs serially.
 *
 * The time of an iteration is measured when a loop runs in one thread, and stored with the loop.
 *
 * Integer division by zero, or of the smallest integer by -1, traps on x86-64, not on a GPU. For
 * clang, numbalite/compilers/sim/irpatch.py inserts tests of the operands. For code compiled by
 * g++, a SIGFPE handler emulates the division; the handler ignores addresses outside loaded
 * images. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "core/hostloop.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__) && defined(__linux__)
#include <ucontext.h>
#endif
#include "base/clock.h"
#include "base/divide.h"
#include "base/lock.h"
#include "base/print.h"
#include "base/threads.h"
#include "core/hostrandom.h"
#include "driver/checks.h"
#include "driver/cuda_abi.h"

/* ---- faults ---- */

typedef struct guard {
    struct guard *outer;
    jmp_buf leave;
} guard;

static NL_THREAD_LOCAL guard *innermost;
static NL_THREAD_LOCAL nl_fault *last; /* NULL if there was no fault, or if memory ran out */
static int (*on_raise)(void);

int nl_hostloop_run_guarded(void (*run)(void *), void *argument) {
    guard here = {.outer = innermost};
    volatile int status = 0;
    innermost = &here;
    if (_setjmp(here.leave) == 0)
        run(argument);
    else
        status = -1;
    innermost = here.outer;
    return status;
}

void nl_hostloop_pop_fault(nl_fault *f) {
    if (last) {
        *f = *last;
    } else {
        nl_fault_init(f, 0, NL_FAULT_HEAD_LINE, "");
        nl_fault_set_text(f, "an error occurred, and there was no memory for its text");
    }
    free(last);
    last = NULL;
}

void nl_hostloop_set_raise_hook(int (*raise)(void)) {
    on_raise = raise;
}

static int raise_fault(void) {
    return on_raise != NULL ? on_raise() : -1;
}

static void describe_fault(nl_fault *f, const nl_host_fault *what) {
    uint32_t kind = what->array                         ? NL_CHECK_MEMORY
                    : what->status == CUDA_ERROR_ASSERT ? NL_FAULT_ASSERT
                                                        : 0;
    nl_fault_init(f, kind, NL_FAULT_HEAD_LINE, "");
    nl_fault_set_location(&f->at, what->file, what->line);
    nl_fault_set_text(f, "%s", what->message);
    if (what->array) {
        nl_fault_set_name(&f->element, what->array);
        f->element.indices = 1;
        f->element.index[0] = what->index;
    }
}

__attribute__((noreturn)) static void fault(const nl_host_fault *what) {
    if (innermost == NULL) {
        fprintf(stderr, "numbalite: %s(%d): %s\n", what->file, what->line, what->message);
        abort();
    }
    last = last ? last : malloc(sizeof *last);
    if (last)
        describe_fault(last, what);
    _longjmp(innermost->leave, 1);
}

__attribute__((noreturn)) static void leave(void) {
    if (innermost == NULL)
        abort();
    _longjmp(innermost->leave, 1);
}

/* ---- divisions that would trap ---- */

typedef struct range {
    struct range *next;
    uint64_t low, high; /* 0, 0: removed */
} range;

/* list of `range`; entries are never freed, so that the signal handler needs no lock */
static void *ranges;
static nl_mutex range_lock = NL_MUTEX_INIT;
static struct sigaction before;

#if defined(__x86_64__) && defined(__linux__)
static int is_host_code(uint64_t address) {
    for (const range *r = nl_atomic_load_pointer(&ranges); r != NULL; r = r->next)
        if (address >= nl_atomic_load(&r->low) && address < nl_atomic_load(&r->high))
            return 1;
    return 0;
}

static void end_process(int number, const siginfo_t *info) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(number, &action, NULL); /* the instruction traps again and ends the process */
    if (info->si_code <= 0)
        raise(number);
}

/* Signals from other code are passed to the previous handler. A handler that ends the process may
 * raise the signal again, which then calls this handler again. */
static void handle_signal(int number, siginfo_t *info, void *context) {
    static NL_THREAD_LOCAL volatile sig_atomic_t chained;
    uint64_t at = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    if (info->si_code == FPE_INTDIV && is_host_code(at) && nl_divide_resume(context))
        return;
    if (chained || (!(before.sa_flags & SA_SIGINFO) &&
                    (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN))) {
        end_process(number, info);
        return;
    }
    chained = 1;
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else
        before.sa_handler(number);
    chained = 0;
}

/* Installs the SIGFPE handler, which calls the previous handler for other signals. Called when an
 * image is loaded. */
static void install_handlers(void) {
    /* SA_NODEFER, because a signal raised by the previous handler must be delivered while `chained`
     * is set */
    struct sigaction now,
        ours = {.sa_sigaction = handle_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigemptyset(&ours.sa_mask);
    if (sigaction(SIGFPE, NULL, &now) != 0 ||
        ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == handle_signal))
        return;
    before = now;
    sigaction(SIGFPE, &ours, NULL);
}
#else
static void install_handlers(void) {
    (void)before;
}
#endif

int nl_hostloop_add_trap_range(const void *low, const void *high) {
    nl_mutex_lock(&range_lock);
    range *r = nl_atomic_load_pointer(&ranges);
    while (r != NULL && nl_atomic_load(&r->high) != 0)
        r = r->next;
    if (r == NULL) {
        r = calloc(1, sizeof *r);
        if (r != NULL) {
            r->next = nl_atomic_load_pointer(&ranges);
            nl_atomic_store_pointer(&ranges, r);
        }
    }
    if (r != NULL) {
        nl_atomic_store(&r->low, (uintptr_t)low);
        nl_atomic_store(&r->high, (uintptr_t)high);
        install_handlers();
    }
    nl_mutex_unlock(&range_lock);
    return r != NULL ? 0 : -1;
}

void nl_hostloop_remove_trap_range(const void *low) {
    nl_mutex_lock(&range_lock);
    for (range *r = nl_atomic_load_pointer(&ranges); r != NULL; r = r->next) {
        if (nl_atomic_load(&r->high) != 0 && nl_atomic_load(&r->low) == (uintptr_t)low) {
            nl_atomic_store(&r->high, 0);
            nl_atomic_store(&r->low, 0);
            break;
        }
    }
    nl_mutex_unlock(&range_lock);
}

/* ---- loops run by several threads ---- */

enum {
    MAX_THREADS = 4096,
    MAX_OPERANDS = 64,
    SAMPLE = 256, /* iterations that are timed first */
    /* chunks are multiples of this many iterations, so that threads share no cache lines */
    CHUNK = 64,
    CHUNKS_PER_THREAD = 4,
};
/* Minimum work per thread in nanoseconds: with less work, waking the thread costs more than the
 * work. */
static const double WORTH_A_THREAD = 15000;

typedef struct job {
    nl_threads_job shared;
    nl_host_loop loop;
    int operands;
    char *const *data;
    long long count, chunk;
    const long long *strides;
    const void *extra;
    uint64_t taken;  /* number of iterations claimed */
    uint64_t failed; /* set by the first thread with a fault; that fault is reported */
    nl_fault *fault;
} job;

static int limit = 1;
static NL_THREAD_LOCAL int wanted_threads; /* 0: no limit of its own */
static NL_THREAD_LOCAL int inside;         /* this thread is running a chunk */

typedef struct chunk {
    const job *job;
    long long first, count;
} chunk;

static void run_chunk(void *argument) {
    const chunk *c = argument;
    const job *j = c->job;
    char *data[MAX_OPERANDS];
    for (int i = 0; i < j->operands; i++)
        data[i] = j->data[i] + c->first * j->strides[i];
    j->loop(data, c->count, j->strides, j->extra);
}

static void record_failure(job *j) {
    if (nl_atomic_swap(&j->failed, 1) == 0)
        j->fault = last;
    else
        free(last);
    last = NULL;
    nl_atomic_store(&j->taken, (uint64_t)j->count); /* no more chunks */
}

static void run_chunks(void *argument) {
    job *j = argument;
    inside++;
    for (;;) {
        chunk c = {.job = j};
        c.first = (long long)nl_atomic_add(&j->taken, (uint64_t)j->chunk);
        if (c.first >= j->count || c.first < 0)
            break;
        c.count = j->count - c.first < j->chunk ? j->count - c.first : j->chunk;
        if (nl_hostloop_run_guarded(run_chunk, &c) < 0)
            record_failure(j);
    }
    inside--;
}

/* Ends a loop that was running at the time of a fork, which does not run in the child. */
static void end_loop_in_child(void) {
    nl_mutex_init(&range_lock);
    inside = 0;
}

static int run_with_pool_threads(job *j, int threads) {
    unsigned others = (unsigned)threads - 1;
    j->shared = (nl_threads_job){.run = run_chunks, .data = j};
    nl_thread_call_in_child(end_loop_in_child);
    nl_threads_offer_job(&j->shared, others, others);
    run_chunks(j);
    nl_threads_close(&j->shared);
    if (!j->failed)
        return 0;
    last = j->fault;
    return -1;
}

static double load_iteration_cost(const uint32_t *place) {
    uint32_t bits = nl_atomic_load32_relaxed(place);
    float cost;
    memcpy(&cost, &bits, sizeof cost);
    return cost;
}

/* Stores the measured time of an iteration, but at most 5% more than the previous value: the first
 * measurements include cold code and untouched memory. */
static void store_iteration_cost(uint32_t *place, double nanoseconds, long long count) {
    float cost = (float)(nanoseconds / (double)count), previous = (float)load_iteration_cost(place);
    uint32_t bits;
    if (previous > 0 && cost > previous * 1.05f)
        cost = previous * 1.05f;
    cost = cost < 0.05f ? 0.05f : cost;
    memcpy(&bits, &cost, sizeof bits);
    nl_atomic_store32_relaxed(place, bits);
}

static int run_in_calling_thread(const job *j, long long first, long long count, uint32_t *place) {
    chunk c = {.job = j, .first = first, .count = count};
    unsigned long long start = nl_clock_ns();
    inside++;
    int status = nl_hostloop_run_guarded(run_chunk, &c);
    inside--;
    if (status == 0 && count >= SAMPLE)
        store_iteration_cost(place, (double)(nl_clock_ns() - start), count);
    return status;
}

static int run_parallel_loop(nl_host_loop loop, int operands, char *const *data, long long count,
                             const long long *strides, const void *extra, unsigned *place) {
    if (count <= 0)
        return 0;
    if (operands > MAX_OPERANDS) { /* no ufunc of NumPy has so many operands */
        last = last ? last : malloc(sizeof *last);
        if (last)
            describe_fault(last, &(nl_host_fault){.message = "a loop over too many operands"});
        return -1;
    }
    job j = {.loop = loop, .operands = operands, .data = data, .count = count};
    j.strides = strides;
    j.extra = extra;
    int threads = nl_hostloop_threads_get();
    if (threads > 1 && inside == 0 && load_iteration_cost(place) == 0 && count > SAMPLE) {
        if (run_in_calling_thread(&j, 0, SAMPLE, place) < 0)
            return -1;
        j.taken = SAMPLE;
    }
    double cost = load_iteration_cost(place);
    double useful = (double)(count - (long long)j.taken) * cost / WORTH_A_THREAD;
    if (useful < threads)
        threads = (int)useful;
    if (count - (long long)j.taken < threads)
        threads = (int)(count - (long long)j.taken);
    if (threads < 2 || inside > 0)
        return run_in_calling_thread(&j, (long long)j.taken, count - (long long)j.taken, place);
    long long chunks = (long long)threads * CHUNKS_PER_THREAD;
    long long grain = cost > 1000 ? 1 : CHUNK;
    j.chunk = (count + chunks - 1) / chunks;
    j.chunk = (j.chunk + grain - 1) / grain * grain;
    return run_with_pool_threads(&j, threads);
}

void nl_hostloop_threads_limit(int most) {
    limit = most < 1 ? 1 : most > MAX_THREADS ? MAX_THREADS : most;
}

int nl_hostloop_threads_get(void) {
    return wanted_threads > 0 && wanted_threads < limit ? wanted_threads : limit;
}

void nl_hostloop_threads_set(int count) {
    wanted_threads = count;
}

/* ---- the table ---- */

static int print_output(const char *format, va_list arguments) {
    int length = nl_print(format, arguments);
    if (length > 0)
        fflush(stdout);
    return length;
}

const nl_host_ops nl_hostloop_runtime = {
    .abi = NL_HOST_ABI,
    .guard = nl_hostloop_run_guarded,
    .fault = fault,
    .leave = leave,
    .raise = raise_fault,
    .parallel = run_parallel_loop,
    .vprintf = print_output,
    .clock = nl_clock_cycles,
    .globaltimer = nl_clock_ns,
    .random = nl_hostrandom_state,
};

/* sim/engine/fault: from signals and failed operations to a status and a sentence.
 *
 * A signal handler does as little as it can: it notes what happened in the worker and arranges for
 * the OS thread to continue on the worker's own stack (nl_fiber_escape); the sentence is made
 * there. A signal that does not come from kernel code goes to the handler that was installed before
 * ours. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "sim/engine/fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/divide.h"
#include "base/lock.h"
#include "sim/debuginfo/lines.h"
#include "sim/engine/block.h"
#include "sim/engine/grid.h"
#include "sim/engine/memory.h"
#include "sim/engine/observer.h"
#include "sim/engine/watch.h"

#ifndef SI_KERNEL
#define SI_KERNEL 0x80
#endif

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
enum { SIGNALS = 4 };
static struct sigaction previous[SIGNALS];
static nl_mutex install_lock = NL_MUTEX_INIT;
/* Handling a signal that is not ours: if it comes back here meanwhile, two handlers are calling one
 * another; and a handler that has said its word raises the signal once more to end the process. */
static _Thread_local volatile sig_atomic_t chaining, chained;
static _Thread_local nl_fault *reported; /* for TakeFault */
static _Thread_local uint64_t reported_id;
static _Thread_local int interrupted;

/* Signals */

static void give_up(int number) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(number, &action, NULL);
    raise(number);
}

static void chain(int number, siginfo_t *info, void *context) {
    const struct sigaction *old = NULL;
    for (int i = 0; i < SIGNALS; i++) {
        if (signals[i] == number)
            old = &previous[i];
    }
    int raised = info->si_code <= 0 && info->si_pid == getpid();
    if (chaining || !old || (raised && chained)) {
        give_up(number);
        return;
    }
    chaining = chained = 1;
    if (old->sa_flags & SA_SIGINFO)
        old->sa_sigaction(number, info, context);
    else if (old->sa_handler == SIG_DFL || old->sa_handler == SIG_IGN)
        give_up(number);
    else
        old->sa_handler(number);
    chaining = 0;
}

static int resume_division(nl_sim_worker *w, void *context) {
    const void *at = (const void *)nl_sim_watch_instruction(context);
    int what = nl_divide_resume(context);
    if (what == 2 && w->observer && w->fibers)
        w->observer->overflowed(w, at);
    return what;
}

static void handle(int number, siginfo_t *info, void *context) {
    nl_sim_worker *w = nl_sim_current;
    int sent = info->si_code <= 0; /* by kill() */
    if (!w || !w->inside || sent) {
        chain(number, info, context);
        return;
    }
    if (number == SIGFPE && info->si_code == FPE_INTDIV && resume_division(w, context))
        return;
    if (number == SIGFPE && w->observer && w->observer->trapped(w, info, context))
        return;
    w->trap = (nl_sim_trap){.signal = number,
                            .code = info->si_code,
                            .address = (uintptr_t)info->si_addr,
                            .instruction = nl_sim_watch_instruction(context),
                            .stack = nl_sim_watch_stack(context)};
    w->leave = NL_SIM_TRAP;
    nl_fiber_escape(context, &w->main);
}

void nl_sim_fault_install(void) {
    struct sigaction now, ours = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    /* One look is enough nearly always: whoever changes one of the four changes SIGSEGV. */
    if (sigaction(SIGSEGV, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
        now.sa_sigaction == handle)
        return;
    nl_mutex_lock(&install_lock);
    for (int i = 0; i < SIGNALS; i++) {
        if (sigaction(signals[i], NULL, &now) != 0 ||
            ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == handle))
            continue;
        previous[i] = now;
        sigaction(signals[i], &ours, NULL);
    }
    nl_mutex_unlock(&install_lock);
}

void nl_sim_fault_block_signals(void) {
    sigset_t set;
    sigfillset(&set);
    for (int i = 0; i < SIGNALS; i++)
        sigdelset(&set, signals[i]);
    sigdelset(&set, SIGABRT);
    sigdelset(&set, SIGTRAP);
    sigdelset(&set, NL_SIM_WATCH_SIGNAL);
    nl_thread_set_signals(&set); /* the pool's threads begin with more of them blocked */
}

void nl_sim_fault_enter(nl_sim_worker *w, nl_sim_fault_scope *scope) {
    stack_t own = {.ss_sp = w->signal_stack, .ss_size = NL_SIM_SIGNAL_STACK};
    scope->restore = sigaltstack(&own, &scope->signal_stack) == 0;
    nl_sim_current = w;
}

void nl_sim_fault_leave(const nl_sim_fault_scope *scope) {
    nl_sim_current = NULL;
    if (scope->restore)
        (void)sigaltstack(&scope->signal_stack, NULL);
}

/* Sentences */

static nl_sim_dim thread_index(const nl_sim_worker *w, unsigned thread) {
    const nl_sim_dim *block = &w->job->launch.block;
    return (nl_sim_dim){thread % block->x, thread / block->x % block->y,
                        thread / block->x / block->y};
}

/* The generated name of a kernel that was written as a function body is nl_<name>, in a namespace.
 */
const char *nl_sim_fault_kernel_name(const nl_sim_kernel *kernel) {
    const char *name = kernel->name, *end = name + strcspn(name, "<("), *last = end;
    while (last > name && last[-1] != ':')
        last--;
    return end - last > 3 && strncmp(last, "nl_", 3) == 0 ? last + 3 : name;
}

static void put_dim(unsigned to[3], nl_sim_dim from) {
    to[0] = from.x;
    to[1] = from.y;
    to[2] = from.z;
}

void nl_sim_fault_begin(nl_fault *f, const nl_sim_worker *w, uint32_t kind, nl_fault_head head) {
    nl_fault_init(f, kind, head, nl_sim_fault_kernel_name(w->kernel));
    f->at.has_block = 1;
    put_dim(f->at.block, w->index);
}

void nl_sim_fault_place(nl_fault_side *side, const nl_sim_worker *w, unsigned thread,
                        nl_sim_site site) {
    side->has_thread = thread != (unsigned)-1;
    if (side->has_thread)
        put_dim(side->thread, thread_index(w, thread));
    nl_fault_locate(side, site.file, site.line);
}

nl_text nl_sim_fault_text(nl_fault *f) {
    return nl_text_in(f->what, sizeof f->what);
}

/* The line that CUDA prints. */
static void print_assert(const nl_sim_worker *w, const char *message, unsigned thread,
                         nl_sim_site site) {
    nl_sim_dim t = thread_index(w, thread);
    fprintf(stderr, "%s:%d: %s: block: [%u,%u,%u], thread: [%u,%u,%u] %s\n",
            site.file ? site.file : "?", site.line, nl_sim_fault_kernel_name(w->kernel), w->index.x,
            w->index.y, w->index.z, t.x, t.y, t.z, message);
}

_Noreturn void nl_sim_fault_raise(nl_sim_worker *w, CUresult status, uint32_t kind,
                                  const char *message, unsigned thread, nl_sim_site site) {
    if (w->replaying)
        nl_sim_block_leave(w, NL_SIM_REPLAYED);
    nl_fault fault;
    nl_sim_fault_begin(&fault, w, kind, NL_FAULT_HEAD_THREAD);
    nl_sim_fault_place(&fault.at, w, thread, site);
    nl_fault_say(&fault, "%s", message);
    if (status == CUDA_ERROR_ASSERT)
        print_assert(w, message, thread, site);
    nl_sim_job_fault(w->job, status, &fault);
    nl_sim_block_leave(w, NL_SIM_FAULT);
}

/* Is it in the kernel's own shared memory's guard? */
static int describe_shared(const nl_sim_worker *w, uintptr_t address, nl_text *text) {
    uintptr_t end = (uintptr_t)w->shared_end;
    if (address < end || address >= end + 65536)
        return 0;
    nl_text_add(text, ", %zu bytes after the end of %u bytes of dynamic shared memory",
                (size_t)(address - end), w->job->launch.shared_bytes);
    return 1;
}

static CUresult describe_trap(const nl_sim_worker *w, nl_fault *fault, nl_text *text) {
    const nl_sim_trap *trap = &w->trap;
    switch (trap->signal) {
    case SIGFPE:
        nl_text_add(text, "arithmetic exception");
        return CUDA_ERROR_LAUNCH_FAILED;
    case SIGILL:
        nl_text_add(
            text,
            "illegal instruction (a trap, or code that the compiler found impossible to reach)");
        return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    default:
        break;
    }
    fault->kind = NL_CHECK_MEMORY;
    if (trap->code == SI_KERNEL) {
        nl_text_add(text, "access to a misaligned address, or to one that no memory can have");
        return CUDA_ERROR_MISALIGNED_ADDRESS;
    }
    if (nl_sim_stacks_overflown(&w->stacks, trap->address)) {
        fault->kind = NL_CHECK_STACK;
        nl_text_add(
            text,
            "stack overflow: the thread uses more than %zu bytes of stack (recursion, or large "
            "local arrays); the limit CU_LIMIT_STACK_SIZE can be raised",
            w->stacks.size);
        return CUDA_ERROR_LAUNCH_FAILED;
    }
    fault->address = trap->address;
    nl_text_add(text, "illegal access to address 0x%llx", (unsigned long long)trap->address);
    if (!describe_shared(w, trap->address, text)) {
        char where[NL_SIM_MEMORY_TEXT] = "";
        nl_sim_memory_describe(trap->address, where, sizeof where);
        nl_text_add(text, "%s", where);
    }
    return CUDA_ERROR_ILLEGAL_ADDRESS;
}

/* A word of somebody else's stack, wherever between its variables. */
__attribute__((noinline, no_sanitize_address)) static uintptr_t peek(uintptr_t at) {
    return *(const uintptr_t *)at;
}

/* Where the user's code was, if the image has a line table (checks, lineinfo=True). A stack may end
 * within a function of ours; then the first address on it that is one of the user's code is where
 * that function was called. */
static void find_line(const nl_sim_worker *w, int thread, nl_sim_site *site) {
    enum { MOST_WORDS = 256 };
    const nl_sim_object *image = w->job->image;
    if (!image || nl_sim_lines_find(image, (const char *)w->trap.instruction + 1, site) ||
        thread < 0)
        return;
    const nl_fiber_stack *stack = &w->stacks.all[w->thread[thread].stack];
    uintptr_t low = (uintptr_t)stack->low, at = w->trap.stack, end = low + stack->size;
    at = (at < low ? low : at) & ~(uintptr_t)(sizeof at - 1);
    for (unsigned i = 0; i < MOST_WORDS && at < end; i++, at += sizeof at) {
        uintptr_t word = peek(at);
        if (word - image->low < image->high - image->low &&
            nl_sim_lines_find(image, (const void *)word, site))
            return;
    }
}

/* What checks would tell beyond this. */
static void advise(int has_line, CUresult status, nl_text *text) {
    int has_address =
        status == CUDA_ERROR_ILLEGAL_ADDRESS || status == CUDA_ERROR_MISALIGNED_ADDRESS;
    if (has_line && !has_address)
        return;
    nl_text_add(text, "; run it under `with cuda.checks():` to see %s%s%s",
                has_line ? "" : "the line", has_line || !has_address ? "" : " and ",
                has_address ? "the array" : "");
}

void nl_sim_fault_trapped(nl_sim_worker *w, int thread) {
    nl_fault fault;
    nl_sim_site site = {NULL, 0};
    if (w->trap.signal == NL_SIM_WATCH_SIGNAL) {
        nl_sim_fault_endless(w);
        return;
    }
    find_line(w, thread, &site);
    nl_sim_fault_begin(&fault, w, 0, NL_FAULT_HEAD_THREAD);
    nl_sim_fault_place(&fault.at, w, (unsigned)thread, site);
    nl_text text = nl_sim_fault_text(&fault);
    CUresult status = describe_trap(w, &fault, &text);
    if (!w->observer || !w->observer->sees_accesses(w))
        advise(site.file != NULL, status, &text);
    nl_sim_job_fault(w->job, status, &fault);
}

/* What the driver calls of this thread reported */

void nl_sim_fault_report(uint64_t id, const nl_fault *fault) {
    reported = reported ? reported : malloc(sizeof *reported);
    if (reported)
        *reported = *fault;
    reported_id = id;
}

void nl_sim_fault_interrupt(void) {
    interrupted = 1;
}

int nl_sim_fault_interrupted(void) {
    int was = interrupted;
    interrupted = 0;
    return was;
}

void nl_sim_fault_forget(void) {
    interrupted = 0;
    if (reported) {
        free(reported);
        reported = NULL;
    }
}

int nl_sim_fault_take(nl_fault *fault, uint64_t *id) {
    if (!reported)
        return 0;
    *fault = *reported;
    nl_sim_fault_forget();
    *id = reported_id;
    return 1;
}

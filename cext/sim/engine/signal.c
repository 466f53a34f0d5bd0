/* sim/engine/signal: the signal handler only stores the signal in the worker and makes the OS
 * thread continue on the worker's own stack (nl_sim_fiber_escape), where the message is formatted
 * (trap.h). A signal that does not come from kernel code is passed to the handler that was
 * installed before. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "sim/engine/signal.h"

#include <ucontext.h>
#include <unistd.h>
#include "base/divide.h"
#include "base/lock.h"
#include "sim/engine/observer.h"

static const int signals[] = {
    SIGSEGV, SIGBUS, SIGFPE, SIGILL,
#if defined(__aarch64__)
    SIGTRAP, /* __builtin_trap() is a breakpoint instruction on 64-bit Arm */
#endif
};
enum { SIGNALS = sizeof signals / sizeof signals[0] };
static struct sigaction previous[SIGNALS];
static nl_mutex install_lock = NL_MUTEX_INIT;
/* These flags detect recursion while a signal is passed to the previous handler. chaining: the
 * previous handler has called this handler. chained: a previous handler has run, and raises the
 * signal again to end the process. */
static _Thread_local volatile sig_atomic_t chaining, chained;

uintptr_t nl_sim_signal_instruction_pointer(const void *context) {
#if defined(__x86_64__)
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
}

uintptr_t nl_sim_signal_stack_pointer(const void *context) {
#if defined(__x86_64__)
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.sp;
#else
    (void)context;
    return 0;
#endif
}

static void raise_default_signal(int number) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(number, &action, NULL);
    raise(number);
}

static void chain_to_previous_handler(int number, siginfo_t *info, void *context) {
    const struct sigaction *old = NULL;
    for (int i = 0; i < SIGNALS; i++) {
        if (signals[i] == number)
            old = &previous[i];
    }
    int raised = info->si_code <= 0 && info->si_pid == getpid();
    if (chaining || !old || (raised && chained)) {
        raise_default_signal(number);
        return;
    }
    chaining = chained = 1;
    if (old->sa_flags & SA_SIGINFO)
        old->sa_sigaction(number, info, context);
    else if (old->sa_handler == SIG_DFL || old->sa_handler == SIG_IGN)
        raise_default_signal(number);
    else
        old->sa_handler(number);
    chaining = 0;
}

static int resume_division(nl_sim_worker *w, void *context) {
    const void *at = (const void *)nl_sim_signal_instruction_pointer(context);
    int what = nl_divide_resume(context);
    if (what == 2 && w->observer && w->fibers)
        w->observer->overflowed(w, at);
    return what;
}

static void handle_signal(int number, siginfo_t *info, void *context) {
    nl_sim_worker *w = nl_sim_worker_current;
    int sent = info->si_code <= 0; /* set if the signal was sent by kill(), not by the processor */
    if (!w || !w->inside || sent) {
        chain_to_previous_handler(number, info, context);
        return;
    }
    if (number == SIGFPE && info->si_code == FPE_INTDIV && resume_division(w, context))
        return;
    if (number == SIGFPE && w->observer && w->observer->trapped(w, info, context))
        return;
    w->trap = (nl_sim_trap){.signal = number,
                            .code = info->si_code,
                            .address = (uintptr_t)info->si_addr,
                            .instruction = nl_sim_signal_instruction_pointer(context),
                            .stack = nl_sim_signal_stack_pointer(context)};
    w->leave = NL_SIM_TRAP;
    nl_sim_fiber_escape(context, &w->main);
}

void nl_sim_signal_install(void) {
    struct sigaction now,
        ours = {.sa_sigaction = handle_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    /* It is sufficient to check SIGSEGV: a program that replaces any of these handlers also
     * replaces the handler of SIGSEGV. */
    if (sigaction(SIGSEGV, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
        now.sa_sigaction == handle_signal)
        return;
    nl_mutex_lock(&install_lock);
    for (int i = 0; i < SIGNALS; i++) {
        if (sigaction(signals[i], NULL, &now) != 0 ||
            ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == handle_signal))
            continue;
        previous[i] = now;
        sigaction(signals[i], &ours, NULL);
    }
    nl_mutex_unlock(&install_lock);
}

void nl_sim_signal_block_others(void) {
    sigset_t set;
    sigfillset(&set);
    for (int i = 0; i < SIGNALS; i++)
        sigdelset(&set, signals[i]);
    sigdelset(&set, SIGABRT);
    sigdelset(&set, SIGTRAP);
    sigdelset(&set, NL_SIM_WATCH_SIGNAL);
    nl_thread_set_signals(&set); /* the pool's threads start with other signals blocked */
}

void nl_sim_signal_begin_kernel(nl_sim_worker *w, nl_sim_signal_scope *scope) {
    stack_t own = {.ss_sp = w->signal_stack, .ss_size = NL_SIM_SIGNAL_STACK};
    scope->restore = sigaltstack(&own, &scope->stack) == 0;
    nl_sim_worker_current = w;
}

void nl_sim_signal_end_kernel(const nl_sim_signal_scope *scope) {
    nl_sim_worker_current = NULL;
    if (scope->restore)
        (void)sigaltstack(&scope->stack, NULL);
}

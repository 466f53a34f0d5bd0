/* sim/check/reals: implemented by a signal handler, which reports the operation, masks the
 * exceptions in the interrupted thread's state, and single-steps the thread: the operation is
 * repeated and has its normal result. The trap after the single step enables the exceptions again.
 * Not every invalid operation makes a NaN: conversions to integers, comparisons, minimum and
 * maximum also raise the exception. The opcode distinguishes conversions, comparisons, minimum and
 * maximum from arithmetic. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "sim/check/reals.h"

#include <stdio.h>
#include "base/lock.h"
#include "sim/check/check.h"
#include "sim/engine/job.h"

#if defined(__x86_64__) && defined(__linux__)
#include <ucontext.h>

enum {
    FLAGS = 0x3f,
    MASKED = 0x1f80, /* all exceptions are masked */
    /* mask bits in MXCSR for invalid operation, division by zero and overflow */
    WANTED = 1 << 7 | 1 << 9 | 1 << 10,
    ARMED = MASKED & ~WANTED,
    STEP = 1 << 8, /* trap flag of EFLAGS: trap after one instruction */
    MAX_WORDS = 256,
};

static struct sigaction previous;
static nl_mutex lock = NL_MUTEX_INIT;

/* The handler of SIGTRAP, after the single step. For any other trap, calls the previous handler. */
static void handle_single_step(int number, siginfo_t *info, void *context) {
    nl_sim_worker *w = nl_sim_worker_current;
    mcontext_t *state = &((ucontext_t *)context)->uc_mcontext;
    if (w && w->stepping) {
        w->stepping = 0;
        state->gregs[REG_EFL] &= ~(greg_t)STEP;
        state->fpregs->mxcsr = ARMED;
    } else if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(number, info, context);
    } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
        previous.sa_handler(number);
    } else if (previous.sa_handler == SIG_DFL) {
        sigaction(number, &previous, NULL);
        raise(number);
    }
}

static void install_handler(void) {
    struct sigaction now,
        ours = {.sa_sigaction = handle_single_step, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    nl_mutex_lock(&lock);
    if (sigaction(SIGTRAP, NULL, &now) == 0 &&
        !((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == handle_single_step)) {
        previous = now;
        sigaction(SIGTRAP, &ours, NULL);
    }
    nl_mutex_unlock(&lock);
}

unsigned nl_sim_reals_enable_exceptions(void) {
    unsigned saved = __builtin_ia32_stmxcsr();
    install_handler();
    __builtin_ia32_ldmxcsr(ARMED);
    return saved;
}

void nl_sim_reals_restore_exceptions(unsigned saved) {
    __builtin_ia32_ldmxcsr(saved & ~(unsigned)FLAGS);
}

int nl_sim_reals_are_trapped(const nl_sim_job *job) {
    return job->check && job->check->wanted.mask & NL_CHECK_NAN && job->check->traps_reals;
}

/* Returns whether the instruction is an addition, subtraction, multiplication, division, square
 * root or fused multiply-add: SSE: prefixes, 0F, opcode; AVX: C5 and one byte or C4 and two bytes,
 * opcode; AVX-512: 62 and three bytes, opcode. */
static int is_arithmetic(const unsigned char *p) {
    unsigned map = 1, code;
    while (*p == 0x66 || *p == 0xf2 || *p == 0xf3)
        p++;
    if ((*p & 0xf0) == 0x40)
        p++;
    if (*p == 0x0f) {
        code = p[1];
    } else if (*p == 0xc5) {
        code = p[2];
    } else if (*p == 0xc4) {
        map = p[1] & 31;
        code = p[3];
    } else if (*p == 0x62) {
        map = p[1] & 7;
        code = p[4];
    } else {
        return 0;
    }
    if (map == 2) /* encodings 132, 213 and 231 of fused multiply-add */
        return code >= 0x96 && code <= 0xbf && (code & 15) >= 6;
    return map == 1 &&
           (code == 0x51 || code == 0x58 || code == 0x59 || code == 0x5c || code == 0x5e);
}

/* Returns whether the instruction before the address is a call. */
static int is_call_before(const unsigned char *p) {
    return p[-5] == 0xe8 || (p[-6] == 0xff && p[-5] == 0x15) ||
           (p[-2] == 0xff && (p[-1] & 0xf8) == 0xd0);
}

/* Returns the operation's position as a return address: the address after the operation or, in a
 * library function, the return address of the user's call, for which the stack is searched. */
static const void *find_return_address(const nl_sim_worker *w, uintptr_t at, uintptr_t stack) {
    const nl_sim_fiber_stack *own = &w->stacks.all[w->thread[w->current].stack];
    uintptr_t end = (uintptr_t)own->low + own->size, size = w->image_high - w->image_low;
    if (at - w->image_low < size)
        return (const void *)(at + 1);
    const uintptr_t *word = (const uintptr_t *)(stack & ~(uintptr_t)7);
    for (unsigned i = 0; i < MAX_WORDS && (uintptr_t)(word + i) < end; i++) {
        if (word[i] - w->image_low - 8 < size - 8 && is_call_before((const unsigned char *)word[i]))
            return (const void *)word[i];
    }
    return NULL;
}

static void report_invalid_real(nl_sim_worker *w, const void *pc, int code) {
    nl_sim_findings *all = &w->job->check->findings;
    if (nl_sim_findings_contain(all, NL_CHECK_NAN, pc, (nl_sim_site){.file = NULL}, 0, w->next))
        return;
    nl_sim_finding f = {.kind = NL_CHECK_NAN, .pc = pc};
    snprintf(f.text, sizeof f.text, "%s",
             code == FPE_FLTDIV   ? "makes infinity of a finite number, which it divides by zero"
             : code == FPE_FLTOVF ? "makes infinity of finite numbers: the result is too large"
                                  : "makes NaN of numbers (0 / 0, inf - inf, "
                                    "the root of a negative number, ...)");
    nl_sim_launch_check_report(w, &f);
}

int nl_sim_reals_handle_trap(nl_sim_worker *w, const siginfo_t *info, void *context) {
    mcontext_t *state = &((ucontext_t *)context)->uc_mcontext;
    uintptr_t at = (uintptr_t)state->gregs[REG_RIP];
    int code = info->si_code;
    if (!w->reals || (code != FPE_FLTINV && code != FPE_FLTDIV && code != FPE_FLTOVF))
        return 0;
    state->fpregs->mxcsr = MASKED;
    state->gregs[REG_EFL] |= STEP;
    w->stepping = 1;
    if (code != FPE_FLTINV || is_arithmetic((const unsigned char *)at))
        report_invalid_real(w, find_return_address(w, at, (uintptr_t)state->gregs[REG_RSP]), code);
    return 1;
}

#else

int nl_sim_reals_are_trapped(const nl_sim_job *job) {
    (void)job;
    return 0;
}

unsigned nl_sim_reals_enable_exceptions(void) {
    return 0;
}

void nl_sim_reals_restore_exceptions(unsigned saved) {
    (void)saved;
}

int nl_sim_reals_handle_trap(nl_sim_worker *w, const siginfo_t *info, void *context) {
    (void)w, (void)info, (void)context;
    return 0;
}
#endif

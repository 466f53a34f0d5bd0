/* sim/engine/fiber: switches between the threads of a simulated block, which run on one OS thread.
 *
 * A suspended fiber is a saved stack pointer; all other state is on its stack. The switch is
 * written in assembly for x86-64 and aarch64 (7 to 14 ns); on other processors, or with
 * -DNL_SIM_UCONTEXT, swapcontext is used. Every switch is announced to the address and thread
 * sanitizers. A fiber never moves to another OS thread. */
#ifndef NL_SIM_ENGINE_FIBER_H
#define NL_SIM_ENGINE_FIBER_H

#include <stddef.h>
#include <stdint.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NL_SIM_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define NL_SIM_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define NL_SIM_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define NL_SIM_TSAN 1
#endif

#if !defined(NL_SIM_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define NL_SIM_UCONTEXT 1
#endif
#ifdef NL_SIM_UCONTEXT
#include <ucontext.h>
#endif

typedef struct nl_sim_fiber {
    void *sp; /* NULL if the fiber was not prepared */
#ifdef NL_SIM_UCONTEXT
    ucontext_t context;
#endif
#ifdef NL_SIM_ASAN
    void *fake_stack;
    const void *bottom;
    size_t size;
#endif
#ifdef NL_SIM_TSAN
    void *tsan;
#endif
} nl_sim_fiber;

/* The stack of a fiber: [low, low + size), with an inaccessible guard below `low`. */
typedef struct nl_sim_fiber_stack {
    char *low;
    size_t size;
    /* initial stack pointer, below the end by an offset that differs between stacks, so that they
     * use different cache sets */
    char *top;
#ifdef NL_SIM_TSAN
    void *tsan;
    unsigned uses; /* fibers that have used `tsan` */
#endif
} nl_sim_fiber_stack;

/* Makes `fiber` represent the calling OS thread's own stack. */
void nl_sim_fiber_adopt_thread(nl_sim_fiber *fiber);
/* Prepares `fiber` to run entry(argument) on `stack` at the first switch to the fiber. `entry` must
 * call nl_sim_fiber_entered first, and must end with nl_sim_fiber_leave. */
static inline void nl_sim_fiber_prepare(nl_sim_fiber *fiber, nl_sim_fiber_stack *stack,
                                        void (*entry)(void *), void *argument);
static inline void nl_sim_fiber_entered(void);
/* Suspends `from`, the running fiber, and resumes `to`. */
void nl_sim_fiber_call(nl_sim_fiber *from, nl_sim_fiber *to);
/* Switches like nl_sim_fiber_call; faster if many fibers are suspended at the same code position
 * (see below). */
static inline void nl_sim_fiber_switch(nl_sim_fiber *from, nl_sim_fiber *to);
/* Resumes `to`; the running fiber never continues, and its stack contents are abandoned. */
_Noreturn void nl_sim_fiber_abandon(nl_sim_fiber *to);
/* A faster variant of nl_sim_fiber_abandon for a running fiber that has ended. */
_Noreturn static inline void nl_sim_fiber_leave(nl_sim_fiber *to);
/* A variant of nl_sim_fiber_abandon for signal handlers; `signal_context` is the handler's third
 * argument. The switch takes effect when the handler returns. */
void nl_sim_fiber_escape(void *signal_context, nl_sim_fiber *to);

#if defined(__x86_64__) && !defined(NL_SIM_UCONTEXT) && !defined(NL_SIM_ASAN) && \
    !defined(NL_SIM_TSAN)
/* The function is inlined, so that the compiler saves only the registers it needs. The switch uses
 * jumps instead of calls and returns, because processors predict returns with a ring of earlier
 * calls. If every fiber adds and removes the same two or three entries of this ring, the
 * predictions are correct. A suspended stack contains rbx, rbp and the address at which to
 * continue. A function into which the switch is inlined must contain a call: then the compiler
 * stores nothing below the stack pointer (in the red zone), which the switch would overwrite. */
static inline __attribute__((always_inline)) void nl_sim_fiber_switch(nl_sim_fiber *from,
                                                                      nl_sim_fiber *to) {
    void **save = &from->sp, *load = to->sp;
    __asm__ volatile("leaq 1f(%%rip), %%rax\n\t"
                     "pushq %%rax\n\t"
                     "pushq %%rbp\n\t"
                     "pushq %%rbx\n\t"
                     "movq %%rsp, (%0)\n\t"
                     "movq %1, %%rsp\n\t"
                     "popq %%rbx\n\t"
                     "popq %%rbp\n\t"
                     "popq %%rax\n\t"
                     "jmpq *%%rax\n"
                     "1:\n"
                     : "+D"(save), "+S"(load)
                     :
                     : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
                       "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                       "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
#ifdef __AVX512F__
                       "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23",
                       "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1",
                       "k2", "k3", "k4", "k5", "k6", "k7",
#endif
                       "memory", "cc");
}

_Noreturn static inline __attribute__((always_inline)) void nl_sim_fiber_leave(nl_sim_fiber *to) {
    __asm__ volatile("movq %0, %%rsp\n\t"
                     "popq %%rbx\n\t"
                     "popq %%rbp\n\t"
                     "popq %%rax\n\t"
                     "jmpq *%%rax"
                     :
                     : "r"(to->sp)
                     : "memory");
    __builtin_unreachable();
}

static inline void nl_sim_fiber_entered(void) {}

/* Lays out the stack as if the fiber had been suspended in nl_sim_fiber_start: rbx, rbp, the
 * address at which to continue, and above these a return address of 0, as if `entry` had been
 * called. */
__attribute__((visibility("hidden"))) void nl_sim_fiber_start(void);
static inline void nl_sim_fiber_prepare(nl_sim_fiber *fiber, nl_sim_fiber_stack *stack,
                                        void (*entry)(void *), void *argument) {
    void **frame = (void **)stack->top - 4;
    frame[0] = (void *)(uintptr_t)entry;
    frame[1] = argument;
    frame[2] = (void *)(uintptr_t)nl_sim_fiber_start;
    frame[3] = NULL;
    fiber->sp = frame;
}
#else
void nl_sim_fiber_arrived(void);
void nl_sim_fiber_lay_out(nl_sim_fiber *fiber, nl_sim_fiber_stack *stack, void (*entry)(void *),
                          void *argument);
static inline void nl_sim_fiber_prepare(nl_sim_fiber *fiber, nl_sim_fiber_stack *stack,
                                        void (*entry)(void *), void *argument) {
    nl_sim_fiber_lay_out(fiber, stack, entry, argument);
}
static inline void nl_sim_fiber_switch(nl_sim_fiber *from, nl_sim_fiber *to) {
    nl_sim_fiber_call(from, to);
}
_Noreturn static inline void nl_sim_fiber_leave(nl_sim_fiber *to) {
    nl_sim_fiber_abandon(to);
}
static inline void nl_sim_fiber_entered(void) {
    nl_sim_fiber_arrived();
}
#endif

#endif

/* sim/fiber: switching between the threads of a simulated block, which all live on one OS thread.
 *
 * A fiber is a saved stack pointer; everything else is on its stack. Switching is hand-written for
 * x86-64 and aarch64 (6 to 8 ns) and swapcontext elsewhere or with -DNL_SIM_UCONTEXT. Address and
 * thread sanitizers are told of every switch. A fiber never moves to another OS thread. */
#ifndef NL_SIM_FIBER_H
#define NL_SIM_FIBER_H

#include <stddef.h>

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

typedef struct nl_fiber {
    void *sp; /* NULL: not started (always non-NULL once prepared) */
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
} nl_fiber;

/* Where a fiber runs: [low, low + size), with an inaccessible guard below `low`. */
typedef struct nl_fiber_stack {
    char *low;
    size_t size;
    size_t colour; /* bytes left free at the top, so that stacks do not share cache sets */
#ifdef NL_SIM_TSAN
    void *tsan;
#endif
} nl_fiber_stack;

/* Makes `fiber` stand for the calling OS thread's own stack. */
void nl_fiber_adopt_thread(nl_fiber *fiber);
/* Makes `fiber` start with entry(argument) on `stack` when first switched to. `entry` must call
 * nl_fiber_entered first and must leave with nl_fiber_leave. */
void nl_fiber_prepare(nl_fiber *fiber, nl_fiber_stack *stack, void (*entry)(void *),
                      void *argument);
void nl_fiber_entered(void);
/* Suspends `from`, the running fiber, and resumes `to`. */
void nl_fiber_switch(nl_fiber *from, nl_fiber *to);
/* Resumes `to`; whatever is on the stack of the running fiber is abandoned. */
_Noreturn void nl_fiber_leave(nl_fiber *to);
/* The same from a signal handler, whose third argument is `signal_context`: takes effect when the
 * handler returns. */
void nl_fiber_escape(void *signal_context, nl_fiber *to);

#endif

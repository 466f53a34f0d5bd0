/* sim/engine/signal: converts processor signals in kernel code to traps of the worker that runs it,
 * so that the process continues. */
#ifndef NL_SIM_ENGINE_SIGNAL_H
#define NL_SIM_ENGINE_SIGNAL_H

#include <signal.h>
#include "sim/engine/worker.h"

enum { NL_SIM_WATCH_SIGNAL = SIGURG }; /* interrupts a kernel (watch.h) */

/* Installs handlers of SIGSEGV, SIGBUS, SIGFPE and SIGILL (on 64-bit Arm also SIGTRAP), which call
 * the existing handlers for other signals. Call this function before each launch, because other
 * code may have installed handlers since the last launch. */
void nl_sim_signal_install(void);
/* Blocks all other signals in the calling thread of the engine, so that the program's own threads
 * receive them. */
void nl_sim_signal_block_others(void);

/* Call `enter` before and `leave` after kernel code on the calling OS thread. */
typedef struct nl_sim_signal_scope {
    stack_t stack; /* the previous signal stack */
    int restore;
} nl_sim_signal_scope;
void nl_sim_signal_begin_kernel(nl_sim_worker *worker, nl_sim_signal_scope *scope);
void nl_sim_signal_end_kernel(const nl_sim_signal_scope *scope);

/* Return the address of the instruction that a signal interrupted (0 if not available), and the
 * stack pointer at that time. */
uintptr_t nl_sim_signal_instruction_pointer(const void *signal_context);
uintptr_t nl_sim_signal_stack_pointer(const void *signal_context);

#endif

/* sim/engine/signal: signals of the processor in kernel code become traps of the worker that runs
 * it, and the interpreter lives on. */
#ifndef NL_SIM_ENGINE_SIGNAL_H
#define NL_SIM_ENGINE_SIGNAL_H

#include <signal.h>
#include "sim/engine/worker.h"

enum { NL_SIM_WATCH_SIGNAL = SIGURG }; /* that a kernel is to be interrupted (watch.h) */

/* Installs the handlers of SIGSEGV, SIGBUS, SIGFPE and SIGILL (on 64-bit Arm also SIGTRAP), in
 * front of whatever is installed. Call before each launch: somebody may have installed theirs
 * since. */
void nl_sim_signal_install(void);
/* For threads of the engine: all other signals are for the program's own threads. */
void nl_sim_signal_block_others(void);

/* While kernel code runs on the calling OS thread. */
typedef struct nl_sim_signal_scope {
    stack_t stack; /* what to restore */
    int restore;
} nl_sim_signal_scope;
void nl_sim_signal_enter(nl_sim_worker *worker, nl_sim_signal_scope *scope);
void nl_sim_signal_leave(const nl_sim_signal_scope *scope);

/* What was running when a signal came: the address of the instruction, 0 if that is not known; and
 * the stack pointer. */
uintptr_t nl_sim_signal_instruction(const void *signal_context);
uintptr_t nl_sim_signal_stack(const void *signal_context);

#endif

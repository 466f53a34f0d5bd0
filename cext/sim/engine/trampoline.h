/* sim/engine/trampoline: the two places where threads of a block come and go, written so that the
 * processor predicts their returns.
 *
 * It predicts a return from the last calls it has seen, some 16, on whatever stacks they were made.
 * While the threads of a block come to their first barrier there are two calls for each, of the
 * kernel and of the barrier; when they then run to their ends, one after the other, there are two
 * returns for each. With more than eight threads the predictions were wrong, which cost 20 ns a
 * thread. So a thread that goes on because another has ended is entered by a call, in the place
 * where kernels are called, and leaves the barrier by a jump: its kernel's return is then the one
 * that was announced. From barrier to barrier each thread leaves a call and takes one; those
 * return.
 *
 * Only on x86-64; elsewhere, and where sanitizers want to know of each switch, block.c does the
 * same with calls and returns. */
#ifndef NL_SIM_ENGINE_TRAMPOLINE_H
#define NL_SIM_ENGINE_TRAMPOLINE_H

#include "sim/engine/block.h"

#if defined(__x86_64__) && defined(__LP64__) && defined(NL_SIM_INITIAL_EXEC) && \
    !defined(NL_SIM_UCONTEXT) && !defined(NL_SIM_ASAN) && !defined(NL_SIM_TSAN)
#define NL_SIM_TRAMPOLINES 1

#define NL_SIM_LOCAL __attribute__((visibility("hidden")))

/* Besides these, nl_sim_block_barrier (block.h): calls nl_sim_block_arrive, and goes on with what
 * that returns. */

/* Where fibers begin: calls what nl_sim_block_next says, again and again, beginning with
 * nl_sim_block_run_current. */
NL_SIM_LOCAL void nl_sim_trampoline_threads(void *worker);
/* Goes on with a suspended fiber: for nl_sim_block_next. */
NL_SIM_LOCAL void nl_sim_trampoline_resume(nl_sim_worker *worker, void *sp);

/* What it needs of block.c: */

/* `thread` is at a barrier, and its fiber will be resumed at `sp`. The stack pointer to go on with,
 * or NULL if it waits for nobody. */
NL_SIM_LOCAL void *nl_sim_block_arrive(nl_sim_block_op op, int value, unsigned thread,
                                       nl_sim_site site, void *sp);
typedef struct nl_sim_next {
    void (*call)(nl_sim_worker *, void *);
    void *sp;
} nl_sim_next;
/* The running thread has ended: who is next? */
NL_SIM_LOCAL nl_sim_next nl_sim_block_next(nl_sim_worker *worker);
NL_SIM_LOCAL void nl_sim_block_run_current(nl_sim_worker *worker, void *unused);

#endif
#endif

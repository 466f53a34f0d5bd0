/* sim/engine/fault: what goes wrong in kernels: signals become faults of the launch, deadlocks and
 * failed asserts get their text, and the interpreter lives on. */
#ifndef NL_SIM_ENGINE_FAULT_H
#define NL_SIM_ENGINE_FAULT_H

#include <signal.h>
#include "base/fault.h"
#include "base/text.h"
#include "driver/checks.h"
#include "driver/cuda_abi.h"
#include "sim/engine/worker.h"

/* Installs the handlers of SIGSEGV, SIGBUS, SIGFPE and SIGILL, in front of whatever is installed.
 * Call before each launch: somebody may have installed theirs since. */
void nl_sim_fault_install(void);
/* For threads of the engine: all other signals are for the program's own threads. */
void nl_sim_fault_block_signals(void);

/* While kernel code runs on the calling OS thread. */
typedef struct nl_sim_fault_scope {
    stack_t signal_stack; /* what to restore */
    int restore;
} nl_sim_fault_scope;
void nl_sim_fault_enter(nl_sim_worker *worker, nl_sim_fault_scope *scope);
void nl_sim_fault_leave(const nl_sim_fault_scope *scope);

/* On a fiber: each records a fault of the job and leaves to the worker's own stack. kind: as that
 * of an nl_fault; thread: (unsigned)-1 if it is not known. */
_Noreturn void nl_sim_fault_raise(nl_sim_worker *worker, CUresult status, uint32_t kind,
                                  const char *message, unsigned thread, nl_sim_site site);
_Noreturn void nl_sim_fault_bad_mask(nl_sim_worker *worker, unsigned thread);
_Noreturn void nl_sim_fault_stuck(nl_sim_worker *worker);
/* The grid has been stopped: leaves, and says what the block was doing if it has run for too long.
 */
_Noreturn void nl_sim_fault_stopped(nl_sim_worker *worker);
/* On any stack: records that the launch has run for too long, and what this block was doing. */
void nl_sim_fault_endless(nl_sim_worker *worker);
/* The same where no block can tell. */
struct nl_sim_job;
void nl_sim_fault_overdue(struct nl_sim_job *job);
/* `lanes` of a warp have arrived in one operation, called at different lines. */
_Noreturn void nl_sim_fault_mixed_warp(nl_sim_worker *worker, unsigned warp, uint32_t lanes);
/* On the worker's own stack: records worker->trap. thread: -1 if it is not known. */
void nl_sim_fault_trapped(nl_sim_worker *worker, int thread);

/* A fault of the block that the worker runs; of one of its threads, which is somewhere. */
void nl_sim_fault_begin(nl_fault *fault, const nl_sim_worker *worker, uint32_t kind,
                        nl_fault_head head);
void nl_sim_fault_place(nl_fault_side *side, const nl_sim_worker *worker, unsigned thread,
                        nl_sim_site site);
/* Its `what`, to be written. */
nl_text nl_sim_fault_text(nl_fault *fault);

/* What a thread waits for (nl_sim_thread.wait), in CUDA's words. */
const char *nl_sim_fault_operation(unsigned wait);
/* As the user knows it. */
const char *nl_sim_fault_kernel_name(const nl_sim_kernel *kernel);

/* The wait of the calling thread's driver call has been ended by the user: once for each, until the
 * next call. */
void nl_sim_fault_interrupt(void);
int nl_sim_fault_interrupted(void);
/* The fault that the calling thread's last driver call reported, for nl_driver.TakeFault. */
void nl_sim_fault_report(uint64_t id, const nl_fault *fault);
void nl_sim_fault_forget(void);
int nl_sim_fault_take(nl_fault *fault, uint64_t *id);

#endif

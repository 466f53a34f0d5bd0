/* sim/engine/report: reports the faults of blocks that cannot continue. */
#ifndef NL_SIM_ENGINE_REPORT_H
#define NL_SIM_ENGINE_REPORT_H

#include "sim/engine/job.h"
#include "sim/engine/worker.h"

/* Call these functions on a fiber. Each function records a fault of the job, then switches to the
 * worker's own stack. */
_Noreturn void nl_sim_report_stuck_block(nl_sim_worker *worker);
_Noreturn void nl_sim_report_bad_mask(nl_sim_worker *worker, unsigned thread);
/* Reports a deadlock: no thread of the grid can continue. */
_Noreturn void nl_sim_report_deadlock(nl_sim_worker *worker);
/* Reports that the lanes `lanes` of a warp have arrived at the same operation from different source
 * lines. */
_Noreturn void nl_sim_report_mixed_warp(nl_sim_worker *worker, unsigned warp, uint32_t lanes);
/* Ends the block of a stopped grid: switches to the worker's own stack. If the launch has exceeded
 * its time limit or was interrupted, reports the state of the block's threads. */
_Noreturn void nl_sim_report_stopped_grid(nl_sim_worker *worker);
/* Records the fault that the launch has exceeded its time limit, with the state of this block's
 * threads. This function can be called on any stack. */
void nl_sim_report_endless_loop(nl_sim_worker *worker);
/* Records the same fault as nl_sim_report_endless_loop, but without the state of threads. */
void nl_sim_report_overdue_job(nl_sim_job *job);

/* Returns the name, in the kernel's language, of the operation in which a thread waits (the values
 * of nl_sim_thread.wait and .argument). */
const char *nl_sim_report_operation(const nl_sim_worker *worker, unsigned wait, unsigned argument);

#endif

/* sim/engine/report: the faults of a block that cannot go on. */
#ifndef NL_SIM_ENGINE_REPORT_H
#define NL_SIM_ENGINE_REPORT_H

#include "sim/engine/job.h"
#include "sim/engine/worker.h"

/* On a fiber: each records a fault of the job and leaves to the worker's own stack. */
_Noreturn void nl_sim_report_stuck(nl_sim_worker *worker);
_Noreturn void nl_sim_report_bad_mask(nl_sim_worker *worker, unsigned thread);
/* No thread of the grid can end what it waits for. */
_Noreturn void nl_sim_report_deadlock(nl_sim_worker *worker);
/* `lanes` of a warp have arrived in one operation, called at different lines. */
_Noreturn void nl_sim_report_mixed_warp(nl_sim_worker *worker, unsigned warp, uint32_t lanes);
/* The grid has been stopped: leaves, and says what the block was doing if it has run for too long.
 */
_Noreturn void nl_sim_report_stopped(nl_sim_worker *worker);
/* On any stack: records that the launch has run for too long, and what this block was doing. */
void nl_sim_report_endless(nl_sim_worker *worker);
/* The same where no block can tell. */
void nl_sim_report_overdue(nl_sim_job *job);

/* What a thread waits for (nl_sim_thread.wait, and its argument), in the words of the kernel's
 * language. */
const char *nl_sim_report_operation(const nl_sim_worker *worker, unsigned wait, unsigned argument);

#endif

/* sim/engine/fault: creates the fault of a kernel from the state of its worker, and records the
 * fault in the job, which ends the job. */
#ifndef NL_SIM_ENGINE_FAULT_H
#define NL_SIM_ENGINE_FAULT_H

#include "base/fault.h"
#include "base/text.h"
#include "driver/checks.h"
#include "sim/engine/job.h"
#include "sim/engine/worker.h"

/* Records a fault of the job and switches to the worker's own stack; may be called only on a fiber.
 * `kind` is the fault's kind in nl_fault; `thread` is (unsigned)-1 if unknown. */
_Noreturn void nl_sim_fault_raise(nl_sim_worker *worker, CUresult status, uint32_t kind,
                                  const char *message, unsigned thread, nl_sim_site site);
/* Records a fault that the kernel has not caused, such as a lack of memory; can be called on any
 * stack. */
void nl_sim_fault_fail_job(nl_sim_job *job, CUresult status, const char *text);

/* nl_sim_fault_begin initializes a fault of the block that the worker runs. nl_sim_fault_locate
 * sets the fault's thread and source line. */
void nl_sim_fault_begin(nl_fault *fault, const nl_sim_worker *worker, uint32_t kind,
                        nl_fault_head head);
void nl_sim_fault_locate(nl_fault_side *side, const nl_sim_worker *worker, unsigned thread,
                         nl_sim_site site);
/* Returns an nl_text that writes to fault->what. */
nl_text nl_sim_fault_text(nl_fault *fault);

/* Returns the kernel's name in the user's source. */
const char *nl_sim_fault_kernel_name(const nl_sim_kernel *kernel);

#endif

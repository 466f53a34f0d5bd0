/* sim/engine/fault: a fault of a kernel: made of what is known of its worker, and recorded in its
 * job, which it ends. */
#ifndef NL_SIM_ENGINE_FAULT_H
#define NL_SIM_ENGINE_FAULT_H

#include "base/fault.h"
#include "base/text.h"
#include "driver/checks.h"
#include "sim/engine/job.h"
#include "sim/engine/worker.h"

/* On a fiber: records a fault of the job and leaves to the worker's own stack. kind: as that of an
 * nl_fault; thread: (unsigned)-1 if it is not known. */
_Noreturn void nl_sim_fault_raise(nl_sim_worker *worker, CUresult status, uint32_t kind,
                                  const char *message, unsigned thread, nl_sim_site site);
/* On any stack, for what is nobody's mistake: something is not to be had. */
void nl_sim_fault_fail(nl_sim_job *job, CUresult status, const char *text);

/* A fault of the block that the worker runs; of one of its threads, which is somewhere. */
void nl_sim_fault_begin(nl_fault *fault, const nl_sim_worker *worker, uint32_t kind,
                        nl_fault_head head);
void nl_sim_fault_place(nl_fault_side *side, const nl_sim_worker *worker, unsigned thread,
                        nl_sim_site site);
/* Its `what`, to be written. */
nl_text nl_sim_fault_text(nl_fault *fault);

/* As the user knows it. */
const char *nl_sim_fault_kernel_name(const nl_sim_kernel *kernel);

#endif

/* sim/driver/outcome: what is known of the calling thread's last driver call besides its status. */
#ifndef NL_SIM_DRIVER_OUTCOME_H
#define NL_SIM_DRIVER_OUTCOME_H

#include "base/fault.h"

/* At the start of each call. */
void nl_sim_outcome_forget(void);
/* Its wait has been ended by the user; asked for once. */
void nl_sim_outcome_interrupt(void);
int nl_sim_outcome_interrupted(void);
/* It reported a fault; `id` is of the launch. For nl_driver.TakeFault. */
void nl_sim_outcome_report(uint64_t id, const nl_fault *fault);
int nl_sim_outcome_take_fault(nl_fault *fault, uint64_t *id);

#endif

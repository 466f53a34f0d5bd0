/* sim/driver/lasterror: the last error of a thread, which contains details of its last driver call
 * in addition to the status. */
#ifndef NL_SIM_DRIVER_LASTERROR_H
#define NL_SIM_DRIVER_LASTERROR_H

#include "base/fault.h"

/* Clears the last error; call it at the start of each driver call. */
void nl_sim_lasterror_clear(void);
/* nl_sim_lasterror_record_interrupt records that the user interrupted the wait of the current call.
 * nl_sim_lasterror_pop_interrupt returns whether an interrupt was recorded, and clears the record.
 */
void nl_sim_lasterror_record_interrupt(void);
int nl_sim_lasterror_pop_interrupt(void);
/* nl_sim_lasterror_store_fault stores a fault that the current call returns; `id` identifies the
 * fault. nl_sim_lasterror_pop_fault implements nl_driver.TakeFault. */
void nl_sim_lasterror_store_fault(uint64_t id, const nl_fault *fault);
int nl_sim_lasterror_pop_fault(nl_fault *fault, uint64_t *id);

#endif

/* driver/timed: profiles the launches of a thread on a GPU for numbalite.profiler: the time, which
 * events measure, and the kernel's attributes, which the driver returns. */
#ifndef NL_DRIVER_TIMED_H
#define NL_DRIVER_TIMED_H

#include <stdint.h>
#include "driver/profile.h"

/* nl_timed_open, nl_timed_take and nl_timed_close replace nl_driver.OpenProfile, TakeProfile and
 * CloseProfile for drivers without these functions. Between nl_timed_open and nl_timed_close,
 * launches of the calling thread are timed, but not those of other threads. nl_timed_take waits for
 * the launch. */
uint64_t nl_timed_open(void);
nl_profile *nl_timed_pop(uint64_t token);
void nl_timed_close(uint64_t token);

#endif

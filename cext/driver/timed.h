/* driver/timed: the launches of a thread on a GPU, for numbalite.profiler: time by events, and what
 * the driver reports of the kernel. */
#ifndef NL_DRIVER_TIMED_H
#define NL_DRIVER_TIMED_H

#include <stdint.h>
#include "driver/profile.h"

/* For drivers without nl_driver.OpenProfile, TakeProfile and CloseProfile. From open to close the
 * launches of the calling thread are timed; other launches are not changed. take waits for the
 * launch. */
uint64_t nl_timed_open(void);
nl_profile *nl_timed_pop(uint64_t token);
void nl_timed_close(uint64_t token);

#endif

/* sim/check/named: stores the names of the arrays that generated code passes to the user's code
 * (NUMBALITE_NAMED in cuda_src/numbalite/gufunc.cuh). Each thread has a list of its current
 * arrays. */
#ifndef NL_SIM_CHECK_NAMED_H
#define NL_SIM_CHECK_NAMED_H

#include "sim/engine/worker.h"

/* Called by images (nl_sim_checker): nl_sim_named_register adds an array to the running thread's
 * list, nl_sim_named_unregister removes the array. */
void nl_sim_named_register(nl_sim_named *array);
void nl_sim_named_unregister(nl_sim_named *array);
/* Among the running thread's arrays that begin in [low, high), returns the array whose elements are
 * nearest to the address, or NULL if there is no such array. */
const nl_sim_named *nl_sim_named_find_nearest(const nl_sim_worker *worker, uintptr_t address,
                                              uintptr_t low, uintptr_t high);

#endif

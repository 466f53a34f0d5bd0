/* sim/check/named: the arrays that generated code hands to the user's (NUMBALITE_NAMED in
 * cuda_src/numbalite/gufunc.cuh), which each thread lists while it has them. */
#ifndef NL_SIM_CHECK_NAMED_H
#define NL_SIM_CHECK_NAMED_H

#include "sim/engine/worker.h"

/* What images call (nl_sim_checker): the running thread has this array from now on, or no longer.
 */
void nl_sim_named_begin(nl_sim_named *array);
void nl_sim_named_end(nl_sim_named *array);
/* Of the running thread's, the one whose elements are nearest to the address among those that begin
 * in [low, high); NULL: none. */
const nl_sim_named *nl_sim_named_nearest(const nl_sim_worker *worker, uintptr_t address,
                                         uintptr_t low, uintptr_t high);

#endif

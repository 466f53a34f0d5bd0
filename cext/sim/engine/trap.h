/* sim/engine/trap: converts a signal in kernel code to a fault of the launch. */
#ifndef NL_SIM_ENGINE_TRAP_H
#define NL_SIM_ENGINE_TRAP_H

#include "sim/engine/worker.h"

/* Records the fault of worker->trap; call this function on the worker's own stack. `thread` is -1
 * if unknown. */
void nl_sim_trap_record(nl_sim_worker *worker, int thread);

#endif

/* sim/engine/trap: from a signal that came while kernel code ran to a fault of the launch. */
#ifndef NL_SIM_ENGINE_TRAP_H
#define NL_SIM_ENGINE_TRAP_H

#include "sim/engine/worker.h"

/* On the worker's own stack: records worker->trap. thread: -1 if it is not known. */
void nl_sim_trap_record(nl_sim_worker *worker, int thread);

#endif

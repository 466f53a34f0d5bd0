/* sim/check/observer: where the engine and instrumented images reach the checkers. */
#ifndef NL_SIM_CHECK_OBSERVER_H
#define NL_SIM_CHECK_OBSERVER_H

#include "sim/engine/observer.h"

/* Of launches that have a job->check. */
extern const nl_sim_observer nl_sim_check_observer;

/* Puts what instrumented images call into the shadow's table; before any is loaded. */
void nl_sim_check_install(void);

#endif

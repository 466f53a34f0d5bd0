/* sim/check/observer: the hooks by which the engine and instrumented images call the checkers. */
#ifndef NL_SIM_CHECK_OBSERVER_H
#define NL_SIM_CHECK_OBSERVER_H

#include "sim/engine/observer.h"

/* The hooks of launches that have a job->check. */
extern const nl_sim_observer nl_sim_observer_of_checks;

/* Stores the functions that instrumented images call in the table of the shadow memory. Call this
 * function before any image is loaded. */
void nl_sim_observer_install(void);

#endif

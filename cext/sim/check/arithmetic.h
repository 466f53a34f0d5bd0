/* sim/check/arithmetic: checks for divisions by zero, overflows of integers, and NaN or infinity
 * from finite numbers. */
#ifndef NL_SIM_CHECK_ARITHMETIC_H
#define NL_SIM_CHECK_ARITHMETIC_H

#include "sim/abi.h"

/* Implements nl_sim_checker.arithmetic. */
void nl_sim_arithmetic_check(const nl_sim_arithmetic *what, const void *pc);

#endif

/* sim/check/arithmetic: divisions by zero, and NaN and infinity made of finite numbers, in launches
 * that are checked for them. */
#ifndef NL_SIM_CHECK_ARITHMETIC_H
#define NL_SIM_CHECK_ARITHMETIC_H

#include "sim/abi.h"

/* nl_sim_checker.arithmetic */
void nl_sim_check_arithmetic(const nl_sim_arithmetic *what, const void *pc);

#endif

/* sim/check/verdict: stores the results of exact race searches until the program requests them. */
#ifndef NL_SIM_CHECK_VERDICT_H
#define NL_SIM_CHECK_VERDICT_H

#include "driver/checks.h"

/* Stores the verdict of the race search on one launch. Verdicts with the same record and kernel
 * name are merged: the worst verdict, and the sums of launches and schedules. If memory runs out,
 * the verdict is lost. */
void nl_sim_verdict_add(uint64_t record, const char *kernel, nl_verdict_kind kind,
                        uint64_t schedules);
/* Implements nl_driver.TakeVerdict. */
int nl_sim_verdict_pop(uint64_t record, nl_verdict *verdict);

#endif

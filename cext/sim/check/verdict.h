/* sim/check/verdict: what exact searches for races have decided, until the program asks. */
#ifndef NL_SIM_CHECK_VERDICT_H
#define NL_SIM_CHECK_VERDICT_H

#include "driver/checks.h"

/* Records the verdict on one launch of a kernel. The kernel's verdicts under this number become
 * one: the worst, with the sums of launches and schedules. Without memory it is lost. */
void nl_sim_verdict_add(uint64_t record, const char *kernel, nl_verdict_kind kind,
                        uint64_t schedules);
/* nl_driver.TakeVerdict */
int nl_sim_verdict_take(uint64_t record, nl_verdict *verdict);

#endif

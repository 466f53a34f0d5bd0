/* sim/engine/xorwow: cuRAND's default generator, jumping ahead
 * (cuda_src/sim/include/curand_kernel.h). */
#ifndef NL_SIM_ENGINE_XORWOW_H
#define NL_SIM_ENGINE_XORWOW_H

/* nl_sim_ops.xorwow_jump */
void nl_sim_xorwow_jump(unsigned *state, unsigned long long steps, int scale);
void nl_sim_xorwow_forget(void); /* in a forked child */

#endif

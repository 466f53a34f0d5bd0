/* sim/engine/xorwow: skips ahead in cuRAND's default generator
 * (cuda_src/sim/include/curand_kernel.h). */
#ifndef NL_SIM_ENGINE_XORWOW_H
#define NL_SIM_ENGINE_XORWOW_H

/* Implements nl_sim_ops.xorwow_jump. */
void nl_sim_xorwow_jump(unsigned *state, unsigned long long steps, int scale);
void nl_sim_xorwow_reset_in_child(void); /* call this in a forked child */

#endif

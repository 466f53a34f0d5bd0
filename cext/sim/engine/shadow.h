/* sim/engine/shadow: what is known of each byte of simulated memory: is there memory, has it been
 * written?
 *
 * Kept only once some launch is checked. Then what was allocated before counts as written, unless
 * surely nothing has written it; from there on allocating, freeing, copies and checked kernels keep
 * it up to date, and a kernel that is not checked makes everything count as written. */
#ifndef NL_SIM_ENGINE_SHADOW_H
#define NL_SIM_ENGINE_SHADOW_H

#include <stddef.h>
#include <stdint.h>
#include "base/lock.h"
#include "sim/abi.h"

/* What images see of it (abi.h). Its functions are those of whoever checks. */
extern nl_sim_checker nl_sim_shadow;
extern uint32_t nl_sim_shadow_kept;

static inline int nl_sim_shadow_is_kept(void) {
    return nl_atomic_load32(&nl_sim_shadow_kept) != 0;
}
/* For memory (nl_sim_memory_watch), which fills the shadow before it is kept: all bytes count as
 * not there. -1 without the address space for it. */
int nl_sim_shadow_map(uintptr_t low, size_t span);
/* From now on everybody who writes notes it. */
void nl_sim_shadow_keep(void);

/* One more launch (1), or one less (-1), wants to hear of all accesses. */
void nl_sim_shadow_hear_all(int change);

/* Sets what is known of [address, address + size), as far as it is simulated memory: 0,
 * NL_SIM_THERE, or NL_SIM_THERE | NL_SIM_WRITTEN. */
void nl_sim_shadow_set(uintptr_t address, size_t size, int state);
/* Sets or clears bits of them. */
void nl_sim_shadow_mark(uintptr_t address, size_t size, unsigned bits, int on);
/* Has any byte there one of the bits? */
int nl_sim_shadow_any(uintptr_t address, size_t size, unsigned bits);
/* Whole pages of simulated memory are there no more; their part of the shadow costs no memory then.
 */
void nl_sim_shadow_drop(uintptr_t low, size_t span);
/* Memory has been copied: the copy is written where it is. */
void nl_sim_shadow_copy(uintptr_t to, uintptr_t from, size_t size);
/* How many bytes from `address` on, at most `size`, are there. */
size_t nl_sim_shadow_there(uintptr_t address, size_t size);
/* Where in them, if anywhere, there are `least` bytes in a row that have not been written: the
 * offset, or `size`. Sets *count to how many they are. */
size_t nl_sim_shadow_find_unwritten(uintptr_t address, size_t size, size_t least, size_t *count);
/* Has any of these bytes, all of which are there, been written? */
static inline int nl_sim_shadow_any_written(uintptr_t address, size_t size) {
    return nl_sim_shadow_any(address, size, NL_SIM_WRITTEN);
}

#endif

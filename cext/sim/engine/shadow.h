/* sim/engine/shadow: shadow memory: for each byte of simulated memory, is it allocated, and was it
 * written?
 *
 * It is enabled when the first launch is checked. Memory that was allocated earlier then counts as
 * written, unless it certainly was not. From then on, allocation, freeing, copies and checked
 * kernels update it, and a kernel that is not checked marks everything as written. */
#ifndef NL_SIM_ENGINE_SHADOW_H
#define NL_SIM_ENGINE_SHADOW_H

#include <stddef.h>
#include <stdint.h>
#include "base/lock.h"
#include "sim/abi.h"

/* The part that images access (abi.h). The checks set its functions. */
extern nl_sim_checker nl_sim_shadow;
extern uint32_t nl_sim_shadow_kept;

static inline int nl_sim_shadow_is_recorded(void) {
    return nl_atomic_load32(&nl_sim_shadow_kept) != 0;
}
/* Maps the shadow memory, with all bytes marked as not allocated. Called by nl_sim_memory_watch,
 * which fills it before it is enabled. -1 if there is no address space for it. */
int nl_sim_shadow_map(uintptr_t low, size_t span);
/* Enables it: from now on all writers must update it. */
void nl_sim_shadow_keep(void);

/* Changes the number of launches that need a call for every access: 1 or -1. */
void nl_sim_shadow_hear_all(int change);

/* Sets the state of [address, address + size), as far as it is simulated memory: 0, NL_SIM_THERE,
 * or NL_SIM_THERE | NL_SIM_WRITTEN. */
void nl_sim_shadow_set(uintptr_t address, size_t size, int state);
/* Sets or clears bits of the state. */
void nl_sim_shadow_mark(uintptr_t address, size_t size, unsigned bits, int on);
/* Returns whether the state of any byte in [address, address + size) has one of the bits. */
int nl_sim_shadow_any(uintptr_t address, size_t size, unsigned bits);
/* Marks complete pages of simulated memory as not allocated, and frees their shadow memory. */
void nl_sim_shadow_drop(uintptr_t low, size_t span);
/* Copies the state of copied memory; a source outside of simulated memory counts as written. */
void nl_sim_shadow_copy(uintptr_t to, uintptr_t from, size_t size);
/* Returns the number of consecutive allocated bytes that begin at `address`, at most `size`. */
size_t nl_sim_shadow_valid_length(uintptr_t address, size_t size);
/* Finds at least `least` consecutive unwritten bytes. Returns their offset, and sets *count to
 * their number; returns `size` if there are none. */
size_t nl_sim_shadow_find_unwritten(uintptr_t address, size_t size, size_t least, size_t *count);
/* Returns whether any of these bytes was written. All bytes must be allocated. */
static inline int nl_sim_shadow_any_written(uintptr_t address, size_t size) {
    return nl_sim_shadow_any(address, size, NL_SIM_WRITTEN);
}

#endif

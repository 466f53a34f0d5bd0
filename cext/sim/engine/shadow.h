/* sim/engine/shadow: the shadow memory, which records for each byte of simulated memory whether it
 * is allocated and whether it was written.
 *
 * Shadow memory is enabled when the first launch is checked. Memory that was allocated before the
 * shadow memory was enabled counts as written, unless it was certainly not written. Once enabled,
 * the shadow memory is updated by allocation, freeing, copies and checked kernels, and a kernel
 * that is not checked marks all memory as written. */
#ifndef NL_SIM_ENGINE_SHADOW_H
#define NL_SIM_ENGINE_SHADOW_H

#include <stddef.h>
#include <stdint.h>
#include "base/lock.h"
#include "sim/abi.h"

/* The data of the shadow memory that images access (abi.h). The checks set its function
 * pointers. */
extern nl_sim_checker nl_sim_shadow;
extern uint32_t nl_sim_shadow_kept;

static inline int nl_sim_shadow_is_recorded(void) {
    return nl_atomic_load32(&nl_sim_shadow_kept) != 0;
}
/* Maps the shadow memory, with all bytes marked as unallocated. Called by
 * nl_sim_memory_enable_shadow, which fills the shadow memory before enabling it. Returns -1 if
 * there is no address space for the shadow memory. */
int nl_sim_shadow_map(uintptr_t low, size_t span);
/* Enables the shadow memory: from then on, all writers must update it. */
void nl_sim_shadow_enable(void);

/* Changes the number of launches whose images must call the checker for every access: 1 or -1. */
void nl_sim_shadow_set_every_access(int change);

/* Sets the state of each byte of simulated memory in [address, address + size): 0, NL_SIM_THERE,
 * or NL_SIM_THERE | NL_SIM_WRITTEN. */
void nl_sim_shadow_set(uintptr_t address, size_t size, int state);
/* Sets or clears bits of the state of simulated memory. */
void nl_sim_shadow_change_bits(uintptr_t address, size_t size, unsigned bits, int on);
/* Returns whether the state of any byte in [address, address + size) has one of the bits. */
int nl_sim_shadow_has_any_bit(uintptr_t address, size_t size, unsigned bits);
/* Marks whole pages of simulated memory as unallocated, and frees their shadow memory. */
void nl_sim_shadow_free_pages(uintptr_t low, size_t span);
/* Copies the state of memory that was copied; a source outside of simulated memory counts as
 * written. */
void nl_sim_shadow_copy(uintptr_t to, uintptr_t from, size_t size);
/* Returns the number of consecutive allocated bytes that begin at `address`, at most `size`. */
size_t nl_sim_shadow_valid_length(uintptr_t address, size_t size);
/* Finds the first `least` or more consecutive unwritten bytes. Returns the offset of these bytes,
 * and sets *count to their number; returns `size` if there are no such bytes. */
size_t nl_sim_shadow_find_unwritten(uintptr_t address, size_t size, size_t least, size_t *count);
/* Returns whether any byte of the range was written. The caller must know that all bytes are
 * allocated. */
static inline int nl_sim_shadow_any_written(uintptr_t address, size_t size) {
    return nl_sim_shadow_has_any_bit(address, size, NL_SIM_WRITTEN);
}

#endif

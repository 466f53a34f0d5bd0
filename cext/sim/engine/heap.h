/* sim/engine/heap: implements malloc and free inside kernels, in a range of the simulated memory's
 * addresses. */
#ifndef NL_SIM_ENGINE_HEAP_H
#define NL_SIM_ENGINE_HEAP_H

#include <stddef.h>
#include <stdint.h>

/* Sets or returns the size of the heap. nl_sim_heap_set_size returns 0, or -1 if the heap is
 * already in use. */
int nl_sim_heap_set_size(size_t size);
size_t nl_sim_heap_size(void);
void *nl_sim_heap_alloc(unsigned long long size); /* NULL when it is exhausted */
/* Returns 0, or -1 if `block` is not an allocated block. NULL is accepted. */
int nl_sim_heap_free(void *block);
/* Starts updating the shadow memory (sim/engine/shadow.h) for the heap's blocks. */
void nl_sim_heap_enable_shadow(void);
/* Marks a new block as unwritten. */
void nl_sim_heap_mark_unwritten(uintptr_t block);
/* Marks all blocks as written. */
void nl_sim_heap_mark_all_written(void);
/* Describes an address in an allocated block, as "byte 8 of 40 bytes of malloc()". Returns 0 if the
 * address is in no allocated block. */
int nl_sim_heap_write_name(uintptr_t address, char *text, size_t size);
/* Describes an address near a block, as ", 4 bytes after the end of 40 bytes of malloc()"; returns
 * 0 if the address is not in the heap. */
int nl_sim_heap_describe(uintptr_t address, char *text, size_t size);
void nl_sim_heap_reset(void);
void nl_sim_heap_reset_in_child(void); /* call this in a forked child */

#endif

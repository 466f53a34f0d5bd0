/* sim/engine/heap: malloc and free inside kernels, in a part of the simulated memory's range. */
#ifndef NL_SIM_ENGINE_HEAP_H
#define NL_SIM_ENGINE_HEAP_H

#include <stddef.h>
#include <stdint.h>

/* How large it is; 0 and -1 once it is in use. */
int nl_sim_heap_set_size(size_t size);
size_t nl_sim_heap_size(void);
void *nl_sim_heap_alloc(unsigned long long size); /* NULL when it is exhausted */
/* Returns 0, or -1 if `block` was not allocated. NULL is accepted. */
int nl_sim_heap_free(void *block);
/* From now on the shadow knows of the blocks (sim/engine/shadow.h). */
void nl_sim_heap_watch(void);
/* Nothing has been written in the block at the address, which is new. */
void nl_sim_heap_unwritten(uintptr_t block);
/* Something may have been written in all of them. */
void nl_sim_heap_written(void);
/* "byte 8 of 40 bytes of malloc()"; 0 if no block in use holds the address. */
int nl_sim_heap_name(uintptr_t address, char *text, size_t size);
/* ", 4 bytes after the end of 40 bytes of malloc()"; 0 if the address is not of this heap. */
int nl_sim_heap_describe(uintptr_t address, char *text, size_t size);
void nl_sim_heap_reset(void);
void nl_sim_heap_forget(void); /* in a forked child */

#endif

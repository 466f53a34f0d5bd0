/* sim/engine/heap: malloc and free inside kernels. */
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
/* Is it all in a block that is in use, as far as that was asked for? */
int nl_sim_heap_covers(uintptr_t address, size_t size);
/* ", 4 bytes after the end of 40 bytes of malloc()"; 0 if the address is not of this heap. */
int nl_sim_heap_describe(uintptr_t address, char *text, size_t size);
void nl_sim_heap_reset(void);
void nl_sim_heap_forget(void); /* in a forked child */

#endif

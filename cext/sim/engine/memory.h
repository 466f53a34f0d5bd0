/* sim/engine/memory: allocates memory of the simulated devices, page-locked host memory, and
 * managed memory.
 *
 * All simulated memory is in one reserved address range. Each allocation has its own pages, with
 * inaccessible pages on both sides. An allocation ends as close to the following guard as its
 * alignment allows; the unused bytes of its first and last page are filled with a pattern (the red
 * zones). Addresses are reused only after the whole range was used, so that an access through a
 * stale pointer
 * traps. */
#ifndef NL_SIM_ENGINE_MEMORY_H
#define NL_SIM_ENGINE_MEMORY_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include "driver/cuda_abi.h"

typedef enum nl_sim_memory_kind {
    NL_SIM_MEMORY_DEVICE,
    NL_SIM_MEMORY_MANAGED,
    NL_SIM_MEMORY_HOST,       /* page-locked memory, allocated here */
    NL_SIM_MEMORY_REGISTERED, /* page-locked memory that the caller owns */
    NL_SIM_MEMORY_GLOBAL,     /* a variable of a module */
    NL_SIM_MEMORY_POOLED,     /* device memory from a pool */
    NL_SIM_MEMORY_OPENED,     /* device memory of another process */
    NL_SIM_MEMORY_SHARED, /* shared memory of blocks in checked launches, which is never freed */
} nl_sim_memory_kind;

typedef struct nl_sim_memory_info {
    uintptr_t address;
    size_t size;
    nl_sim_memory_kind kind;
    int device;
    uint64_t id; /* id of the allocation, which is unique in the process */
} nl_sim_memory_info;

enum { NL_SIM_MEMORY_TEXT = 256 };

/* Initializes the memory of the devices; must be called once. `total` is the size of each device's
 * memory in bytes. */
void nl_sim_memory_open(int devices);
size_t nl_sim_memory_total_size(void);
size_t nl_sim_memory_used(int device);

CUresult nl_sim_memory_alloc(nl_sim_memory_kind kind, int device, size_t size, uintptr_t *address);
/* Frees the allocation at `address`, which must have the kind `kind` (DEVICE also accepts MANAGED
 * and POOLED). If a kernel wrote outside of the allocation, `damage` describes that write;
 * otherwise `damage` is "". No work may use the allocation during this call. */
CUresult nl_sim_memory_free(nl_sim_memory_kind kind, uintptr_t address,
                            char damage[NL_SIM_MEMORY_TEXT]);
/* Adds memory of another owner to the table or removes it; the memory is not allocated or freed. */
CUresult nl_sim_memory_register(nl_sim_memory_kind kind, int device, void *address, size_t size);
CUresult nl_sim_memory_unregister(nl_sim_memory_kind kind, void *address);
/* File seals by which no process can truncate the file while other processes have mapped it. */
#define NL_SIM_MEMORY_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
/* Backs device memory by a file that other processes can map; the address and contents of the
 * memory stay the same. No work may use the memory during this call. */
typedef struct nl_sim_memory_file {
    int fd; /* still owned by this module */
    /* `span` is the size in bytes of the file's pages, `lead` the offset of the memory's first byte
     * in the file */
    size_t span, lead;
    size_t size;
} nl_sim_memory_file;
CUresult nl_sim_memory_share_allocation(uintptr_t address, nl_sim_memory_file *file);
/* Maps a file that nl_sim_memory_share_allocation has created, as memory of kind OPENED. */
CUresult nl_sim_memory_open_file(int device, const nl_sim_memory_file *file, uintptr_t *address);
/* Returns the first address of the range that is reserved for the heap of kernels, and sets *size.
 * The pages of this range are inaccessible. Returns 0 if no range is reserved. */
uintptr_t nl_sim_memory_heap_range(size_t *size);
/* Frees all allocations of a device. */
void nl_sim_memory_clear(int device);

/* Finds the allocation that contains `address`; returns 0 if there is none. */
int nl_sim_memory_find_allocation(uintptr_t address, nl_sim_memory_info *info);
/* Returns whether one allocation contains all of [address, address + size). */
int nl_sim_memory_covers(uintptr_t address, size_t size);
/* Returns whether the address is in an allocation of this table (device, page-locked or registered
 * memory), which a device can access asynchronously. */
int nl_sim_memory_is_pinned(const void *address);
/* Checks the red zones of the allocations to which pointers among the words point. Returns 1 if a
 * red zone was damaged: then `damage` is a sentence, and `word` the index of the word. */
int nl_sim_memory_check_guards(const uintptr_t *words, size_t count,
                               char damage[NL_SIM_MEMORY_TEXT], size_t *word);
/* Appends the position of an address to a sentence that ends with the address, such as ", 4 bytes
 * after the end of ...". */
void nl_sim_memory_describe(uintptr_t address, char *text, size_t size);

/* The following functions serve the shadow memory (sim/engine/shadow.h). */
/* Sets *low and *high to the address range that contains all allocations. */
void nl_sim_memory_address_range(uintptr_t *low, uintptr_t *high);
/* After this call, `hear` is called for memory that is allocated or freed, while the lock of
 * sim/engine/memory is held. */
typedef void (*nl_sim_memory_heard_fn)(uintptr_t address, size_t size);
void nl_sim_memory_set_listener(nl_sim_memory_heard_fn hear);
/* Enables the shadow memory, unless it is already enabled. Returns -1 if there is no address space
 * for the shadow memory. `also` must set the shadow of the heap's range. */
int nl_sim_memory_enable_shadow(void (*also)(void));
/* Marks all memory as written; call this function when a kernel that is not checked may have
 * written to any address. */
void nl_sim_memory_mark_all_written(void);
/* Returns whether one allocation contains the bytes, which the caller is about to write, and marks
 * the allocation as written. */
int nl_sim_memory_covers_target(uintptr_t address, size_t size);
/* Finds the allocation to which an invalid access was probably intended. Returns 1 if it finds the
 * allocation that contains the address, or the nearest allocation; returns 2 if it finds a freed
 * allocation that contained the address, or 0 if it finds none. */
int nl_sim_memory_find_nearest(uintptr_t address, nl_sim_memory_info *info);
void nl_sim_memory_reset_in_child(void); /* call this in a forked child */

#endif

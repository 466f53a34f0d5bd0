/* sim/engine/memory: the memory of the simulated devices, page-locked host memory, managed memory.
 *
 * Everything is in one reserved range of addresses. Each allocation has its own pages with
 * inaccessible ones on both sides, ends as near to the following guard as its alignment allows, and
 * what is left of its first and last page is filled with a known pattern (the red zones). Addresses
 * are not used again until the range has been gone through, so that a stale pointer traps. */
#ifndef NL_SIM_ENGINE_MEMORY_H
#define NL_SIM_ENGINE_MEMORY_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include "driver/cuda_abi.h"

typedef enum nl_sim_memory_kind {
    NL_SIM_MEMORY_DEVICE,
    NL_SIM_MEMORY_MANAGED,
    NL_SIM_MEMORY_HOST,       /* page-locked, ours */
    NL_SIM_MEMORY_REGISTERED, /* page-locked, somebody else's */
    NL_SIM_MEMORY_GLOBAL,     /* a variable of a module */
    NL_SIM_MEMORY_POOLED,     /* device memory from a pool */
    NL_SIM_MEMORY_OPENED,     /* device memory of another process */
    NL_SIM_MEMORY_SHARED,     /* of blocks, in checked launches; never freed */
} nl_sim_memory_kind;

typedef struct nl_sim_memory_info {
    uintptr_t address;
    size_t size;
    nl_sim_memory_kind kind;
    int device;
    uint64_t id; /* of the allocation, never used twice */
} nl_sim_memory_info;

enum { NL_SIM_MEMORY_TEXT = 256 };

/* Per device: how much there is. Call once. */
void nl_sim_memory_open(int devices);
size_t nl_sim_memory_total(void);
size_t nl_sim_memory_used(int device);

CUresult nl_sim_memory_alloc(nl_sim_memory_kind kind, int device, size_t size, uintptr_t *address);
/* Frees what begins at `address` and is of kind `kind` (DEVICE stands for MANAGED and POOLED
 * too). Puts into
 * `damage` what a kernel wrote outside of it, or "". Nothing of it may be in use. */
CUresult nl_sim_memory_free(nl_sim_memory_kind kind, uintptr_t address,
                            char damage[NL_SIM_MEMORY_TEXT]);
/* Memory that is not ours to free, so that it is known. */
CUresult nl_sim_memory_register(nl_sim_memory_kind kind, int device, void *address, size_t size);
CUresult nl_sim_memory_unregister(nl_sim_memory_kind kind, void *address);
/* The seals of the files below: nobody can make them shorter under those who have them mapped. */
#define NL_SIM_MEMORY_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
/* Device memory as a file that other processes can map; it keeps its address and contents. Nothing
 * of it may be in use. */
typedef struct nl_sim_memory_file {
    int fd;            /* stays ours */
    size_t span, lead; /* of its pages; of the pages in front of the memory's first byte */
    size_t size;
} nl_sim_memory_file;
CUresult nl_sim_memory_share(uintptr_t address, nl_sim_memory_file *file);
/* The memory that such a file holds, of kind OPENED. */
CUresult nl_sim_memory_open_file(int device, const nl_sim_memory_file *file, uintptr_t *address);
/* The part of the range that is for the heap of kernels: nothing else is there. Its pages are not
 * accessible; 0 where there is none. */
uintptr_t nl_sim_memory_heap(size_t *size);
/* Everything that belongs to a device. */
void nl_sim_memory_clear(int device);

/* The allocation that contains `address`; 0 if there is none. */
int nl_sim_memory_find(uintptr_t address, nl_sim_memory_info *info);
/* Is all of [address, address + size) in one allocation? */
int nl_sim_memory_covers(uintptr_t address, size_t size);
/* Whether a device can read and write the host's memory there while the host goes on. */
int nl_sim_memory_is_pinned(const void *address);
/* Checks the red zones of the allocations to which the words point. Returns 1 if one was damaged,
 * with a sentence in `damage` and the index of the word in `word`. */
int nl_sim_memory_check(const uintptr_t *words, size_t count, char damage[NL_SIM_MEMORY_TEXT],
                        size_t *word);
/* Appends to a sentence that ended with an address where it lies: ", 4 bytes after the end of ...".
 */
void nl_sim_memory_describe(uintptr_t address, char *text, size_t size);

/* For the shadow (sim/engine/shadow.h). */
/* The range that all of it is in. */
void nl_sim_memory_range(uintptr_t *low, uintptr_t *high);
/* From now on `hear` is called, under the lock of this, for memory that comes or goes. */
typedef void (*nl_sim_memory_heard_fn)(uintptr_t address, size_t size);
void nl_sim_memory_hear(nl_sim_memory_heard_fn hear);
/* From now on the shadow is kept; no matter if it is already. -1 without the address space for it.
 * `also` fills it for what is in the part of the heap. */
int nl_sim_memory_watch(void (*also)(void));
/* Something may have been written anywhere: by a kernel that is not checked. */
void nl_sim_memory_written(void);
/* As nl_sim_memory_covers; and these bytes are going to be written. */
int nl_sim_memory_covers_target(uintptr_t address, size_t size);
/* What an address near an allocation may have been meant for: 1: the allocation that it is in, or
 * the nearest; 2: one that has been freed; 0: there is none. */
int nl_sim_memory_near(uintptr_t address, nl_sim_memory_info *info);
void nl_sim_memory_forget(void); /* in a forked child */

#endif

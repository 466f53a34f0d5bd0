/* sim/engine/heap: allocates blocks whose size is a power of two, separate from the program's heap.
 * The bookkeeping is outside of the blocks, so that a kernel's invalid write can damage at most
 * other kernels' blocks. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "sim/engine/heap.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include "base/lock.h"
#include "sim/engine/memory.h"
#include "sim/engine/shadow.h"

enum { GRAIN_BITS = 5, CLASSES = 40, LIVE = 0x80, FIRST = 0x40 };
enum { DEFAULT_SIZE = 8 << 20 };

static nl_mutex lock = NL_MUTEX_INIT;
static struct {
    size_t size;    /* 0: the default */
    int is_watched; /* set if shadow memory marks allocated and written bytes */
    int unwritten;  /* set if the shadow memory may mark some blocks as unwritten */
    char *low;
    /* one byte per grain: 0, or, in the first grain of a block, its size class | FIRST | LIVE */
    uint8_t *state;
    uint64_t *asked;        /* requested size of a block, stored for its first grain */
    uint32_t *next;         /* for each free block's first grain, 1 + index of the next free block
                             * of the class */
    uint32_t free[CLASSES]; /* for each class, 1 + index of the first free block */
    uint32_t grains, fresh; /* number of grains, of which [fresh, grains) have never been used */
} heap;

static void *map_memory(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

size_t nl_sim_heap_size(void) {
    nl_mutex_lock(&lock);
    size_t size = heap.size ? heap.size : DEFAULT_SIZE;
    nl_mutex_unlock(&lock);
    return size;
}

int nl_sim_heap_set_size(size_t size) {
    int status = -1;
    size_t most = (size_t)1 << 36;
    nl_mutex_lock(&lock);
    if (!heap.low) {
        heap.size = size > most ? most : size < DEFAULT_SIZE ? (size_t)DEFAULT_SIZE : size;
        status = 0;
    }
    nl_mutex_unlock(&lock);
    return status;
}

static int open_heap_lock_held(void) {
    if (heap.low)
        return 0;
    size_t size = heap.size ? heap.size : DEFAULT_SIZE, available;
    char *low = (char *)nl_sim_memory_heap_range(&available);
    uint32_t grains = (uint32_t)((size < available ? size : available) >> GRAIN_BITS);
    if (!low || mprotect(low, (size_t)grains << GRAIN_BITS, PROT_READ | PROT_WRITE) != 0)
        return -1;
    heap.state = map_memory(grains);
    heap.next = map_memory(grains * sizeof *heap.next);
    heap.asked = map_memory(grains * sizeof *heap.asked);
    if (!heap.state || !heap.next || !heap.asked)
        return -1;
    heap.low = low;
    heap.grains = grains;
    return 0;
}

static void set_block_shadow_lock_held(uint32_t grain, int state) {
    if (heap.is_watched)
        nl_sim_shadow_set((uintptr_t)heap.low + ((size_t)grain << GRAIN_BITS), heap.asked[grain],
                          state);
}

static void set_all_shadows_lock_held(void) {
    for (uint32_t grain = 0; grain < heap.fresh; grain++) {
        if (heap.state[grain] & LIVE)
            set_block_shadow_lock_held(grain, NL_SIM_THERE | NL_SIM_WRITTEN);
    }
}

void nl_sim_heap_enable_shadow(void) {
    nl_mutex_lock(&lock);
    heap.is_watched = 1;
    set_all_shadows_lock_held();
    nl_mutex_unlock(&lock);
}

void nl_sim_heap_mark_unwritten(uintptr_t block) {
    nl_mutex_lock(&lock);
    heap.unwritten = 1;
    set_block_shadow_lock_held((uint32_t)((block - (uintptr_t)heap.low) >> GRAIN_BITS),
                               NL_SIM_THERE);
    nl_mutex_unlock(&lock);
}

void nl_sim_heap_mark_all_written(void) {
    nl_mutex_lock(&lock);
    if (heap.unwritten)
        set_all_shadows_lock_held();
    heap.unwritten = 0;
    nl_mutex_unlock(&lock);
}

static void *alloc_block_lock_held(unsigned class, uint64_t size) {
    uint32_t grain, needed = 1u << class;
    if (open_heap_lock_held() < 0)
        return NULL;
    if (heap.free[class]) {
        grain = heap.free[class] - 1;
        heap.free[class] = heap.next[grain];
    } else if (heap.grains - heap.fresh >= needed) {
        grain = heap.fresh;
        heap.fresh += needed;
    } else {
        return NULL;
    }
    heap.state[grain] = (uint8_t)(class | FIRST | LIVE);
    heap.asked[grain] = size;
    set_block_shadow_lock_held(grain, NL_SIM_THERE | NL_SIM_WRITTEN);
    return heap.low + ((size_t)grain << GRAIN_BITS);
}

void *nl_sim_heap_alloc(unsigned long long size) {
    unsigned class = 0;
    if (size == 0 || size > (1ull << 36))
        return NULL;
    while ((1ull << (class + GRAIN_BITS)) < size)
        class ++;
    if (class >= 31)
        return NULL;
    nl_mutex_lock(&lock);
    void *block = alloc_block_lock_held(class, size);
    nl_mutex_unlock(&lock);
    return block;
}

int nl_sim_heap_free(void *block) {
    if (!block)
        return 0;
    int status = -1;
    nl_mutex_lock(&lock);
    size_t offset = (size_t)((char *)block - heap.low), grain = offset >> GRAIN_BITS;
    if (heap.low && (char *)block >= heap.low && grain < heap.grains &&
        offset % (1u << GRAIN_BITS) == 0 && (heap.state[grain] & LIVE)) {
        unsigned class = (heap.state[grain] &= (uint8_t)~LIVE) & (FIRST - 1);
        set_block_shadow_lock_held((uint32_t)grain, 0);
        heap.next[grain] = heap.free[class];
        heap.free[class] = (uint32_t)grain + 1;
        status = 0;
    }
    nl_mutex_unlock(&lock);
    return status;
}

/* Finds the first grain of the block that contains the address, or of the block before it. Returns
 * 0 if there is no block. */
static int find_block_lock_held(uintptr_t address, uint32_t *first) {
    uintptr_t offset = address - (uintptr_t)heap.low;
    if (!heap.low || offset >> GRAIN_BITS >= heap.grains)
        return 0;
    for (uint32_t grain = (uint32_t)(offset >> GRAIN_BITS) + 1; grain-- > 0;) {
        if (heap.state[grain]) {
            *first = grain;
            return 1;
        }
    }
    return 0;
}

int nl_sim_heap_write_name(uintptr_t address, char *text, size_t size) {
    uint32_t first;
    nl_mutex_lock(&lock);
    int found = find_block_lock_held(address, &first) && (heap.state[first] & LIVE);
    uintptr_t inside = found ? address - (uintptr_t)heap.low - ((uintptr_t)first << GRAIN_BITS) : 0;
    found = found && inside < heap.asked[first];
    if (found)
        snprintf(text, size, "byte %llu of %llu bytes of malloc()", (unsigned long long)inside,
                 (unsigned long long)heap.asked[first]);
    nl_mutex_unlock(&lock);
    return found;
}

int nl_sim_heap_describe(uintptr_t address, char *text, size_t size) {
    uint32_t first;
    nl_mutex_lock(&lock);
    int found = find_block_lock_held(address, &first);
    if (found) {
        uintptr_t inside = address - (uintptr_t)heap.low - ((uintptr_t)first << GRAIN_BITS);
        unsigned long long asked = heap.asked[first];
        if (!(heap.state[first] & LIVE))
            snprintf(text, size, ", in %llu bytes of malloc() that have been freed", asked);
        else if (inside < asked)
            snprintf(text, size, ", at the end of %llu bytes of malloc()", asked);
        else
            snprintf(text, size, ", %llu bytes after the end of %llu bytes of malloc()",
                     (unsigned long long)inside - asked, asked);
    } else if (heap.low && address - (uintptr_t)heap.low < ((uintptr_t)heap.grains << GRAIN_BITS)) {
        snprintf(text, size, ", in the heap of malloc()");
        found = 1;
    }
    nl_mutex_unlock(&lock);
    return found;
}

void nl_sim_heap_reset(void) {
    nl_mutex_lock(&lock);
    if (heap.low) {
        size_t size = heap.size, span = (size_t)heap.grains << GRAIN_BITS;
        int is_watched = heap.is_watched;
        /* mmap replaces the pages by inaccessible zero pages */
        mmap(heap.low, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0);
        if (is_watched)
            nl_sim_shadow_free_pages((uintptr_t)heap.low, span);
        munmap(heap.state, heap.grains);
        munmap(heap.next, heap.grains * sizeof *heap.next);
        munmap(heap.asked, heap.grains * sizeof *heap.asked);
        __builtin_memset(&heap, 0, sizeof heap);
        heap.size = size;
        heap.is_watched = is_watched;
    }
    nl_mutex_unlock(&lock);
}

void nl_sim_heap_reset_in_child(void) {
    nl_mutex_init(&lock);
}

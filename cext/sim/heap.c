/* sim/heap: blocks of powers of two in a range of their own, apart from the program's heap. What is
 * known of a block is kept outside of the range, so that a kernel that writes where it should not
 * damages other kernels' blocks at worst. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "sim/heap.h"

#include <stdint.h>
#include <sys/mman.h>
#include "base/lock.h"

enum { GRAIN_BITS = 5, CLASSES = 40, LIVE = 0x80 };
enum { DEFAULT_SIZE = 8 << 20 };

static nl_mutex lock = NL_MUTEX_INIT;
static struct {
    size_t size; /* 0: the default */
    char *low;
    uint8_t *state;         /* per grain: 0, or at the first of a block its class, | LIVE */
    uint32_t *next;         /* per grain: the next free block of the class, + 1 */
    uint32_t free[CLASSES]; /* the first of each class, + 1 */
    uint32_t grains, fresh; /* all, and those never used: [fresh, grains) */
} heap;

static void *map(size_t size) {
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

static int open_lock_held(void) {
    if (heap.low)
        return 0;
    size_t size = heap.size ? heap.size : DEFAULT_SIZE;
    uint32_t grains = (uint32_t)(size >> GRAIN_BITS);
    char *low = map((size_t)grains << GRAIN_BITS);
    heap.state = map(grains);
    heap.next = map(grains * sizeof *heap.next);
    if (!low || !heap.state || !heap.next)
        return -1;
    heap.low = low;
    heap.grains = grains;
    return 0;
}

static void *alloc_lock_held(unsigned class) {
    uint32_t grain, needed = 1u << class;
    if (open_lock_held() < 0)
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
    heap.state[grain] = (uint8_t)(class | LIVE);
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
    void *block = alloc_lock_held(class);
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
        unsigned class = heap.state[grain] &= (uint8_t)~LIVE;
        heap.next[grain] = heap.free[class];
        heap.free[class] = (uint32_t)grain + 1;
        status = 0;
    }
    nl_mutex_unlock(&lock);
    return status;
}

int nl_sim_heap_covers(uintptr_t address, size_t size) {
    nl_mutex_lock(&lock);
    size_t bytes = (size_t)heap.grains << GRAIN_BITS;
    int covers = heap.low && address - (uintptr_t)heap.low < bytes &&
                 size <= bytes - (address - (uintptr_t)heap.low);
    nl_mutex_unlock(&lock);
    return covers;
}

void nl_sim_heap_reset(void) {
    nl_mutex_lock(&lock);
    if (heap.low) {
        munmap(heap.low, (size_t)heap.grains << GRAIN_BITS);
        munmap(heap.state, heap.grains);
        munmap(heap.next, heap.grains * sizeof *heap.next);
        size_t size = heap.size;
        __builtin_memset(&heap, 0, sizeof heap);
        heap.size = size;
    }
    nl_mutex_unlock(&lock);
}

void nl_sim_heap_forget(void) {
    nl_mutex_init(&lock);
}

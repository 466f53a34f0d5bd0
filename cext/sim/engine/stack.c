/* sim/engine/stack: maps stacks in slabs; the system allocates their pages when kernels use them.
 * The guard below each stack is wide, so that a large frame does not skip it. With the size of the
 * guard, the distance between two stacks is an odd number of pages, so that equal offsets in
 * different stacks are in different cache sets. The initial stack pointers differ within a page, so
 * that frames of different stacks are in different cache sets. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "sim/engine/stack.h"

#include <sys/mman.h>
#include <unistd.h>
#include "base/mem.h"
#include "sim/engine/limits.h"

enum { SLAB_STACKS = 32, GUARD_PAGES = 15, MAX_DEEP_STACKS = 64 };

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102 /* Linux 6.13: a guard without a separate mapping */
#endif

static size_t page_size(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t stack_stride(const nl_sim_stacks *stacks) {
    size_t page = page_size(), pages = stacks->size / page + GUARD_PAGES;
    return (pages | 1) * page;
}

static unsigned stacks_per_slab(const nl_sim_stacks *stacks) {
    return stacks->size > (1u << 20) ? 1 : SLAB_STACKS;
}

void nl_sim_stacks_resize(nl_sim_stacks *stacks, size_t size) {
    size_t page = page_size();
    size = (size + page - 1) / page * page;
    if (size == stacks->size)
        return;
    for (unsigned i = 0; i < stacks->slab_count; i++)
        munmap(stacks->slabs[i], stack_stride(stacks) * stacks_per_slab(stacks));
    stacks->size = size;
    stacks->count = stacks->free_count = stacks->slab_count = 0;
}

/* An error is ignored: if the process has too many mappings, the stack has no guard. */
static void protect_guard_page(char *low, size_t size) {
    if (madvise(low, size, MADV_GUARD_INSTALL) != 0)
        (void)mprotect(low, size, PROT_NONE);
}

int nl_sim_stacks_grow(nl_sim_stacks *stacks) {
    size_t stride = stack_stride(stacks);
    unsigned wanted = stacks_per_slab(stacks);
    if (stacks->count >= NL_SIM_STACKS || nl_mem_must_fail())
        return -1;
    char *slab = mmap(NULL, stride * wanted, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (slab == MAP_FAILED)
        return -1;
#ifdef MADV_NOHUGEPAGE
    (void)madvise(slab, stride * wanted, MADV_NOHUGEPAGE);
#endif
    stacks->slabs[stacks->slab_count++] = slab;
    unsigned first = stacks->count;
    for (unsigned i = 0; i < wanted && stacks->count < NL_SIM_STACKS; i++, stacks->count++) {
        nl_sim_fiber_stack *stack = &stacks->all[stacks->count];
        char *low = slab + i * stride;
        protect_guard_page(low, stride - stacks->size);
        *stack = (nl_sim_fiber_stack){
            .low = low + stride - stacks->size,
            .size = stacks->size,
            .top = low + stride - stacks->count % 20 * 192,
        };
    }
    for (unsigned i = stacks->count; i-- > first + 1;)
        nl_sim_stacks_release(stacks, i);
    return (int)first;
}

void nl_sim_stacks_reset(nl_sim_stacks *stacks) {
    stacks->free_count = 0;
    for (unsigned i = stacks->count; i-- > 0;)
        nl_sim_stacks_release(stacks, i);
}

/* Returns whether a kernel has used the deep part of the stack, which most kernels do not reach:
 * the `deep` bytes at its low end. The page at the top of this part is resident if so. */
static int is_deep_part_resident(const nl_sim_fiber_stack *stack, size_t deep) {
    unsigned char resident = 0;
    return mincore(stack->low + deep - page_size(), page_size(), &resident) == 0 && resident & 1;
}

/* only the largest blocks use the last stacks, so they are trimmed first */
void nl_sim_stacks_trim(nl_sim_stacks *stacks) {
    if (stacks->count <= MAX_DEEP_STACKS || stacks->size <= NL_SIM_STACK_OWN)
        return;
    size_t deep = stacks->size - NL_SIM_STACK_OWN;
    if (!is_deep_part_resident(&stacks->all[0], deep) &&
        !is_deep_part_resident(&stacks->all[stacks->count - 1], deep))
        return;
    for (unsigned i = 0; i < stacks->count; i++)
        (void)madvise(stacks->all[i].low, deep, MADV_DONTNEED);
}

int nl_sim_stacks_overflown(const nl_sim_stacks *stacks, uintptr_t address) {
    size_t gap = stack_stride(stacks) - stacks->size;
    for (unsigned i = 0; i < stacks->count; i++) {
        uintptr_t low = (uintptr_t)stacks->all[i].low;
        if (address < low && address >= low - gap)
            return 1;
    }
    return 0;
}

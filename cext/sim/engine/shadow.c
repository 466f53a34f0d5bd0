/* sim/engine/shadow: implements shadow memory: a second address range, as long as that of simulated
 * memory, with one byte for each byte of simulated memory; the system allocates its pages at the
 * first write. Several threads may set the same byte concurrently, because all of them set the
 * written flag. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "sim/engine/shadow.h"

#include <string.h>
#include <sys/mman.h>
#include "base/lock.h"
#include "base/mem.h"

enum { SLACK = 4096, GIVEN_BACK = 1 << 20 };

nl_sim_checker nl_sim_shadow;
uint32_t nl_sim_shadow_kept;
static nl_mutex lock = NL_MUTEX_INIT;

int nl_sim_shadow_map(uintptr_t low, size_t span) {
    if (nl_mem_must_fail())
        return -1;
    void *shadow = mmap(NULL, span + SLACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!span || shadow == MAP_FAILED)
        return -1;
#ifdef MADV_DONTDUMP
    (void)madvise(shadow, span + SLACK, MADV_DONTDUMP);
#endif
    nl_sim_shadow.low = low;
    nl_sim_shadow.shadow = shadow;
    nl_sim_shadow.span = span;
    return 0;
}

void nl_sim_shadow_enable(void) {
    nl_atomic_store32(&nl_sim_shadow_kept, 1);
}

void nl_sim_shadow_set_every_access(int change) {
    nl_mutex_lock(&lock);
    nl_atomic_store32_relaxed(&nl_sim_shadow.every, nl_sim_shadow.every + (unsigned)change);
    nl_mutex_unlock(&lock);
}

/* Clips [address, address + size) to the simulated memory, and returns its offset in the shadow
 * memory. */
static size_t clip_range(uintptr_t address, size_t *size) {
    uintptr_t low = nl_sim_shadow.low, end = address + *size;
    uintptr_t high = low + nl_sim_shadow.span;
    if (address < low)
        address = low;
    if (end > high)
        end = high;
    *size = end > address ? end - address : 0;
    return address - low;
}

void nl_sim_shadow_set(uintptr_t address, size_t size, int state) {
    size_t at = clip_range(address, &size);
    char *from = (char *)nl_sim_shadow.shadow + at;
    if (!size)
        return;
    if (state == 0 && size >= GIVEN_BACK) { /* whole pages are freed, and then read as 0 */
        uintptr_t page = SLACK, first = ((uintptr_t)from + page - 1) / page * page;
        uintptr_t last = ((uintptr_t)from + size) / page * page;
        if (madvise((void *)first, last - first, MADV_DONTNEED) == 0) {
            memset(from, 0, first - (uintptr_t)from);
            memset((void *)last, 0, (uintptr_t)from + size - last);
            return;
        }
    }
    memset(from, state, size);
}

void nl_sim_shadow_change_bits(uintptr_t address, size_t size, unsigned bits, int on) {
    size_t at = clip_range(address, &size);
    for (size_t i = 0; i < size; i++) {
        unsigned char *state = &nl_sim_shadow.shadow[at + i];
        *state = (unsigned char)(on ? *state | bits : *state & ~bits);
    }
}

void nl_sim_shadow_free_pages(uintptr_t low, size_t span) {
    if (madvise(nl_sim_shadow.shadow + (low - nl_sim_shadow.low), span, MADV_DONTNEED) != 0)
        nl_sim_shadow_set(low, span, 0);
}

void nl_sim_shadow_copy(uintptr_t to, uintptr_t from, size_t size) {
    size_t to_size = size, from_size = size;
    size_t to_at = clip_range(to, &to_size), from_at = clip_range(from, &from_size);
    if (to_size != size)
        return;
    if (from_size == size)
        memmove(nl_sim_shadow.shadow + to_at, nl_sim_shadow.shadow + from_at, size);
    else
        memset(nl_sim_shadow.shadow + to_at, NL_SIM_THERE | NL_SIM_WRITTEN, size);
}

size_t nl_sim_shadow_valid_length(uintptr_t address, size_t size) {
    size_t at = clip_range(address, &size), count = 0;
    while (count < size && nl_sim_shadow.shadow[at + count])
        count++;
    return count;
}

size_t nl_sim_shadow_find_unwritten(uintptr_t address, size_t size, size_t least, size_t *count) {
    size_t whole = size, at = clip_range(address, &size);
    const unsigned char *state = nl_sim_shadow.shadow + at;
    for (size_t first = 0, end; size == whole && first < size; first = end + 1) {
        for (end = first; end < size && state[end] == NL_SIM_THERE; end++)
            ;
        *count = end - first;
        if (*count >= least)
            return first;
    }
    return whole;
}

int nl_sim_shadow_has_any_bit(uintptr_t address, size_t size, unsigned bits) {
    size_t at = clip_range(address, &size);
    for (size_t i = 0; i < size; i++) {
        if (nl_sim_shadow.shadow[at + i] & bits)
            return 1;
    }
    return 0;
}

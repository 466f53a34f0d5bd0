/* sim/engine/deadlock: compares states of a thread by a hash. A loop may yield several times before
 * it returns to a state, so the stored state is replaced after 1, 2, 4, ... yields. */
#include "sim/engine/deadlock.h"

#include <string.h>
#include "base/mem.h"
#include "sim/engine/interleave.h"
#include "sim/engine/job.h"
#include "sim/engine/schedule.h"
#include "sim/engine/worker.h"

typedef struct nl_sim_spin {
    uint64_t state, progress; /* `state` is the hash of the stored state, or 0 if there is none */
    /* `turns` counts yields since the state was stored; after `most` yields the state is
     * replaced */
    uint32_t turns, most;
    int repeats, has_moved; /* has_moved is set if the thread has made an access since its last
                             * yield */
} nl_sim_spin;

void nl_sim_deadlock_begin(nl_sim_worker *w) {
    if (!w->spins)
        w->spins = nl_mem_alloc_permanent(NL_SIM_MAX_THREADS * sizeof *w->spins);
    if (w->spins)
        memset(w->spins, 0, w->threads * sizeof *w->spins);
    w->job->schedule->progress++;
}

/* Called after the recorded write was executed: if the write has changed memory, counts it as
 * progress. */
static void count_progress(nl_sim_schedule *s) {
    if (!s->written_size)
        return;
    s->progress += memcmp((const void *)s->written, s->before, s->written_size) != 0;
    s->written_size = 0;
}

void nl_sim_deadlock_record_access(nl_sim_worker *w, uintptr_t address, size_t size, int writes) {
    nl_sim_schedule *s = w->job->schedule;
    count_progress(s);
    if (w->spins)
        w->spins[w->current].has_moved = 1;
    if (!writes)
        return;
    if (size > sizeof s->before) {
        s->progress++;
        return;
    }
    s->written = address;
    s->written_size = size;
    memcpy(s->before, (const void *)address, size);
}

static uint64_t mix_hash(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* Computes a hash of the registers that a call preserves, and of the stack above this function's
 * frame. */
__attribute__((noinline)) uint64_t nl_sim_deadlock_state(const nl_sim_worker *w) {
    const nl_sim_fiber_stack *stack = &w->stacks.all[w->thread[w->current].stack];
    uintptr_t high = (uintptr_t)stack->low + stack->size;
    uint64_t hash = 1;
#if defined(__x86_64__)
    uint64_t registers[5];
    __asm__ volatile("movq %%rbx, (%0)\n\tmovq %%r12, 8(%0)\n\tmovq %%r13, 16(%0)\n\t"
                     "movq %%r14, 24(%0)\n\tmovq %%r15, 32(%0)"
                     :
                     : "r"(registers)
                     : "memory");
    for (unsigned i = 0; i < 5; i++)
        hash = mix_hash(hash, registers[i]);
#elif defined(__aarch64__)
    uint64_t registers[18];
    __asm__ volatile(
        "stp x19, x20, [%0]\n\tstp x21, x22, [%0, #16]\n\tstp x23, x24, [%0, #32]\n\t"
        "stp x25, x26, [%0, #48]\n\tstp x27, x28, [%0, #64]\n\tstp d8, d9, [%0, #80]\n\t"
        "stp d10, d11, [%0, #96]\n\tstp d12, d13, [%0, #112]\n\tstp d14, d15, [%0, #128]"
        :
        : "r"(registers)
        : "memory");
    for (unsigned i = 0; i < 18; i++)
        hash = mix_hash(hash, registers[i]);
#else
    return 0; /* not implemented for this processor: endless loops are not detected */
#endif
    for (uintptr_t at = (uintptr_t)__builtin_frame_address(0); at + 8 <= high; at += 8)
        hash = mix_hash(hash, *(const volatile uint64_t *)at);
    return hash ? hash : 1;
}

/* Returns whether the thread waits at a barrier, or is in a loop which only another thread can
 * end. */
static int is_thread_stuck(const nl_sim_worker *w, unsigned thread) {
    const nl_sim_spin *p = &w->spins[thread];
    const nl_sim_warp *warp = &w->warp[thread / NL_SIM_LANES];
    /* a lane that waits before a volatile access is ready: it continues when no other lane of its
     * warp can run */
    int is_ready = (int)((warp->ready | warp->active) >> thread % NL_SIM_LANES & 1);
    if (p->repeats && p->progress == w->job->schedule->progress)
        return 1;
    return !is_ready && thread != w->current;
}

int nl_sim_deadlock_is_detected(nl_sim_worker *w) {
    nl_sim_schedule *s = w->job->schedule;
    nl_sim_spin *p = w->spins ? &w->spins[w->current] : NULL;
    count_progress(s);
    /* the state is compared only if the thread has made an access, because it may be interrupted
     * twice before one access */
    if (!p || (w->thread[w->current].wait != NL_SIM_WAIT_SPIN && !p->has_moved))
        return 0;
    p->has_moved = 0;
    uint64_t state = nl_sim_deadlock_state(w);
    if (!state)
        return 0;
    if (!p->state || p->progress != s->progress)
        *p = (nl_sim_spin){.state = state, .progress = s->progress, .most = 1};
    else if (p->state == state)
        p->repeats = 1;
    else if (++p->turns >= p->most)
        *p = (nl_sim_spin){.state = state, .progress = s->progress, .most = p->most * 2};
    if (!p->repeats)
        return 0;
    for (unsigned i = 0; i < w->threads; i++) {
        if ((w->warp[i / NL_SIM_LANES].live >> i % NL_SIM_LANES & 1) && !is_thread_stuck(w, i))
            return 0;
    }
    return nl_sim_interleave_is_stuck(w, s->progress);
}

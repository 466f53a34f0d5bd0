/* sim/check/visit: describes a memory access that is compared with earlier accesses of the same
 * bytes, and the compact record (mark) of an access. Included by race.c and epochs.c. */
#ifndef NL_SIM_CHECK_VISIT_H
#define NL_SIM_CHECK_VISIT_H

#include <stddef.h>
#include <stdint.h>
#include "sim/check/happensbefore.h"
#include "sim/engine/cluster.h"
#include "sim/engine/job.h"
#include "sim/engine/worker.h"

/* Bits of nl_sim_mark.who: the thread, and these flags. */
enum {
    NL_SIM_MARK_THREAD = 0x3ff,
    NL_SIM_MARK_WRITE = 0x400,
    NL_SIM_MARK_ATOMIC = 0x800,
    NL_SIM_MARK_VOLATILE = 0x1000, /* not combined with ATOMIC */
    NL_SIM_MARK_UPDATE = 0x2000,   /* a plain write to an address that its thread has just read */
    /* set only with ATOMIC: the access is atomic only for the threads of its block */
    NL_SIM_MARK_NARROW = 0x4000,
    NL_SIM_MARK_SPLIT = 0x8000, /* in a cell: each of its four bytes has a cell of its own */
};

/* The record of one access; a record with all bits zero is empty. */
typedef struct nl_sim_mark {
    uint32_t block, time;
    int32_t pc; /* relative to the launch's code */
    uint16_t who;
    uint16_t era; /* number of grid barriers before the access, plus 1 */
} nl_sim_mark;

typedef struct nl_sim_visit {
    nl_sim_worker *w;
    struct nl_sim_race *race;
    struct nl_sim_race_block *b;
    const nl_sim_happensbefore *order;
    nl_sim_mark mark;
    unsigned thread, kind;
    /* for the exact search: operation (nl_sim_operation) and size of an atomic whose result is not
     * used, or 0 for any other access */
    unsigned operation;
    int shared;
    uintptr_t address;
    size_t size;
    const void *pc;
    /* whether a conflict of this access was already reported; its other conflicts have the same
     * cause */
    int is_reported;
} nl_sim_visit;

static inline unsigned nl_sim_mark_get_thread(nl_sim_mark m) {
    return m.who & NL_SIM_MARK_THREAD;
}

/* Returns whether both blocks are in one cluster, so that each can access the shared memory of the
 * other. */
static inline int nl_sim_visit_are_in_cluster(const nl_sim_worker *w, uint32_t a, uint32_t b) {
    return w->cluster && nl_sim_cluster_is_shared(&w->job->launch, a, b);
}

/* Returns whether the marked access is an access to the shared memory of an earlier block at this
 * address. */
static inline int nl_sim_visit_is_earlier_block(const nl_sim_visit *v, uint32_t block) {
    return v->shared && block != v->mark.block &&
           !nl_sim_visit_are_in_cluster(v->w, block, v->mark.block);
}

/* Returns whether the marked access happens before the visiting access, or is an access to other
 * memory. */
static inline int nl_sim_visit_is_after(const nl_sim_visit *v, nl_sim_mark m) {
    if (m.era != v->mark.era || nl_sim_visit_is_earlier_block(v, m.block))
        return 1;
    return nl_sim_happensbefore_happens_before(v->order, v->thread, m.block,
                                               nl_sim_mark_get_thread(m), m.time,
                                               !(m.who & NL_SIM_MARK_WRITE));
}

static inline int nl_sim_visit_is_same_warp(const nl_sim_visit *v, nl_sim_mark m) {
    return m.block == v->mark.block &&
           nl_sim_mark_get_thread(m) / NL_SIM_LANES == v->thread / NL_SIM_LANES;
}

/* Returns whether both accesses may be unordered without a conflict, because both are atomic or
 * volatile. */
static inline int nl_sim_visit_is_compatible(const nl_sim_visit *v, nl_sim_mark m) {
    uint16_t strong = NL_SIM_MARK_ATOMIC | NL_SIM_MARK_VOLATILE;
    if (!(m.who & strong) || !(v->mark.who & strong))
        return 0;
    if (((m.who | v->mark.who) & NL_SIM_MARK_NARROW) && m.block != v->mark.block)
        return 0;
    return (m.who & NL_SIM_MARK_ATOMIC) || (v->mark.who & NL_SIM_MARK_ATOMIC) ||
           !nl_sim_visit_is_same_warp(v, m);
}

#endif

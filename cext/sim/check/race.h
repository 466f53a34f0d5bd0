/* sim/check/race: finds races: two threads access the same bytes, at least one of them writes, and
 * the accesses are unordered.
 *
 * Accesses are ordered by: the program order of a thread; __syncthreads, for all threads of the
 * block; __syncwarp and other warp operations, for their lanes; the barriers of clusters and of the
 * grid; the phases of mbarriers and of barriers with numbers (phases.h); and release and acquire: a
 * thread writes, makes a fence, and writes a flag by an atomic or volatile access. The writes of
 * this thread happen before everything that follows in a thread that reads the flag by an atomic or
 * volatile access. Atomic accesses do not conflict with each other.
 *
 * One object belongs to a launch whose blocks are interleaved: only one OS thread at a time may
 * call these functions. */
#ifndef NL_SIM_CHECK_RACE_H
#define NL_SIM_CHECK_RACE_H

#include <stddef.h>
#include <stdint.h>
#include "sim/check/happensbefore.h"
#include "sim/check/vectorclock.h"

struct nl_sim_worker;
typedef struct nl_sim_race nl_sim_race; /* state of a launch */
/* race-check state of the block that a worker runs */
typedef struct nl_sim_race_block nl_sim_race_block;

/* One of the two accesses of a conflict. */
typedef struct nl_sim_race_side {
    uint64_t block;  /* linear index */
    unsigned thread; /* index in the block */
    const void *pc;
    int write, atomic, is_volatile;
    int narrow; /* whether the access is atomic only for the threads of its block */
} nl_sim_race_side;

typedef struct nl_sim_race_conflict {
    uintptr_t address; /* first byte that belongs to both accesses and was compared */
    size_t size;       /* of the later access */
    nl_sim_race_side earlier, later;
    /* whether the later thread holds a lock: its last compare-and-swap or exchange was at another
     * address, whose value is now 1 */
    int lock;
    int flag;    /* whether the later thread has read a flag of the earlier thread (flags.h) */
    int updates; /* whether both threads execute a statement that reads and writes the element */
    int narrow_fences; /* whether the launch has made fences of block scope */
    int has_phases;    /* whether the launch has barriers with phases (phases.h) */
    int shared;        /* whether the address is in shared memory */
    /* whether a conflict of the same two instructions was reported for a smaller scope */
    int is_reported;
} nl_sim_race_conflict;

/* The smallest group that contains both threads. */
typedef enum nl_sim_race_scope {
    NL_SIM_RACE_WARP,
    NL_SIM_RACE_BLOCK,
    NL_SIM_RACE_CLUSTER, /* the access is to shared memory of one of the two blocks */
    NL_SIM_RACE_GRID,
} nl_sim_race_scope;
nl_sim_race_scope nl_sim_race_scope_of(const nl_sim_race_conflict *conflict);

typedef void nl_sim_race_report(struct nl_sim_worker *worker, const nl_sim_race_conflict *conflict);

/* `code` is any address in the kernel's image. exact_blocks is 0, or the number of blocks for an
 * exact search. An exact search keeps all relevant accesses (epochs.h) and reports each unordered
 * pair. NULL without memory. */
nl_sim_race *nl_sim_race_open(const void *code, nl_sim_race_report *report, uint64_t exact_blocks);
void nl_sim_race_close(nl_sim_race *race);
/* Returns whether memory ran out, so that more conflicts may exist than were
 * reported. */
int nl_sim_race_is_starved(const nl_sim_race *race);

/* After an exact search, returns whether the schedule determined the order of atomic accesses by
 * different threads to the same memory. If not, only barriers order the threads, and every schedule
 * has the same order. */
int nl_sim_race_depends(const nl_sim_race *race);
/* Records that a thread has read the mask of active lanes, which depends on the schedule. */
void nl_sim_race_active(struct nl_sim_worker *worker);

/* Must be called for events of a block. `kind` of an access is NL_SIM_ACCESS_* of sim/abi.h.
 * `shared`: the address is in shared memory. */
int nl_sim_race_begin_block(struct nl_sim_worker *worker); /* -1 without memory */
void nl_sim_race_end_block(struct nl_sim_worker *worker);
void nl_sim_race_access(struct nl_sim_worker *worker, unsigned thread, uintptr_t address,
                        size_t size, unsigned kind, const void *pc, int shared);
void nl_sim_race_fence(struct nl_sim_worker *worker, unsigned thread,
                       nl_sim_happensbefore_scope scope);
/* Called when all live threads of the block have synchronized. */
void nl_sim_race_barrier(struct nl_sim_worker *worker);
/* These lanes have synchronized. */
void nl_sim_race_warp(struct nl_sim_worker *worker, unsigned warp, uint32_t lanes);
/* Called when `count` threads from `first` on, which are complete warps, have synchronized. */
void nl_sim_race_tile(struct nl_sim_worker *worker, unsigned first, unsigned count);
/* All blocks have synchronized. */
void nl_sim_race_cross_grid(nl_sim_race *race);
/* Called before another block runs: checks a write whose value is still to be compared. */
void nl_sim_race_finish_write(struct nl_sim_worker *worker);
/* Deletes the stored accesses of memory that was allocated again. */
void nl_sim_race_renew(struct nl_sim_worker *worker, uintptr_t address, size_t size);
/* Finds an access of another block of the cluster to the shared memory of this block that is not
 * ordered before the block's end. Returns 0 if no such access is in [low, low + size). */
int nl_sim_race_find_access_after_end(struct nl_sim_worker *worker, uintptr_t low, size_t size,
                                      nl_sim_race_side *late, uintptr_t *address);
/* Call arrive when the thread arrives at a barrier that is identified by this address, and wait
 * when the thread has waited at this barrier. */
void nl_sim_race_arrive(struct nl_sim_worker *worker, unsigned thread, uintptr_t barrier);
void nl_sim_race_wait(struct nl_sim_worker *worker, unsigned thread, uintptr_t barrier);
/* The barriers of phases.h, used by the running thread. `phase`: the number of the current phase,
 * of which only the lowest three bits are used. */
typedef struct nl_sim_race_phase {
    uintptr_t address;
    unsigned phase;
    int shared;
} nl_sim_race_phase;
int nl_sim_race_has_barrier(const struct nl_sim_worker *worker, uintptr_t address);
void nl_sim_race_make_barrier(struct nl_sim_worker *worker, const nl_sim_race_phase *barrier);
void nl_sim_race_forget_barrier(struct nl_sim_worker *worker, uintptr_t address);
void nl_sim_race_arrive_in_phase(struct nl_sim_worker *worker, const nl_sim_race_phase *barrier);
/* Between begin and end, the thread acts for all threads of the phase, for the completion function
 * or for the copies that the barrier counts: accesses before the arrivals of these threads happen
 * before its own accesses. begin stores the thread's vector clock in *begun, and end restores it.
 * If `begun` is NULL, the clock is not restored, and the thread must next wait for the phase. */
void nl_sim_race_begin_completion(struct nl_sim_worker *worker, const nl_sim_race_phase *barrier,
                                  nl_sim_vectorclock **begun);
void nl_sim_race_end_completion(struct nl_sim_worker *worker, const nl_sim_race_phase *barrier,
                                nl_sim_vectorclock **begun);
void nl_sim_race_complete_phase(struct nl_sim_worker *worker, const nl_sim_race_phase *barrier);
/* Has a phase ended? Calls nl_sim_phases_test. `blocks`: the thread asks until the answer is 1. */
int nl_sim_race_test_phase(struct nl_sim_worker *worker, const nl_sim_race_phase *barrier,
                           int by_parity, unsigned value, int blocks);
void nl_sim_race_end_thread(struct nl_sim_worker *worker, unsigned thread);

#endif

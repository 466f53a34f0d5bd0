/* sim/check/race: finds races: two threads access the same bytes, at least one of them writes, and
 * the accesses are unordered.
 *
 * Accesses are ordered by: the program order of a thread; __syncthreads, for all threads of the
 * block; __syncwarp and other warp operations, for their lanes; the barriers of clusters and of the
 * grid; the phases of mbarriers and of barriers with numbers (phases.h); and release and acquire,
 * in which a thread writes, makes a fence, and writes a flag by an atomic or volatile access. The
 * earlier writes of this thread happen before all accesses of a thread that follow its atomic or
 * volatile read of the flag. Atomic accesses do not conflict with each other.
 *
 * The caller must ensure that only one OS thread at a time calls these functions: the blocks of a
 * launch are interleaved. */
#ifndef NL_SIM_CHECK_RACE_H
#define NL_SIM_CHECK_RACE_H

#include <stddef.h>
#include <stdint.h>
#include "sim/check/happensbefore.h"
#include "sim/check/vectorclock.h"

struct nl_sim_worker;
typedef struct nl_sim_race nl_sim_race; /* state of a launch */
/* race-check state of the block that a worker executes */
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
    /* whether the later thread holds a lock, that is, its last compare-and-swap or exchange was at
     * another address, whose value is now 1 */
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
    NL_SIM_RACE_CLUSTER, /* the access is to shared memory of another block of the cluster */
    NL_SIM_RACE_GRID,
} nl_sim_race_scope;
nl_sim_race_scope nl_sim_race_conflict_scope(const nl_sim_race_conflict *conflict);

typedef void nl_sim_race_report(struct nl_sim_worker *worker, const nl_sim_race_conflict *conflict);

/* `code` is any address in the kernel's image. exact_blocks is 0, or the number of blocks for an
 * exact search. An exact search stores all relevant accesses (epochs.h) and reports each unordered
 * pair. Returns NULL if memory runs out. */
nl_sim_race *nl_sim_race_open(const void *code, nl_sim_race_report *report, uint64_t exact_blocks);
void nl_sim_race_close(nl_sim_race *race);
/* Returns whether memory ran out, so that more conflicts may exist than were
 * reported. */
int nl_sim_race_lacks_memory(const nl_sim_race *race);

/* After an exact search, returns whether the schedule (not the program) determined the order of
 * atomic accesses by different threads to the same memory. If the schedule determined no order,
 * only barriers order the threads, and the order is the same in every schedule. */
int nl_sim_race_depends_on_schedule(const nl_sim_race *race);
/* Records that a thread has read the mask of active lanes, which depends on the schedule. */
void nl_sim_race_note_activemask(struct nl_sim_worker *worker);

/* Call these functions when a block begins and ends, and for each access of its threads. `kind` of
 * an access is NL_SIM_ACCESS_* of sim/abi.h. `shared` is set if the address is in shared memory. */
int nl_sim_race_begin_block(struct nl_sim_worker *worker); /* returns -1 if memory runs out */
void nl_sim_race_end_block(struct nl_sim_worker *worker);
void nl_sim_race_check_access(struct nl_sim_worker *worker, unsigned thread, uintptr_t address,
                              size_t size, unsigned kind, const void *pc, int shared);
void nl_sim_race_make_fence(struct nl_sim_worker *worker, unsigned thread,
                            nl_sim_happensbefore_scope scope);
/* Orders the accesses of the block; called when all live threads of the block have synchronized. */
void nl_sim_race_order_block(struct nl_sim_worker *worker);
/* These lanes have synchronized. */
void nl_sim_race_order_warp(struct nl_sim_worker *worker, unsigned warp, uint32_t lanes);
/* Orders the accesses of `count` threads from `first` on, which are complete warps; called when
 * they have synchronized. */
void nl_sim_race_order_tile(struct nl_sim_worker *worker, unsigned first, unsigned count);
/* All blocks have synchronized. */
void nl_sim_race_order_grid(nl_sim_race *race);
/* Checks a write whose value could not be compared yet; called before another block runs. */
void nl_sim_race_finish_write(struct nl_sim_worker *worker);
/* Deletes the stored accesses of memory that was allocated again after a free. */
void nl_sim_race_forget_range(struct nl_sim_worker *worker, uintptr_t address, size_t size);
/* Finds an access of another block of the cluster to this block's shared memory that does not
 * happen before the block's end. Returns 0 if [low, low + size) contains no access that is
 * unordered with the block's end. */
int nl_sim_race_find_access_after_end(struct nl_sim_worker *worker, uintptr_t low, size_t size,
                                      nl_sim_race_side *late, uintptr_t *address);
/* Call nl_sim_race_arrive_at_barrier when the thread arrives at a barrier that this address
 * identifies, and nl_sim_race_end_wait when the thread has waited at this barrier. */
void nl_sim_race_arrive_at_barrier(struct nl_sim_worker *worker, unsigned thread,
                                   uintptr_t barrier);
void nl_sim_race_end_wait(struct nl_sim_worker *worker, unsigned thread, uintptr_t barrier);
/* Uses of the barriers of phases.h by the running thread. `phase` is the number of the current
 * phase, modulo 8. */
typedef struct nl_sim_race_phase {
    uintptr_t address;
    unsigned phase;
    int shared;
} nl_sim_race_phase;
int nl_sim_race_has_barrier(const struct nl_sim_worker *worker, uintptr_t address);
void nl_sim_race_make_barrier(struct nl_sim_worker *worker, const nl_sim_race_phase *barrier);
void nl_sim_race_forget_barrier(struct nl_sim_worker *worker, uintptr_t address);
void nl_sim_race_arrive_in_phase(struct nl_sim_worker *worker, const nl_sim_race_phase *barrier);
/* Between nl_sim_race_begin_completion and nl_sim_race_end_completion, the thread acts for all
 * threads of the phase, to run the completion function or to complete the copies that the barrier
 * tracks: accesses before the arrivals of these threads happen before its own accesses.
 * nl_sim_race_begin_completion stores the thread's vector clock in *begun, and
 * nl_sim_race_end_completion restores that clock. If `begun` is NULL, the clock is not restored,
 * and the thread must next wait for the phase. */
void nl_sim_race_begin_completion(struct nl_sim_worker *worker, const nl_sim_race_phase *barrier,
                                  nl_sim_vectorclock **begun);
void nl_sim_race_end_completion(struct nl_sim_worker *worker, const nl_sim_race_phase *barrier,
                                nl_sim_vectorclock **begun);
void nl_sim_race_complete_phase(struct nl_sim_worker *worker, const nl_sim_race_phase *barrier);
/* Tests whether a phase has ended. Calls nl_sim_phases_test. `blocks` is set if the thread repeats
 * the test until the phase has ended. */
int nl_sim_race_test_phase(struct nl_sim_worker *worker, const nl_sim_race_phase *barrier,
                           int by_parity, unsigned value, int blocks);
void nl_sim_race_end_thread(struct nl_sim_worker *worker, unsigned thread);

#endif

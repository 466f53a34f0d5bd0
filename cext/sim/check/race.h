/* sim/check/race: two threads touch the same bytes, at least one of them writes, and nothing puts
 * the one access before the other.
 *
 * What puts accesses in an order: the program of one thread; __syncthreads, for all threads of the
 * block; __syncwarp and the other operations of a warp, for their lanes; the barrier over the grid;
 * and memory that is handed over: who writes, then makes a fence, then writes a flag with an atomic
 * (or through volatile) does so before whatever follows in a thread that has read the flag the same
 * way. Atomic accesses do not conflict with one another.
 *
 * One of these belongs to a launch whose blocks are interleaved: one thread of the operating system
 * at a time calls anything here. */
#ifndef NL_SIM_CHECK_RACE_H
#define NL_SIM_CHECK_RACE_H

#include <stddef.h>
#include <stdint.h>

struct nl_sim_worker;
typedef struct nl_sim_race nl_sim_race;             /* of a launch */
typedef struct nl_sim_race_block nl_sim_race_block; /* of the block that a worker runs */

/* One of the two accesses. */
typedef struct nl_sim_race_side {
    uint64_t block;  /* linear index */
    unsigned thread; /* in the block */
    const void *pc;
    int write, atomic, is_volatile;
    int narrow; /* atomic, but only for the threads of its block */
} nl_sim_race_side;

typedef struct nl_sim_race_conflict {
    uintptr_t address; /* of the first byte that both touch, as far as known */
    size_t size;       /* of the later access */
    nl_sim_race_side earlier, later;
    int lock;    /* the later thread holds a lock: an atomic has set another address to 1 */
    int updates; /* both execute a statement that reads the element and writes it */
    int shared;  /* it is in shared memory */
    int known;   /* one between the same places has been reported, of threads less far apart */
} nl_sim_race_conflict;

/* How far the two threads are from each other. */
typedef enum nl_sim_race_scope {
    NL_SIM_RACE_WARP,
    NL_SIM_RACE_BLOCK,
    NL_SIM_RACE_CLUSTER, /* shared memory of one of their blocks */
    NL_SIM_RACE_GRID,
} nl_sim_race_scope;
nl_sim_race_scope nl_sim_race_scope_of(const nl_sim_race_conflict *conflict);

typedef void nl_sim_race_report(struct nl_sim_worker *worker, const nl_sim_race_conflict *conflict);

/* `code` is any address in the kernel's image. exact_blocks: 0, or the blocks of the grid, for an
 * exact search: it keeps all accesses that matter (epochs.h) and reports each pair that nothing
 * orders. NULL without memory. */
nl_sim_race *nl_sim_race_open(const void *code, nl_sim_race_report *report, uint64_t exact_blocks);
void nl_sim_race_close(nl_sim_race *race);
/* Has memory run out? Then there may be more conflicts than were reported. */
int nl_sim_race_is_starved(const nl_sim_race *race);

/* After an exact search: did the schedule decide in which order threads made atomic accesses of the
 * same memory? If not, barriers alone order the threads, in each schedule alike. */
int nl_sim_race_depends(const nl_sim_race *race);
/* A thread has asked which lanes are active, which depends on the schedule. */
void nl_sim_race_active(struct nl_sim_worker *worker);

/* What happens in a block. kind: NL_SIM_ACCESS_* of sim/abi.h. shared: the memory is the block's
 * own. */
int nl_sim_race_begin_block(struct nl_sim_worker *worker); /* -1 without memory */
void nl_sim_race_end_block(struct nl_sim_worker *worker);
void nl_sim_race_access(struct nl_sim_worker *worker, unsigned thread, uintptr_t address,
                        size_t size, unsigned kind, const void *pc, int shared);
void nl_sim_race_fence(struct nl_sim_worker *worker, unsigned thread);
/* All live threads of the block have synchronised. */
void nl_sim_race_barrier(struct nl_sim_worker *worker);
/* These lanes have synchronised. */
void nl_sim_race_warp(struct nl_sim_worker *worker, unsigned warp, uint32_t lanes);
/* So have these warps. */
void nl_sim_race_tile(struct nl_sim_worker *worker, unsigned first, unsigned count);
/* All blocks have synchronised; then, for each of them: it goes on. */
void nl_sim_race_cross_grid(nl_sim_race *race);
/* Another block is going to run. */
void nl_sim_race_settle(struct nl_sim_worker *worker);
/* Memory there begins a new life. */
void nl_sim_race_renew(struct nl_sim_worker *worker, uintptr_t address, size_t size);
/* An access by another block of the cluster of what is the block's, with nothing that puts it
 * before the block's end; 0: there is none in [low, low + size). */
int nl_sim_race_find_late(struct nl_sim_worker *worker, uintptr_t low, size_t size,
                          nl_sim_race_side *late, uintptr_t *address);
/* The thread arrives at a barrier that goes by this address; it has waited there. */
void nl_sim_race_arrive(struct nl_sim_worker *worker, unsigned thread, uintptr_t barrier);
void nl_sim_race_wait(struct nl_sim_worker *worker, unsigned thread, uintptr_t barrier);
void nl_sim_race_end_thread(struct nl_sim_worker *worker, unsigned thread);

#endif

/* sim/engine/cluster: the blocks of a thread block cluster, which run at once: each on an OS thread
 * of its own, with shared memory that the others can reach, and a barrier over all their threads.
 *
 * A block begins when all of its cluster are there, and its worker takes no other before all of
 * them have ended: the shared memory of each is there as long as any of them runs. */
#ifndef NL_SIM_ENGINE_CLUSTER_H
#define NL_SIM_ENGINE_CLUSTER_H

#include "sim/engine/limits.h"
#include "sim/engine/worker.h"

typedef struct nl_sim_cluster {
    uint64_t number; /* in the grid; UINT64_MAX: free */
    unsigned present, ended, left;
    unsigned arrived; /* blocks at the barrier */
    unsigned asleep;  /* blocks none of whose threads can run before it is crossed */
    uint64_t crossings;
    nl_sim_worker *member[NL_SIM_CLUSTER_BLOCKS_MOST];
} nl_sim_cluster;

/* The n-th block of a grid in the order in which clusters are run: one after the other. */
nl_sim_dim nl_sim_cluster_block(const nl_sim_launch *launch, uint64_t n);
/* Are the blocks with these linear indices of one cluster? */
int nl_sim_cluster_is_shared(const nl_sim_launch *launch, uint64_t a, uint64_t b);

/* Around a launch with clusters, of which at most so many blocks run at once. -1 without memory. */
int nl_sim_cluster_open(struct nl_sim_job *job, uint64_t blocks);
void nl_sim_cluster_close(struct nl_sim_job *job);

/* The worker's block is going to run, as its launch's n-th; it has ended. Both wait for the others.
 * -1: the grid has stopped. */
int nl_sim_cluster_enter(nl_sim_worker *worker, uint64_t n);
void nl_sim_cluster_leave(nl_sim_worker *worker);
/* One of its threads has ended. */
void nl_sim_cluster_thread_ended(nl_sim_worker *worker, unsigned thread);
/* The parity of the crossing at which the thread has not arrived. */
unsigned nl_sim_cluster_next_parity(const nl_sim_worker *worker, unsigned thread);
/* No thread of the block can run, and some wait for the cluster: returns when they can go on. */
void nl_sim_cluster_sleep(nl_sim_worker *worker);
/* Wakes threads of the block that wait for what has happened. */
void nl_sim_cluster_poll(nl_sim_worker *worker);

/* The member of the worker's cluster in whose shared memory the address is, and what its own block
 * is alone where there are no clusters; NULL: none. */
nl_sim_worker *nl_sim_cluster_owner(const nl_sim_worker *worker, uintptr_t address);

/* nl_sim_ops.cluster_... */
void nl_sim_cluster_arrive(unsigned thread, nl_sim_site site);
void nl_sim_cluster_wait(unsigned thread, nl_sim_site site);
nl_sim_dim nl_sim_cluster_dim(void);
void *nl_sim_cluster_map(const void *address, unsigned rank, unsigned thread, nl_sim_site site);
int nl_sim_cluster_rank_of(const void *address);
unsigned long long nl_sim_cluster_complete(unsigned low);

#endif

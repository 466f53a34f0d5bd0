/* sim/engine/cluster: runs thread block clusters. The blocks of a cluster run concurrently, each on
 * its own OS thread. The blocks of a cluster can access each other's shared memory, and share a
 * barrier.
 *
 * A block begins when all blocks of its cluster have a worker. The worker of a block runs no other
 * block before all blocks of the cluster have ended, so the shared memory of each block exists as
 * long as any block of the cluster runs. */
#ifndef NL_SIM_ENGINE_CLUSTER_H
#define NL_SIM_ENGINE_CLUSTER_H

#include "sim/engine/limits.h"
#include "sim/engine/worker.h"

typedef struct nl_sim_cluster {
    uint64_t number; /* index in the grid; UINT64_MAX: free */
    unsigned present, ended, left;
    unsigned arrived; /* number of blocks that have arrived at the cluster's barrier */
    /* number of blocks in which no thread can run before the barrier is crossed */
    unsigned asleep;
    uint64_t crossings;
    nl_sim_worker *member[NL_SIM_CLUSTER_BLOCKS_MOST];
} nl_sim_cluster;

/* Returns the index of the block that is run as the n-th block of the grid: the blocks of a cluster
 * are consecutive. */
nl_sim_dim nl_sim_cluster_block_index(const nl_sim_launch *launch, uint64_t n);
/* Returns whether the blocks with these linear indices are in the same cluster. */
int nl_sim_cluster_is_shared(const nl_sim_launch *launch, uint64_t a, uint64_t b);

/* Call nl_sim_cluster_open before and nl_sim_cluster_close after a launch with clusters; at most
 * `blocks` blocks run concurrently. nl_sim_cluster_open returns -1 if memory runs out. */
int nl_sim_cluster_open(struct nl_sim_job *job, uint64_t blocks);
void nl_sim_cluster_close(struct nl_sim_job *job);

/* Call nl_sim_cluster_begin_block before the worker runs the n-th block of its launch, and
 * nl_sim_cluster_end_block when the block has ended. nl_sim_cluster_begin_block and
 * nl_sim_cluster_end_block wait for the other blocks of the cluster; the former returns -1 if the
 * grid was stopped. */
int nl_sim_cluster_begin_block(nl_sim_worker *worker, uint64_t n);
void nl_sim_cluster_end_block(nl_sim_worker *worker);
/* Updates the block's arrivals; call this function when a thread of the block has ended. */
void nl_sim_cluster_thread_ended(nl_sim_worker *worker, unsigned thread);
/* Returns the parity of the next crossing of the cluster's barrier at which the thread has not
 * arrived. */
unsigned nl_sim_cluster_next_parity(const nl_sim_worker *worker, unsigned thread);
/* Waits for other blocks; call this function when no thread of the block can run and some threads
 * wait for the cluster. The wait ends when some threads of the block can continue. */
void nl_sim_cluster_wait_for_blocks(nl_sim_worker *worker);
/* Makes those threads of the block ready that wait for a crossing of the cluster's barrier which
 * has happened. */
void nl_sim_cluster_wake_crossed(nl_sim_worker *worker);

/* Returns the worker of the block in this worker's cluster whose shared memory contains the
 * address; returns NULL if no block matches, or if the launch has no clusters. */
nl_sim_worker *nl_sim_cluster_find_owner(const nl_sim_worker *worker, uintptr_t address);

/* Implement nl_sim_ops.cluster_... */
void nl_sim_cluster_arrive(unsigned thread, nl_sim_site site);
void nl_sim_cluster_wait(unsigned thread, nl_sim_site site);
nl_sim_dim nl_sim_cluster_dim(void);
void *nl_sim_cluster_map_address(const void *address, unsigned rank, unsigned thread,
                                 nl_sim_site site);
int nl_sim_cluster_rank_of_address(const void *address);
unsigned long long nl_sim_cluster_complete_address(unsigned low);

#endif

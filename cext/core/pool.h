/* core/pool: caches free blocks of memory by size, for reuse. This file makes no driver calls: the
 * owner of a pool defines, allocates and frees its blocks (buffer.c for device memory, hostblock.c
 * for host memory).
 *
 * A block is put into the pool when its last reference is released, which may be before the work
 * that uses the block is complete. The state of a block is the kind of work for which it still
 * waits. Sequence numbers count the released blocks; a wait that began when the number was n makes
 * every block with a sequence number up to n ready. */
#ifndef NL_CORE_POOL_H
#define NL_CORE_POOL_H

#include <stddef.h>
#include <stdint.h>
#include "base/lock.h"

typedef struct nl_block nl_block;
/* The first member of each pooled struct, which must be allocated with nl_mem_alloc. */
struct nl_block {
    nl_block *next, *prev; /* links of the list of blocks in the same state, oldest first */
    /* links of the hash bucket, newest first; used only by ready blocks */
    nl_block *after, *before;
    size_t capacity; /* size in bytes, rounded by nl_pool_round */
    uint64_t sequence;
    /* epoch of the pool; blocks that were allocated before nl_pool_discard_blocks have an older
     * epoch and are not reused */
    uint64_t epoch;
};

/* What a free block waits for. */
typedef enum {
    NL_POOL_READY, /* the block waits for no work: it can be reused immediately */
    NL_POOL_JOIN,  /* the block waits for streams that the default stream can join */
    NL_POOL_IDLE,  /* the block waits for any stream: until the device has been idle */
    NL_POOL_STATES,
} nl_pool_state;

typedef struct nl_pool_list {
    nl_block *first, *last;
    size_t bytes, blocks;
} nl_pool_list;

#define NL_POOL_BUCKETS 512

typedef struct nl_pool {
    nl_mutex lock;
    nl_pool_list lists[NL_POOL_STATES];
    nl_block *buckets[NL_POOL_BUCKETS];
    uint64_t sequence, epoch;
    /* current total size of used blocks, and its maximum since nl_pool_reset_peak */
    size_t used, peak;
    size_t promised; /* total size of the blocks that are being allocated, which `used` includes */
    size_t limit;    /* of used bytes; SIZE_MAX: no limit */
    /* maximum size of cached blocks; if it is 0, no block is cached, and sizes are not rounded for
     * reuse */
    uint64_t cache_limit;
} nl_pool;

typedef struct nl_pool_statistics {
    size_t used, cached, peak, limit, cache_limit, blocks;
} nl_pool_statistics;

void nl_pool_init(nl_pool *pool, size_t cache_limit);
/* Rounds a size up to the capacity to allocate: similar sizes share a capacity, so that blocks are
 * reused. For a large size, less than an eighth is wasted. */
size_t nl_pool_round(const nl_pool *pool, size_t size);
/* Returns the most recently cached ready block of this capacity, and counts it as used. Returns
 * NULL if no ready block has this capacity, or if the limit would be exceeded. */
nl_block *nl_pool_reuse(nl_pool *pool, size_t capacity);
/* Counts a block as used, but not in the peak; call this function before the block is allocated.
 * Returns 0, or -1 if the limit would be exceeded. */
int nl_pool_reserve(nl_pool *pool, nl_block *block, size_t capacity);
/* Call this function after nl_pool_reserve and the allocation. */
void nl_pool_end_allocation(nl_pool *pool, const nl_block *block, int success);
/* Call this function after a used block was freed. */
void nl_pool_subtract_used(nl_pool *pool, const nl_block *block);
/* Releases a used block to the pool. Returns 0 if the pool is full or the block is from an older
 * epoch; the block then still counts as used. */
int nl_pool_release_block(nl_pool *pool, nl_block *block, nl_pool_state state);
/* Returns the current sequence number, which a later call of nl_pool_mark_ready needs. Call this
 * function before the wait begins. */
uint64_t nl_pool_sequence(nl_pool *pool);
/* Makes all blocks ready whose sequence number is at most `stamp` and whose state is `state` or a
 * weaker one. */
void nl_pool_mark_ready(nl_pool *pool, nl_pool_state state, uint64_t stamp);
/* Returns the oldest block in `state`, which stays in the pool, or NULL. */
nl_block *nl_pool_first_block(nl_pool *pool, nl_pool_state state);
/* Returns whether the blocks in `state` have at least `bytes` bytes in total, or are at least
 * `blocks` in number. */
int nl_pool_is_crowded(nl_pool *pool, nl_pool_state state, size_t bytes, size_t blocks);
/* Removes the oldest ready blocks until at most `keep` bytes of ready blocks remain. Returns the
 * removed blocks as a list linked by `next`; removed blocks count neither as used nor as cached. */
nl_block *nl_pool_evict_ready(nl_pool *pool, size_t keep);
/* Frees only the structs of all cached blocks, with nl_mem_free, and resets the count of used
 * bytes; call this function when the memory itself was lost with the context. */
void nl_pool_discard_blocks(nl_pool *pool);
void nl_pool_set_limits(nl_pool *pool, size_t limit, size_t cache_limit);
nl_pool_statistics nl_pool_read_statistics(nl_pool *pool);
void nl_pool_reset_peak(nl_pool *pool);
/* Returns the number of blocks in all pools, for leak tests. */
size_t nl_pool_cached_bytes(void);

#endif

/* core/pool: free blocks of memory, kept by size to be used again. Knows nothing of drivers: what a
 * block is, and how one is made and given back, is its owner's business (buffer.c for the device,
 * pinned.c for the host).
 *
 * A block is put back when nobody refers to it any more, which may be before the work that uses it
 * is done. What it still waits for is said with it: nothing, or the stamp of a wait that has yet to
 * happen. Sequence numbers count what was put; a wait that began when the number was n settles
 * every block up to n. */
#ifndef NL_CORE_POOL_H
#define NL_CORE_POOL_H

#include <stddef.h>
#include <stdint.h>
#include "base/lock.h"

typedef struct nl_block nl_block;
/* First in whatever is pooled, which comes from nl_mem_alloc. */
struct nl_block {
    nl_block *next, *prev;    /* in the list of its state, oldest first */
    nl_block *after, *before; /* in its bucket, newest first: of those that are ready */
    size_t capacity;          /* bytes, rounded by nl_pool_round */
    uint64_t sequence;
    uint64_t epoch; /* of the pool: what was entered before nl_pool_forget is none of its blocks */
};

/* What a free block waits for. */
typedef enum {
    NL_POOL_READY, /* nothing: the next who asks may have it */
    NL_POOL_JOIN,  /* streams that the default stream comes after, if it is told to */
    NL_POOL_IDLE,  /* any stream: until the device has been idle */
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
    size_t used, peak;    /* bytes of blocks in use, now and at most since nl_pool_reset_peak */
    size_t promised;      /* part of `used` that is still being made */
    size_t limit;         /* of bytes in use; SIZE_MAX: none */
    uint64_t cache_limit; /* of bytes kept; 0: nothing is kept, and sizes are not rounded */
} nl_pool;

typedef struct nl_pool_statistics {
    size_t used, cached, peak, limit, cache_limit, blocks;
} nl_pool_statistics;

void nl_pool_init(nl_pool *pool, size_t cache_limit);
/* The capacity to ask for: sizes close to each other share it, at most an eighth is lost. */
size_t nl_pool_round(const nl_pool *pool, size_t size);
/* A ready block of this capacity, the one put last; NULL if there is none. It counts as used. */
nl_block *nl_pool_take(nl_pool *pool, size_t capacity);
/* A block is about to be made: it counts as used from now on, but for the peak. 0, or -1 if that is
 * more than the limit. */
int nl_pool_enter(nl_pool *pool, nl_block *block, size_t capacity);
/* After nl_pool_enter, once it is known whether the block was made. */
void nl_pool_made(nl_pool *pool, const nl_block *block, int success);
/* A used block is no longer there. */
void nl_pool_leave(nl_pool *pool, const nl_block *block);
/* Keeps a used block; 0 if there is no room for it, and it stays used. */
int nl_pool_put(nl_pool *pool, nl_block *block, nl_pool_state state);
/* The number to settle with after a wait that begins now. */
uint64_t nl_pool_stamp(nl_pool *pool);
/* Everything up to the stamp that waits for `state` (or less) is ready. */
void nl_pool_settle(nl_pool *pool, nl_pool_state state, uint64_t stamp);
/* The oldest of those that wait for `state`, or NULL. It stays where it is. */
nl_block *nl_pool_first(nl_pool *pool, nl_pool_state state);
/* Does more wait for `state` than it is worth to leave lying? */
int nl_pool_is_crowded(nl_pool *pool, nl_pool_state state, size_t bytes, size_t blocks);
/* Takes out the oldest ready blocks until no more than `keep` bytes of them are kept. Returns them
 * linked by `next`; they count neither as used nor as kept. */
nl_block *nl_pool_evict(nl_pool *pool, size_t keep);
/* The memory itself is lost: frees all that is kept (nl_mem_free alone), and forgets what is used.
 */
void nl_pool_forget(nl_pool *pool);
void nl_pool_set_limits(nl_pool *pool, size_t limit, size_t cache_limit);
nl_pool_statistics nl_pool_read(nl_pool *pool);
void nl_pool_reset_peak(nl_pool *pool);
/* Blocks kept by all pools, for leak tests. */
size_t nl_pool_kept(void);

#endif

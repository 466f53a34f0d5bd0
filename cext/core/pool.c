/* core/pool: stores free blocks in one list per state, oldest first. Ready blocks are also in hash
 * buckets by capacity, newest first, because recently used memory is more likely in the caches.
 * Getting or releasing a block changes a few pointers under a lock. Several capacities may share a
 * bucket, so a search stops after MAX_LOOKED_AT blocks. */
#include "core/pool.h"

#include <string.h>
#include "base/mem.h"

#define GRANULE 512 /* granularity of the driver's allocations */
/* the driver's page size, which is the largest rounding step */
#define LARGE_GRANULE (2 << 20)
#define MAX_LOOKED_AT 32
#define MAX_BLOCKS 32768

void nl_pool_init(nl_pool *pool, size_t cache_limit) {
    memset(pool, 0, sizeof *pool);
    nl_mutex_init(&pool->lock);
    pool->limit = SIZE_MAX;
    pool->cache_limit = cache_limit;
}

size_t nl_pool_round(const nl_pool *pool, size_t size) {
    size_t step = GRANULE;
    if (nl_atomic_load(&pool->cache_limit) == 0 || size > SIZE_MAX - LARGE_GRANULE)
        /* sizes are multiples of 4, because atomics on 8 and 16 bits access the whole 32-bit
         * word */
        step = 4;
    else
        while (step < LARGE_GRANULE && step < size / 16)
            step *= 2;
    return size > SIZE_MAX - step ? size : (size + step - 1) / step * step;
}

static uint64_t kept; /* blocks in all pools */

size_t nl_pool_cached_bytes(void) {
    return nl_atomic_load(&kept);
}

static nl_block **find_bucket(nl_pool *pool, size_t capacity) {
    uint64_t mixed = (uint64_t)capacity * 0x9e3779b97f4a7c15u;
    return &pool->buckets[mixed >> 55];
}
_Static_assert(NL_POOL_BUCKETS == 1 << (64 - 55), "the hash function returns an index of a bucket");

static void append_block_lock_held(nl_pool *pool, nl_pool_state state, nl_block *b) {
    nl_pool_list *list = &pool->lists[state];
    b->next = NULL;
    b->prev = list->last;
    *(list->last ? &list->last->next : &list->first) = b;
    list->last = b;
    list->bytes += b->capacity;
    list->blocks++;
    nl_atomic_add(&kept, 1);
    if (state != NL_POOL_READY)
        return;
    nl_block **bucket = find_bucket(pool, b->capacity);
    b->before = NULL;
    b->after = *bucket;
    if (*bucket)
        (*bucket)->before = b;
    *bucket = b;
}

static void unlink_block_lock_held(nl_pool *pool, nl_pool_state state, nl_block *b) {
    nl_pool_list *list = &pool->lists[state];
    *(b->prev ? &b->prev->next : &list->first) = b->next;
    *(b->next ? &b->next->prev : &list->last) = b->prev;
    list->bytes -= b->capacity;
    list->blocks--;
    nl_atomic_sub(&kept, 1);
    if (state != NL_POOL_READY)
        return;
    *(b->before ? &b->before->after : find_bucket(pool, b->capacity)) = b->after;
    if (b->after)
        b->after->before = b->before;
}

static void update_peak_lock_held(nl_pool *pool) {
    if (pool->used - pool->promised > pool->peak)
        pool->peak = pool->used - pool->promised;
}

static void add_used_bytes_lock_held(nl_pool *pool, size_t capacity) {
    pool->used += capacity;
    update_peak_lock_held(pool);
}

static int fits_limit_lock_held(const nl_pool *pool, size_t capacity) {
    return capacity <= pool->limit && pool->used <= pool->limit - capacity;
}

nl_block *nl_pool_reuse(nl_pool *pool, size_t capacity) {
    nl_mutex_lock(&pool->lock);
    nl_block *b = fits_limit_lock_held(pool, capacity) ? *find_bucket(pool, capacity) : NULL;
    for (int i = 0; b && b->capacity != capacity; i++)
        b = i < MAX_LOOKED_AT ? b->after : NULL;
    if (b) {
        unlink_block_lock_held(pool, NL_POOL_READY, b);
        add_used_bytes_lock_held(pool, capacity);
    }
    nl_mutex_unlock(&pool->lock);
    return b;
}

int nl_pool_reserve(nl_pool *pool, nl_block *b, size_t capacity) {
    nl_mutex_lock(&pool->lock);
    int fits = fits_limit_lock_held(pool, capacity);
    b->capacity = capacity;
    b->epoch = pool->epoch;
    if (fits) {
        pool->used += capacity;
        pool->promised += capacity;
    }
    nl_mutex_unlock(&pool->lock);
    return fits ? 0 : -1;
}

void nl_pool_end_allocation(nl_pool *pool, const nl_block *b, int success) {
    nl_mutex_lock(&pool->lock);
    if (b->epoch == pool->epoch) {
        pool->promised -= b->capacity;
        if (!success)
            pool->used -= b->capacity;
        update_peak_lock_held(pool);
    }
    nl_mutex_unlock(&pool->lock);
}

void nl_pool_subtract_used(nl_pool *pool, const nl_block *b) {
    nl_mutex_lock(&pool->lock);
    if (b->epoch == pool->epoch)
        pool->used -= b->capacity;
    nl_mutex_unlock(&pool->lock);
}

static size_t count_cached_bytes_lock_held(const nl_pool *pool, size_t *blocks) {
    size_t bytes = 0;
    *blocks = 0;
    for (int i = 0; i < NL_POOL_STATES; i++) {
        bytes += pool->lists[i].bytes;
        *blocks += pool->lists[i].blocks;
    }
    return bytes;
}

int nl_pool_release_block(nl_pool *pool, nl_block *b, nl_pool_state state) {
    size_t blocks;
    nl_mutex_lock(&pool->lock);
    size_t cached = count_cached_bytes_lock_held(pool, &blocks);
    int is_cached = b->epoch == pool->epoch && b->capacity <= pool->cache_limit &&
                    cached <= pool->cache_limit - b->capacity && blocks < MAX_BLOCKS;
    if (is_cached) {
        pool->used -= b->capacity;
        b->sequence = ++pool->sequence;
        append_block_lock_held(pool, state, b);
    }
    nl_mutex_unlock(&pool->lock);
    return is_cached;
}

uint64_t nl_pool_sequence(nl_pool *pool) {
    nl_mutex_lock(&pool->lock);
    uint64_t stamp = pool->sequence;
    nl_mutex_unlock(&pool->lock);
    return stamp;
}

void nl_pool_mark_ready(nl_pool *pool, nl_pool_state state, uint64_t stamp) {
    nl_mutex_lock(&pool->lock);
    for (int i = NL_POOL_READY + 1; i <= (int)state; i++) {
        nl_block *b;
        while ((b = pool->lists[i].first) && b->sequence <= stamp) {
            unlink_block_lock_held(pool, (nl_pool_state)i, b);
            append_block_lock_held(pool, NL_POOL_READY, b);
        }
    }
    nl_mutex_unlock(&pool->lock);
}

nl_block *nl_pool_first_block(nl_pool *pool, nl_pool_state state) {
    nl_mutex_lock(&pool->lock);
    nl_block *b = pool->lists[state].first;
    nl_mutex_unlock(&pool->lock);
    return b;
}

int nl_pool_is_crowded(nl_pool *pool, nl_pool_state state, size_t bytes, size_t blocks) {
    nl_mutex_lock(&pool->lock);
    const nl_pool_list *list = &pool->lists[state];
    int crowded = list->bytes >= bytes || list->blocks >= blocks;
    nl_mutex_unlock(&pool->lock);
    return crowded;
}

nl_block *nl_pool_evict_ready(nl_pool *pool, size_t keep) {
    nl_block *out = NULL, *b;
    nl_mutex_lock(&pool->lock);
    nl_pool_list *ready = &pool->lists[NL_POOL_READY];
    while ((b = ready->first) && (ready->bytes > keep || ready->blocks >= MAX_BLOCKS)) {
        unlink_block_lock_held(pool, NL_POOL_READY, b);
        b->next = out;
        out = b;
    }
    nl_mutex_unlock(&pool->lock);
    return out;
}

void nl_pool_discard_blocks(nl_pool *pool) {
    nl_block *b;
    nl_mutex_lock(&pool->lock);
    for (int i = 0; i < NL_POOL_STATES; i++) {
        while ((b = pool->lists[i].first)) {
            unlink_block_lock_held(pool, (nl_pool_state)i, b);
            nl_mem_free(b);
        }
    }
    pool->used = pool->promised = pool->peak = 0;
    pool->epoch++;
    nl_mutex_unlock(&pool->lock);
}

void nl_pool_set_limits(nl_pool *pool, size_t limit, size_t cache_limit) {
    nl_mutex_lock(&pool->lock);
    pool->limit = limit;
    nl_atomic_store(&pool->cache_limit, cache_limit);
    nl_mutex_unlock(&pool->lock);
}

nl_pool_statistics nl_pool_read_statistics(nl_pool *pool) {
    nl_pool_statistics s = {0};
    nl_mutex_lock(&pool->lock);
    s.cached = count_cached_bytes_lock_held(pool, &s.blocks);
    s.used = pool->used;
    s.peak = pool->peak;
    s.limit = pool->limit;
    s.cache_limit = pool->cache_limit;
    nl_mutex_unlock(&pool->lock);
    return s;
}

void nl_pool_reset_peak(nl_pool *pool) {
    nl_mutex_lock(&pool->lock);
    pool->peak = pool->used - pool->promised;
    nl_mutex_unlock(&pool->lock);
}

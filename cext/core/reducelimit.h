/* core/reducelimit: the limits of core/reduceplan and core/scanplan that are not constants. One set
 * of limits serves all devices, so that plans, and therefore results, are equal on all of them. */
#ifndef NL_CORE_REDUCELIMIT_H
#define NL_CORE_REDUCELIMIT_H

#include <stdint.h>

enum nl_reducelimit_name {
    /* The following limits are properties of the devices, set by
     * numbalite/ufuncs/reduceloops.py. */
    NL_LIMIT_CACHED_BYTES, /* an array of up to this size may be in the L2 cache */
    /* number of blocks that can run a pipeline; 0 if a device does not support pipelines */
    NL_LIMIT_PIPELINES,
    /* The following limits of reductions are changed by tests, so that small arrays select the
     * schedules of large arrays. */
    NL_LIMIT_TEAM_ROWS,    /* minimum number of short rows for a few lanes to reduce each row */
    NL_LIMIT_STRIPE_BYTES, /* minimum bytes of results per row of a column for STRIPES */
    /* minimum bytes of a part of the schedule NARROW; at least 16 per thread, so that no part is
     * without rows */
    NL_LIMIT_NARROW_PART_BYTES,
    NL_LIMIT_MIN_STAGED_BYTES, /* minimum bytes of all groups of columns for STAGED_COLUMNS */
    NL_LIMIT_BUSY_BLOCKS,
    NL_LIMIT_TWO_LAUNCHES_BYTES, /* minimum bytes of the input for a second launch */
    /* maximum bytes per result for one block; for more bytes, several blocks and a second step are
     * faster */
    NL_LIMIT_BLOCK_BYTES,
    NL_LIMIT_MIN_PART_BYTES, /* minimum bytes of a part */
    NL_LIMIT_MAX_PART_BYTES_ANY_ORDER,
    /* number of parts with which the parts that start last do not delay the end */
    NL_LIMIT_USUAL_PARTS,
    NL_LIMIT_BUSY_PARTS, /* number of parts, or of results, that keeps a device busy */
    /* The following limits of scans are changed by tests. */
    NL_LIMIT_SCANNED_ROWS, /* minimum number of rows for one thread to scan each row */
    /* for one thread to scan each row, the number of rows must also be at least this value times
     * the length of a row */
    NL_LIMIT_SCANNED_ROWS_EACH,
    NL_LIMIT_WARP_ROWS, /* minimum number of rows for one warp to scan each row */
    /* minimum threads of a scan in which several of many columns form one element */
    NL_LIMIT_VEC_THREADS,
    NL_LIMIT_COLUMN_TILE_THREADS, /* like VEC_THREADS, if columns are scanned in tiles */
    NL_LIMIT_COLUMN_TILE_NUMBER,  /* maximum itemsize of a scan in column tiles */
    NL_LIMIT_TILE_THREADS,        /* maximum threads of a block that scans row tiles */
    /* maximum runs of a warp in a tile (scan.cuh): they are exchanged one by one */
    NL_LIMIT_TILE_RUNS,
    NL_LIMIT_PIPELINE_THREADS, /* limit of a block, equal to that in reduceplan.py */
    NL_LIMIT_PIPELINE_TURNS,   /* minimum tiles per block */
    NL_LIMITS,
};

typedef struct nl_reducelimit_entry {
    const char *name;
    int64_t value;
} nl_reducelimit_entry;

extern nl_reducelimit_entry nl_reducelimit_table[NL_LIMITS];

static inline int64_t nl_reducelimit(enum nl_reducelimit_name name) {
    return nl_reducelimit_table[name].value;
}

/* Returns a pointer to the value of the limit with this name, without the prefix NL_LIMIT_; NULL if
 * there is none. */
int64_t *nl_reducelimit_find(const char *name);

#endif

/* core/reducelimit: the limits of core/reduceplan and core/scanplan that are not constants. One set
 * serves all devices, so that plans, and therefore results, are equal on all of them. */
#ifndef NL_CORE_REDUCELIMIT_H
#define NL_CORE_REDUCELIMIT_H

#include <stdint.h>

enum nl_reducelimit_name {
    /* Properties of the devices (numbalite/ufuncs/reduceloops.py sets them): */
    NL_LIMIT_CACHED_BYTES, /* an array of up to this size may be in the L2 cache */
    NL_LIMIT_PIPELINES,    /* number of blocks that can have a pipeline; 0: a device has none */
    /* Limits of reductions that tests change, so that small arrays select the schedules of large
     * ones: */
    NL_LIMIT_TEAM_ROWS,    /* minimum number of short rows for a few lanes to reduce each row */
    NL_LIMIT_STRIPE_BYTES, /* stripes: minimum bytes of results per row of a column */
    /* minimum bytes of a part of the schedule NARROW; at least 16 per thread, so that no part is
     * without rows */
    NL_LIMIT_NARROW_PART_BYTES,
    NL_LIMIT_MIN_STAGED_BYTES, /* minimum bytes of all groups of columns for staging */
    NL_LIMIT_BUSY_BLOCKS,
    NL_LIMIT_TWO_LAUNCHES_BYTES, /* minimum bytes of the input for a second launch */
    /* maximum bytes per result for one block; above, several blocks and a second step are faster */
    NL_LIMIT_BLOCK_BYTES,
    NL_LIMIT_MIN_PART_BYTES, /* minimum bytes of a part */
    NL_LIMIT_MAX_PART_BYTES_ANY_ORDER,
    NL_LIMIT_USUAL_PARTS, /* enough parts that the last ones to start do not delay the end */
    NL_LIMIT_BUSY_PARTS,  /* parts, or results, that keep a device busy */
    /* Limits of scans that tests change: */
    NL_LIMIT_SCANNED_ROWS,      /* minimum number of rows for one thread to scan each row */
    NL_LIMIT_SCANNED_ROWS_EACH, /* the same, for each element of a row: the number of rows must also
                                   be at least this times the length of a row */
    NL_LIMIT_WARP_ROWS,         /* minimum number of rows for one warp to scan each row */
    NL_LIMIT_VEC_THREADS,       /* minimum threads, where some of many columns form one element */
    NL_LIMIT_COLUMN_TILE_THREADS, /* like VEC_THREADS, if columns are scanned in tiles */
    NL_LIMIT_COLUMN_TILE_NUMBER,  /* maximum itemsize of a scan in column tiles */
    NL_LIMIT_TILE_THREADS,        /* maximum threads of a block that scans row tiles */
    NL_LIMIT_TILE_RUNS, /* maximum runs of a warp in a tile (scan.cuh): they are exchanged one by
                           one */
    NL_LIMIT_PIPELINE_THREADS, /* of a block, as in reduceplan.py */
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

/* core/reducelimit: variables for those limits of core/reduceplan, core/scanplan and py/selection
 * that are not constants. One set of limits serves all devices, so that plans, and therefore
 * results, are equal on all devices. */
#ifndef NL_CORE_REDUCELIMIT_H
#define NL_CORE_REDUCELIMIT_H

#include <stdint.h>

enum nl_reducelimit_name {
    /* The following limits are properties of the devices; numbalite/ufuncs/reduceloops.py sets
     * them. */
    NL_LIMIT_CACHED_BYTES, /* an array of up to this size may be in the L2 cache */
    /* number of blocks that can run a pipeline, or 0 if a device does not support pipelines */
    NL_LIMIT_PIPELINES,
    /* Tests change the following limits of reductions, so that small arrays select the schedules of
     * large arrays. */
    NL_LIMIT_TEAM_ROWS,    /* minimum number of short rows for which a few lanes reduce each row */
    NL_LIMIT_STRIPE_BYTES, /* minimum size in bytes of the results per row of a column for
                            * STRIPES */
    /* minimum size in bytes of a part in the schedule NARROW; at least 16 per thread, so that each
     * part has rows */
    NL_LIMIT_NARROW_PART_BYTES,
    NL_LIMIT_MIN_STAGED_BYTES, /* minimum size in bytes of all groups of columns for
                                * STAGED_COLUMNS */
    NL_LIMIT_BUSY_BLOCKS,
    NL_LIMIT_TWO_LAUNCHES_BYTES, /* minimum size in bytes of the input for a second launch */
    /* maximum number of bytes per result for one block; for more bytes, several blocks and a second
     * step are faster */
    NL_LIMIT_BLOCK_BYTES,
    NL_LIMIT_MIN_PART_BYTES, /* minimum bytes of a part */
    NL_LIMIT_MAX_PART_BYTES_ANY_ORDER,
    /* number of parts for which the parts that start last do not delay the end */
    NL_LIMIT_USUAL_PARTS,
    NL_LIMIT_BUSY_PARTS, /* number of parts, or of results, that occupies a device */
    /* Tests change the following limits of scans. */
    NL_LIMIT_SCANNED_ROWS, /* minimum number of rows for which one thread scans each row */
    /* minimum ratio of the number of rows to the length of a row for which one thread scans each
     * row */
    NL_LIMIT_SCANNED_ROWS_EACH,
    NL_LIMIT_WARP_ROWS, /* minimum number of rows for which one warp scans each row */
    /* minimum number of threads of a scan in which several of many columns form one element */
    NL_LIMIT_VEC_THREADS,
    /* minimum number of threads for which a scan in column tiles combines several columns to one
     * element */
    NL_LIMIT_COLUMN_TILE_THREADS,
    NL_LIMIT_COLUMN_TILE_NUMBER, /* maximum itemsize of a scan in column tiles */
    NL_LIMIT_TILE_THREADS,       /* maximum number of threads of a block that scans row tiles */
    /* maximum number of runs of a warp in a tile (scan.cuh), because runs are exchanged one by
     * one */
    NL_LIMIT_TILE_RUNS,
    NL_LIMIT_PIPELINE_THREADS, /* maximum number of threads of a block, as in reduceplan.py */
    NL_LIMIT_PIPELINE_TURNS,   /* minimum tiles per block */
    /* Tests change the following limits of selections. */
    NL_LIMIT_SELECT_THREADS, /* maximum number of threads of a block */
    NL_LIMIT_MANY_SELECTED,  /* minimum number of elements for large tiles of a packed mask */
    NL_LIMITS,
};

typedef struct nl_reducelimit_entry {
    const char *name;
    int64_t value;
} nl_reducelimit_entry;

extern nl_reducelimit_entry nl_reducelimit_table[NL_LIMITS];

static inline int64_t nl_reducelimit_value(enum nl_reducelimit_name name) {
    return nl_reducelimit_table[name].value;
}

/* Returns a pointer to the value of the limit with this name, without the prefix NL_LIMIT_, or NULL
 * if there is no such limit. */
int64_t *nl_reducelimit_find(const char *name);

#endif

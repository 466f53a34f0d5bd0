/* core/reducelimit: defines the default values of the limits. The values were measured on H100 and
 * H200. */
#include "core/reducelimit.h"

#include <stddef.h>
#include <string.h>

nl_reducelimit_entry nl_reducelimit_table[NL_LIMITS] = {
    [NL_LIMIT_USUAL_PARTS] = {"USUAL_PARTS", 4096},
    [NL_LIMIT_BUSY_PARTS] = {"BUSY_PARTS", 1024},
    [NL_LIMIT_CACHED_BYTES] = {"CACHED_BYTES", 0},
    [NL_LIMIT_TEAM_ROWS] = {"TEAM_ROWS", 1 << 12},
    [NL_LIMIT_STRIPE_BYTES] = {"STRIPE_BYTES", 1 << 11},
    [NL_LIMIT_NARROW_PART_BYTES] = {"NARROW_PART_BYTES", 1 << 16},
    [NL_LIMIT_MIN_STAGED_BYTES] = {"MIN_STAGED_BYTES", 1 << 16},
    [NL_LIMIT_BUSY_BLOCKS] = {"BUSY_BLOCKS", 512},
    [NL_LIMIT_TWO_LAUNCHES_BYTES] = {"TWO_LAUNCHES_BYTES", 1 << 22},
    [NL_LIMIT_BLOCK_BYTES] = {"BLOCK_BYTES", 1 << 16},
    [NL_LIMIT_MIN_PART_BYTES] = {"MIN_PART_BYTES", 1 << 14},
    [NL_LIMIT_MAX_PART_BYTES_ANY_ORDER] = {"MAX_PART_BYTES_ANY_ORDER", 1 << 18},
    [NL_LIMIT_SCANNED_ROWS] = {"SCANNED_ROWS", 1 << 13},
    [NL_LIMIT_SCANNED_ROWS_EACH] = {"SCANNED_ROWS_EACH", 1 << 8},
    [NL_LIMIT_WARP_ROWS] = {"WARP_ROWS", 1 << 10},
    [NL_LIMIT_VEC_THREADS] = {"VEC_THREADS", 1 << 15},
    [NL_LIMIT_COLUMN_TILE_THREADS] = {"COLUMN_TILE_THREADS", 1 << 17},
    [NL_LIMIT_COLUMN_TILE_NUMBER] = {"COLUMN_TILE_NUMBER", 16},
    [NL_LIMIT_TILE_THREADS] = {"TILE_THREADS", 256},
    [NL_LIMIT_TILE_RUNS] = {"TILE_RUNS", 16},
    [NL_LIMIT_PIPELINE_THREADS] = {"PIPELINE_THREADS", 384},
    [NL_LIMIT_PIPELINE_TURNS] = {"PIPELINE_TURNS", 4},
    [NL_LIMIT_PIPELINES] = {"PIPELINES", 0},
    [NL_LIMIT_SELECT_THREADS] = {"SELECT_THREADS", 256},
    [NL_LIMIT_MANY_SELECTED] = {"MANY_SELECTED", 1 << 22},
};

int64_t *nl_reducelimit_find(const char *name) {
    for (int i = 0; i < NL_LIMITS; i++)
        if (strcmp(nl_reducelimit_table[i].name, name) == 0)
            return &nl_reducelimit_table[i].value;
    return NULL;
}

/* core/pack: copies rows by loops over contiguous elements. Common element sizes have separate
 * loops, in which a copy compiles to one load and one store. */
#include "core/pack.h"

#include <string.h>

/* Copies `count` rows; the source and the destination each have their own stride. */
#define NL_LINE(bytes) \
    for (int64_t i = 0; i < count; ++i, to += to_step, from += from_step) \
    memcpy(to, from, bytes)

static void copy_row(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t count,
                     int64_t width) {
    switch (width) {
    case 1:
        NL_LINE(1);
        break;
    case 2:
        NL_LINE(2);
        break;
    case 4:
        NL_LINE(4);
        break;
    case 8:
        NL_LINE(8);
        break;
    case 16:
        NL_LINE(16);
        break;
    default:
        NL_LINE((size_t)width);
    }
}

/* Loops over all axes except the last. If `gather` is set, copies from strided to dense memory,
 * else from dense to strided memory. */
static void copy_rows(char *dense, char *strided, const nl_axis *axes, int rank, int64_t width,
                      int gather) {
    int64_t index[NL_MAX_DIMS] = {0};
    int64_t count = rank > 0 ? axes[rank - 1].count : 1;
    int64_t step = rank > 0 ? axes[rank - 1].from : 0;
    for (;;) {
        if (gather) {
            copy_row(dense, width, strided, step, count, width);
        } else {
            copy_row(strided, step, dense, width, count, width);
        }
        dense += count * width;
        int i = rank - 2;
        for (; i >= 0; --i) {
            strided += axes[i].from;
            if (++index[i] < axes[i].count)
                break;
            strided -= axes[i].from * axes[i].count;
            index[i] = 0;
        }
        if (i < 0)
            return;
    }
}

void nl_pack_gather(char *dense, const char *strided, const nl_axis *axes, int rank,
                    int64_t width) {
    copy_rows(dense, (char *)strided, axes, rank, width, 1);
}

void nl_pack_scatter(char *strided, const char *dense, const nl_axis *axes, int rank,
                     int64_t width) {
    copy_rows((char *)dense, strided, axes, rank, width, 0);
}

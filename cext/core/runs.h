/* core/runs: a copy between two layouts of one shape as runs of contiguous elements; pure
 * arithmetic. */
#ifndef NL_CORE_RUNS_H
#define NL_CORE_RUNS_H

#include "core/layout.h"

/* Strides in bytes: of the source, of the target. */
typedef struct nl_run_axis {
    int64_t length, of, to;
} nl_run_axis;

/* The axes, outermost first in the target; elements along the last one are contiguous on both
 * sides. There is always a last one, if need be of one element. */
typedef struct nl_runs {
    int count;
    nl_run_axis axes[NL_MAX_DIMS + 1];
} nl_runs;

/* `of` has the shape and the itemsize; `to`: strides of the target. No dimension is empty. */
void nl_runs_make(nl_runs *runs, const nl_layout *of, const int64_t *to);
/* The size of the largest words, of at most `most` bytes, of which all runs consist and to which
 * all addresses are aligned. `address`: of both sides, or-ed. */
int64_t nl_runs_word(const nl_runs *runs, int64_t itemsize, uint64_t address, int64_t most);

#endif

/* core/runs: divides a copy between two layouts of the same shape into rows of contiguous elements.
 * Its functions do arithmetic only. */
#ifndef NL_CORE_RUNS_H
#define NL_CORE_RUNS_H

#include "core/layout.h"

/* An axis of a copy; `of` and `to` are its strides in bytes in the source and in the
 * target. */
typedef struct nl_run_axis {
    int64_t length, of, to;
} nl_run_axis;

/* The axes of a copy, outermost first in the target. Elements along the last axis are contiguous on
 * both sides; if necessary, an axis of length 1 is appended. */
typedef struct nl_runs {
    int count;
    nl_run_axis axes[NL_MAX_DIMS + 1];
} nl_runs;

/* Divides a copy; `of` is the layout of the source, with shape and itemsize; `to` contains the
 * strides of the target. No axis may be empty. */
void nl_runs_make(nl_runs *runs, const nl_layout *of, const int64_t *to);
/* Returns the largest word size in bytes, at most `most`, that divides the length of a row and to
 * which the addresses of all rows are aligned. `address` is the bitwise OR of the addresses of the
 * source and the target. */
int64_t nl_runs_word_size(const nl_runs *runs, int64_t itemsize, uint64_t address, int64_t most);

#endif

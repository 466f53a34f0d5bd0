/* staged_columns: reduces columns with short rows in shared memory, for commutative operators.
 *
 * The columns are in consecutive groups whose width does not match vectorized loads: a reduction
 * over the middle axis of (1000, 500, 7) has groups of 500 rows of 7 columns. A block copies
 * complete groups, which are contiguous, by units of 16 bytes, and reduces them in shared memory.
 * Contiguous rows of a few elements, such as the coordinates of points, are handled as groups of
 * one column. The plan, the operators and the results are those of reduce.cuh. */
#ifndef NUMBALITE_STAGED_COLUMNS_CUH
#define NUMBALITE_STAGED_COLUMNS_CUH

#include "numbalite/reduce.cuh"
#include "numbalite/stage.cuh"

namespace numbalite {
namespace nl_reduce {

/* maximum size in bytes of a block's groups of columns, which must match core/reduceplan.c */
constexpr int STAGED_BYTES = 24 << 10;

/* Reduces every `turn`-th element of a column of `rows` elements, from index i on. */
template <class S, class T, class Op>
NUMBALITE_FUNCTION T reduce_staged_column(const S *column, int i, int turn, int rows, int columns, Op op) {
    T total = op.from(column[i * columns], i);
#pragma unroll 4
    for (i += turn; i < rows; i += turn)
        total = op(total, op.from(column[i * columns], i));
    return total;
}

template <class T, class O, class Op>
NUMBALITE_FUNCTION void store_staged_result(const plan &p, const T &total, int64 result, void *out, Op op) {
    maybe<T> all = {total, true};
    if (p.is_last)
        begin_with(p, all, op);
    place at = {0, 0, result * p.dims[p.kept - 1].output, 0, 0};
    store<T, O>(p, all, at, result, 0, out, nullptr, false, op);
}

/* Reduces p.team groups of columns by each block. If the groups have fewer columns than the block
 * has threads, several threads share a column and read its rows round-robin. */
template <class S, class T, class O, class Op>
NUMBALITE_FUNCTION void staged_columns(const plan &p, const void *input, void *out, Op op) {
    constexpr int threads = 32 * TEAM;
    typedef typename word_of<sizeof(S)>::type word;
    __shared__ uint4 memory[STAGED_BYTES / 16 + 1];
    __shared__ T totals[threads];
    const int columns = p.kept == 2 ? (int)p.dims[1].length : 1;
    const int rows = (int)p.length, group = rows * columns;
    /* index of the block's first result */
    const int64 first = (int64)plan_block(p) * p.team * columns;
    const int64 rest = p.results - first;
    const int results = rest < p.team * columns ? (int)rest : p.team * columns;
    const int thread = (int)threadIdx.x, bytes = results * rows * (int)sizeof(S);

    char *from = (char *)input + first * rows * (int64)sizeof(S);
    const unsigned ahead = (unsigned)((size_t)from & 15);
    nl_detail::copy_to_stage<true, word, threads>(from - ahead, (char *)memory, ahead, ahead + bytes,
                                               threadIdx.x);
    nl_detail::wait_for_thread_copies();
    __syncthreads();
    const S *x = (const S *)((const char *)memory + ahead);

    const int several = threads / (p.team * columns);
    if (several <= 1) {
        for (int r = thread; r < results; r += threads) {
            const S *column = x + r / columns * group + r % columns;
            const T total = reduce_staged_column<S, T>(column, 0, 1, rows, columns, op);
            store_staged_result<T, O>(p, total, first + r, out, op);
        }
        return;
    }
    const int turn = several < rows ? several : rows, each = turn * columns;
    const int g = thread / each, row = thread % each / columns, column = thread % columns;
    T total = T();
    bool inside = g * columns < results;
    if (inside) {
        total = reduce_staged_column<S, T>(x + g * group + column, row, turn, rows, columns, op);
        totals[thread] = total;
    }
    __syncthreads();
    combine_row_totals(totals, total, inside ? row : turn, turn, columns, op);
    if (inside && row == 0)
        store_staged_result<T, O>(p, total, first + g * columns + column, out, op);
}

} // namespace nl_reduce
} // namespace numbalite

#endif

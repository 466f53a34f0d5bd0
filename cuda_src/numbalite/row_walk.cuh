/* row_walk: iterates over several short rows that a warp processes together: it computes the row
 * and column of each 32nd element, which are those of a lane. Only the first element needs a
 * division. */
#ifndef NUMBALITE_ROW_WALK_CUH
#define NUMBALITE_ROW_WALK_CUH

#include "numbalite.cuh"

namespace numbalite {

struct row_walk {
    int row, column, length, down, right;
    NUMBALITE_FUNCTION explicit row_walk(int length)
        : row((int)threadIdx.x % 32 / length), column((int)threadIdx.x % 32 % length),
          length(length), down(32 / length), right(32 % length) {}
    NUMBALITE_FUNCTION void go_on() {
        row += down;
        column += right;
        if (column >= length) {
            column -= length;
            ++row;
        }
    }
};

} // namespace numbalite

#endif

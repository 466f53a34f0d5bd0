/* row_walk: where a lane is among the elements of several short rows, which a warp's lanes take in turns: every 32nd
 * element is a lane's, whatever row it is in. One division at the beginning is for all. */
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
